"""The models of the proofs of propagation and of the tracker, compared with those that run."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.concrete import World
from tests.drawing import quick_or_long
from tidegate.check import broken
from tidegate.check.models import chain_graph, loop_graph
from tidegate.check.proofs.graph import DST, LOC, SRC, STEP, tle
from tidegate.check.proofs.logic import Finite, le, sort
from tidegate.check.proofs.propagation import propagation
from tidegate.check.proofs.tracker import tracker
from tidegate.check.proofs.updates import function
from tidegate.progress import Enter, Forbidden, Graph, Leave, PropagationConf, TrackerConf
from tidegate.time import Nat, Product

PAIR = Product(Nat(), Nat())
WORKERS = ["w1", "w2"]


def scope():
    """A way through a scope, where times have another order."""
    return Graph({"in": Nat(), "inside": PAIR, "out": Nat()}, {("in", "inside"): Enter, ("inside", "out"): Leave})


# Graphs, and the pointstamps that a run is followed on.
CASES = {
    "chain": (chain_graph, [(l, t) for l in "ab" for t in range(3)]),
    "loop": (loop_graph, [(l, t) for l in "ab" for t in range(3)]),
    "scope": (scope, [(l, t) for l in ("in", "out") for t in range(2)] + [("inside", (0, 0)), ("inside", (1, 0))]),
}


class Place(World):
    """The names for a graph: its pointstamps, its edges with one summary each, its locations."""

    def __init__(self, graph, universe, **more):
        self.graph, self.universe = graph, universe
        edges = [(l, m, s) for l in graph.locations for m, several in graph.successors(l).items() for s in several]
        named = {**more, "P": universe, "S": edges, "L": list(graph.locations)}
        super().__init__(Finite(**{s: len(xs) for s, xs in named.items()}), **named)

    def facts_of_graph(self):
        """What Figure 5 speaks of, for this graph. What moves out of the names that there are is elsewhere."""
        elsewhere = z3.Const("elsewhere", sort("P"))

        def step(p, edge):
            (l, t), (source, target, s) = p, edge
            moved = (target, s.results_in(t)) if l == source else None
            return self.name("P", moved) if moved in self.universe else elsewhere

        def times(p, q):
            return self.graph.uniform and self.graph.order(p[0]).le(p[1], q[1])

        compared = (
            f(x, y) for f in (le, tle) for p in self.scope.elements["P"] for x, y in ((p, elsewhere), (elsewhere, p))
        )
        return [
            *(elsewhere != p for p in self.scope.elements["P"]),
            *(z3.Not(atom) for atom in compared),
            *self.facts(LOC, "P", lambda p: self.name("L", p[0])),
            *self.facts(SRC, "S", lambda e: self.name("L", e[0])),
            *self.facts(DST, "S", lambda e: self.name("L", e[1])),
            *self.facts(STEP, "PS", step),
            *self.facts(tle, "PP", lambda p, q: p[0] == q[0] and self.graph.order(p[0]).le(p[1], q[1])),
            *self.facts(function("time_le", "PP", "B"), "PP", times),
            *self.order(self.graph.leads_to),
        ]

    def inside(self, *confs):
        """Whether configurations speak only of pointstamps that have a name."""
        return all(
            (l, t) in self.universe
            for conf in confs
            for M in (conf.pts, conf.imp, conf.work)
            for l, times in M.items()
            for t in times
        )

    def counts(self, name, M):
        return self.facts(function(name, "P"), "P", lambda p: M[p[0]][p[1]])

    def table_of(self, M):
        return {((l, t),): M[l][t] for l, t in self.universe}


@cache
def place(case):
    build, universe = CASES[case]
    here = Place(build(), universe)
    return here, here.facts_of_graph(), _formulas(propagation(), here)


def _formulas(system, here):
    c = system.begin(here.scope)
    actions = {name: action(c) for name, action in system.actions.items()}
    states = {inv.name: inv.whole(c) for inv in system.invariants}
    states |= {claim.name: claim.whole(c) for claim in system.claims if not claim.action}
    steps = {
        name: {claim.name: claim.whole(c, act.then) for claim in system.claims if claim.action == name}
        | {inv.name: inv.whole(act.then) for inv in system.invariants}
        for name, act in actions.items()
    }
    return actions, states, steps


def attempt(action, *arguments):
    try:
        return action(*arguments)
    except Forbidden:
        return None


def start(random, case, conf=PropagationConf):
    here = place(case)[0]
    early = [p for p in here.universe if p[1] in (0, 1, (0, 0), (1, 0))]
    pts = {l: {t: 1} for l, t in random.sample(early, 2)}
    return conf.init(here.graph, pts)


def walk(random, case, conf, steps=10, *, statements=True):
    """Try drawn steps of propagation, and compare each with the proof's action; return which of them were taken."""
    here, known, (actions, claims, after) = place(case)
    expected = [(l, t) for l, M in conf.pts.items() for t in M]
    closed = here.facts(function("expected", "P", "B"), "P", lambda p: any(here.graph.leads_to(q, p) for q in expected))
    taken = []
    for _ in range(steps):
        pending = [p for p in conf.pending() if p in here.universe]
        if pending and random.random() < 0.6:
            name, n, (l, t) = "propagate", 0, random.choice(pending if random.random() < 0.8 else here.universe)
            then = attempt(conf.propagate, l, t)
        else:
            name, n, (l, t) = "change_multiplicity", random.choice([-1, -1, 0, 1]), random.choice(here.universe)
            then = attempt(conf.change_multiplicity, l, t, n)
        if name == "propagate" and here.graph.uniform:
            name = "propagate, one order"
        facts = [
            *known,
            *closed,
            *here.counts("pts", conf.pts),
            *here.counts("imp", conf.imp),
            *here.counts("work", conf.work),
            z3.Const("x", sort("P")) == here.name("P", (l, t)),
            z3.Int("n") == n,
        ]
        model = here.given(facts)
        act = actions[name]
        assert all(map(model.holds, act.parameters))
        forbidden = model.broken(act.guards)
        assert (then is None) == bool(forbidden), (name, l, t, forbidden, conf)
        if then is None:
            continue
        if not here.inside(then):
            break
        for field in ("pts", "imp", "work"):
            assert model.table(getattr(act.then, field), "P") == here.table_of(getattr(then, field)), (name, field)
        if statements:
            assert model.broken(claims) == []
            assert model.broken(after[name]) == []
        conf = then
        taken.append(name)
    return taken


