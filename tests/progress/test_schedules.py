"""The exchange and the combined tracker on drawn graphs, under drawn schedules that are longer than can be explored."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.explore import Always
from tidegate.check.graphs import graphs
from tidegate.check.orders import orders, times
from tidegate.check.protocols import ExchangeModel, ModelState, TrackerModel
from tidegate.check.statements import EXCHANGE, TRACKER
from tidegate.progress import ExchangeConf, TrackerConf


def walk(model, properties, random, longest):
    """Take drawn steps of the model, and check every property after each of them."""
    [state] = model.initial()
    taken = []
    for _ in range(longest):
        steps = list(model.steps(state))
        if not steps:
            return taken
        # An operation is one step of very many: prefer a kind of step, then a step of that kind.
        kind = random.choice(sorted({label.split()[0] for label, _ in steps}))
        label, then = random.choice([s for s in steps if s[0].split()[0] == kind])
        taken.append(label)
        for p in properties:
            broken = p.check(then) if isinstance(p, Always) else p.check(state, then)
            assert broken is None, f"{p.name}: {broken} after {taken}"
        state = then
    return taken


@st.composite
def exchanges(draw):
    order = draw(orders(max_leaves=3))
    universe = draw(st.lists(times(order), min_size=1, max_size=2, unique=True))
    held = {w: draw(st.lists(st.sampled_from(universe), max_size=2)) for w in ("w1", "w2", "w3")}
    return ExchangeModel(ExchangeConf.init(order, held), universe, operations=8), draw(st.randoms())


@given(exchanges())
def test_the_exchange_keeps_its_statements_on_any_order(case):
    """Three workers on a drawn order keep all invariants, lemma glob, Safe and Mono along a long schedule."""
    model, random = case
    walk(model, EXCHANGE, random, longest=16)


@st.composite
def trackers(draw):
    graph = draw(graphs(max_locations=4))
    places = draw(st.lists(st.sampled_from(graph.locations), min_size=1, max_size=2))
    universe = list(dict.fromkeys((l, draw(times(graph.order(l)))) for l in places))
    held = {w: draw(st.lists(st.sampled_from(universe), max_size=2)) for w in ("w1", "w2")}
    return TrackerModel(TrackerConf.start(graph, held), universe, operations=8), draw(st.randoms())


@given(trackers())
def test_the_tracker_keeps_its_statements_on_any_graph(case):
    """Two workers on a drawn graph with loops and scopes keep pts = glob and Safe along a long schedule."""
    model, random = case
    exchange = [
        Always(p.name, lambda s, p=p: p.check(ModelState(s.conf.exch, 0))) for p in EXCHANGE if isinstance(p, Always)
    ]
    walk(model, [*TRACKER, *exchange], random, longest=16)
