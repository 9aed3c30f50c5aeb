"""The progress protocols, explored: what the paper states holds, and each guard is there for a reason."""

from functools import cache
from pathlib import Path

import pytest

from tidegate.check.explore import explore
from tidegate.check.models import MODELS
from tidegate.check.mutants import MUTANTS
from tidegate.check.statements import CLOCKS, EXCHANGE, PROPAGATION, TRACKER
from tidegate.progress import ClocksConf, ExchangeConf, PropagationConf, TrackerConf

MUTANT = {m.name: m for m in MUTANTS}


@cache
def explored(name):
    """Explore a mutant once for all tests that look at it."""
    return MUTANT[name].explore()


@cache
def explored_sound(protocol, model, properties, max_states):
    """Explore a protocol that nothing is left out of, once for all mutants with the same model."""
    return explore(model, [*properties, *BASELINE[protocol][1]], max_states=max_states)


BASELINE = {
    "clocks": (ClocksConf, CLOCKS),
    "exchange": (ExchangeConf, EXCHANGE),
    "propagation": (PropagationConf, PROPAGATION),
    "tracker": (TrackerConf, TRACKER),
}


@pytest.mark.parametrize(
    "named",
    [pytest.param(i, id=i.name, marks=[pytest.mark.slow] if i.large else []) for i in MODELS],
)
def test_the_statements_hold_under_every_schedule(named):
    """On this model every schedule is explored to its end, and no statement of the paper is broken on the way."""
    found = explore(named.model(), named.properties)
    assert found.violation is None, str(found.violation)
    assert found.complete
    assert found.states > 1000


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_each_guard_is_needed_or_is_known_not_to_be(mutant):
    """Without this guard the named property breaks, or nothing does, as documented."""
    found = explored(mutant.name)
    assert bool(mutant.breaks) != bool(mutant.harmless)
    if mutant.harmless:
        assert found.violation is None, str(found.violation)
    else:
        assert found.violation is not None
        assert found.violation.name == mutant.breaks
    # The page says the same, with the length of the shortest trace.
    _, breaks, steps = documented()[MUTANTS.index(mutant)]
    words = {"": "nothing: ", "no time above 4": "worklists stay bounded"}
    assert breaks.replace("`", "").startswith(words.get(mutant.breaks, mutant.breaks))
    assert steps == (str(len(found.violation.trace) - 1) if mutant.breaks else "")


@cache
def documented():
    """The rows of the table of mutants in docs/progress.md, in the order of the mutants."""
    page = (Path(__file__).parents[2] / "docs" / "progress.md").read_text(encoding="utf-8")
    table = page.partition("| without or with | breaks | steps |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    assert len(rows) == len(MUTANTS)
    return rows


@pytest.mark.parametrize("protocol", BASELINE)
def test_each_guard_has_a_mutant(protocol):
    """No guard and no filter of a protocol is left without a mutant that changes it."""
    sound, _ = BASELINE[protocol]
    starts = [m.model().start for m in MUTANTS if m.name.startswith(f"{protocol},")]
    changed = {name for start in starts for name in vars(type(start))}
    guards = {name for name in vars(sound) if name.startswith(("guard_", "filter_"))}
    assert guards
    assert guards <= changed


SHORTEST = {
    "clocks, perf_op: no upright Δ": ["perf_op w1: drop {}, add {0}"],
    "clocks, send_upd: no upright rest": ["perf_op w1: drop {1}, add {2}", "send_upd w1 {1}", "recv_upd w1 → w1"],
    "exchange, perf_op: sends at a capability": [
        "perf_op w1: drop {}, send {('w2', 1)}, take {}",
        "recv_cap w2 1",
        "perf_op w2: drop {1}, send {}, take {}",
        "send_upd w2 {1}",
        "recv_upd w2 → w1",
    ],
    "exchange, send_upd: no justified rest": [
        "perf_op w1: drop {1}, send {}, take {2}",
        "send_upd w1 {1}",
        "recv_upd w1 → w1",
    ],
    "tracker, propagate: one step": ["propagate w1"],
}


@pytest.mark.parametrize("name", SHORTEST)
def test_the_shortest_trace_tells_the_story(name):
    """The documented traces are the ones that the checker prints."""
    violation = explored(name).violation
    assert [label for label, _ in violation.trace[1:]] == SHORTEST[name]
    assert all(label in str(violation) for label in SHORTEST[name])


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.breaks], ids=lambda m: m.name)
def test_with_its_guard_the_same_model_is_fine(mutant):
    """What breaks is due to the guard alone: the unchanged protocol keeps all properties on the mutant's model.

    It is explored as far as the mutant may be, which is to its end or to more steps than break the mutant.
    """
    model = mutant.model()
    protocol = mutant.name.split(",")[0]
    sound, _ = BASELINE[protocol]
    start = model.start
    if isinstance(start, TrackerConf):
        graph = start.prop[0].graph
        original = TrackerConf.start(graph, {w: start.exch.caps[w] for w in start.exch.workers})
    else:
        original = sound(**{f: getattr(start, f) for f in sound.__dataclass_fields__})
    fine = type(model)(**{**vars(model), "start": original, "universe": tuple(model.universe)})
    found = explored_sound(protocol, fine, tuple(mutant.properties), mutant.max_states)
    assert found.violation is None, str(found.violation)
    # Breadth first: once a state is found at some depth, all states at lesser depths have been.
    steps = len(explored(mutant.name).violation.trace) - 1
    assert found.complete or found.depth > steps