@pytest.mark.parametrize("case", CASES)
def test_the_proof_of_propagation_speaks_of_what_runs(case):
    """On drawn steps, guards allow the same, steps lead to the same, and every statement of the proof holds."""

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=quick_or_long(4, 8))  # of ten steps each
    def check(random):
        walk(random, case, start(random, case))

    check()


@pytest.mark.slow
@pytest.mark.parametrize(
    "conf",
    [
        broken.ChangesByNothing,
        broken.ChangesThePast,
        broken.PropagatesWhatIsNotPending,
        broken.PropagatesAnyTime,
        broken.PropagatesLeastOfEachLocation,
        broken.ListsEveryChange,
        broken.PassesOnEveryChange,
    ],
)
def test_propagation_that_differs_from_its_proof_is_noticed(conf):
    """Code with one guard or filter less is told from the model of the proof."""
    random = Random(2)

    def runs():
        for _ in range(200):
            walk(random, "loop", start(random, "loop", conf), steps=20, statements=False)

    with pytest.raises(AssertionError):
        runs()


# The combined tracker.


@cache
def tracked():
    here = Place(chain_graph(), [(l, t) for l in "ab" for t in range(2)], W=WORKERS)
    return here, here.facts_of_graph(), _formulas(tracker(), here)


def facts_of_tracker(here, conf):
    """Facts that say of a configuration all that the proof speaks of."""

    def of(field):
        return lambda w, p: getattr(conf.of(w), field)[p[0]][p[1]]

    return [
        *here.facts(function("rec", "P"), "P", lambda p: conf.exch.rec[p]),
        *here.facts(function("glob", "WP"), "WP", lambda w, p: conf.exch.glob[w][p]),
        *here.facts(function("init", "W", "B"), "W", lambda w: w in conf.init),
        *(f for field in ("pts", "imp", "work") for f in here.facts(function(field, "WP"), "WP", of(field))),
    ]


def step_of_tracker(random, here, conf):
    """A step that the code allows: the proof's action, the next configuration, and facts about the parameters."""
    w, v = random.choices(WORKERS, k=2)
    kind = random.choice(["perf_op", "send_upd", "send_upd", "recv_upd", "recv_upd", "recv_cap", "propagate"])
    if kind == "recv_upd":
        queues = [pair for pair, _ in conf.exch.msg.items()]
        if not queues:
            return None
        w, v = random.choice(queues)
        head = conf.exch.msg[w, v][0]
        facts = [*here.facts(function("head", "P"), "P", lambda p: head[p])]
        return kind, attempt(conf.recv_upd, w, v), [*facts, z3.Const("v", sort("W")) == here.name("W", v)]
    if kind == "propagate":
        then = conf.propagate(w)
        implied = here.facts(function("imp_then", "P"), "P", lambda p: then.of(w).imp[p[0]][p[1]])
        return kind, then, [*implied, z3.Const("w", sort("W")) == here.name("W", w)]
    if kind == "recv_cap":
        coming = list(conf.exch.data)
        then = conf.recv_cap(*random.choice(coming)) if coming else None
    elif kind == "send_upd":
        unsent = list(conf.exch.temp[w])
        then = attempt(conf.send_upd, w, random.sample(unsent, random.randint(0, len(unsent))))
    else:
        have = list(conf.exch.caps[w])
        above = [p for p in here.universe if any(q != p and here.graph.leads_to(q, p) for q in have)]
        neg, own = random.sample(have, random.randint(0, len(have))), random.sample(above, min(len(above), 1))
        data = [(v, p) for p in random.sample(above, random.randint(0, min(len(above), 1)))]
        then = attempt(conf.perf_op, w, neg, data, own)
    if then is None:
        return None
    return "perf_op", then, here.facts(function("rec_then", "P"), "P", lambda p: then.exch.rec[p])


def follow(random, conf, steps=12):
    """Take drawn steps of the tracker, and compare each with the proof's action; return which of them were taken."""
    here, known, (actions, claims, after) = tracked()
    taken = []
    for _ in range(steps):
        step = step_of_tracker(random, here, conf)
        if step is None:
            continue
        name, then, parameters = step
        model = here.given([*known, *facts_of_tracker(here, conf), *parameters])
        act = actions[name]
        assert all(map(model.holds, act.parameters)), name
        assert (then is None) == bool(model.broken(act.guards))
        if then is None:
            continue
        assert model.table(act.then.rec, "P") == {(p,): then.exch.rec[p] for p in here.universe}
        for w in WORKERS:
            assert model.holds(act.then.init(here.name("W", w))) == (w in then.init)
            for p in here.universe:
                l, t = p
                named = here.name("W", w), here.name("P", p)
                assert model.number(act.then.glob(*named)) == then.exch.glob[w][p]
                for field in ("pts", "imp", "work"):
                    assert model.number(getattr(act.then, field)(*named)) == getattr(then.of(w), field)[l][t]
        assert model.broken(claims) == []
        assert model.broken(after[name]) == []
        conf = then
        taken.append(name)
    return taken


def starting(random, conf=TrackerConf):
    return conf.start(chain_graph(), {w: random.sample([("a", 0), ("a", 1), ("b", 0)], 1) for w in WORKERS})


def test_the_proof_of_the_tracker_speaks_of_what_runs():
    """On drawn steps, guards allow the same, steps lead to the same, and every statement of the proof holds."""

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=quick_or_long(4, 8))  # of twelve steps each
    def check(random):
        follow(random, starting(random))

    check()


def test_drawn_steps_are_of_every_kind():
    """Every action of propagation and of the tracker is among the steps that are compared."""
    random = Random(3)
    assert set(walk(random, "scope", start(random, "scope"), steps=30)) == {"change_multiplicity", "propagate"}
    assert set(follow(random, starting(random), steps=40)) == {"perf_op", "recv_upd", "propagate"}


def test_a_tracker_that_differs_from_its_proof_is_noticed():
    """A tracker that stops propagating early is told from the model."""
    random = Random(4)

    def runs():
        for _ in range(50):
            follow(random, starting(random, broken.StopsEarly))

    with pytest.raises(AssertionError):
        runs()
