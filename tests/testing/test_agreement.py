"""Random flows, step by step: after every step, the local engine has answered what the specification has."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples

import tidegate as tg
import tidegate.testing as tt
from tidegate.check.flows import DrawnFlow, flows
from tidegate.spec import DT, WM, produce
from tidegate.testing.differences import difference

SOME = drawn_examples(6, 60)


@SOME
@given(drawn=flows(max_operators=3), chance=st.randoms(use_true_random=False))
def test_both_have_answered_the_same_after_every_step(drawn: DrawnFlow, chance: random.Random) -> None:
    """Whatever is complete is answered, on both, in the step that completes it, and nothing else is."""
    compare(drawn, chance)


def compare(drawn: DrawnFlow, chance: random.Random) -> None:
    plan = drawn.flow.plan
    tables = {table.id: drawn.inputs[table.id] for table in plan.tables}
    names = plan[plan.sinks[0].input].schema.names
    waiting: dict[str, list[Any]] = {
        source.id: [event if isinstance(event, WM) else event.d for event in drawn.inputs[source.id]]
        for source in plan.sources
    }
    with (
        tt.trial(drawn.flow, "specification", tables=tables) as one,
        tt.trial(drawn.flow, "local", tables=tables) as other,
    ):
        while any(waiting.values()):
            step = {name: _first(events, chance) for name, events in waiting.items()}
            for test in (one, other):
                test.step({name: events for name, events in step.items() if events})
            found = difference(one.rows("out"), other.rows("out"), names, names)
            assert not found, f"{found.table(names, names)}\n{one.script()}"
            assert one.open_from("out") == other.open_from("out")
        for test in (one, other):
            test.finish()
        assert not difference(one.rows("out"), other.rows("out"), names, names)


def _first(events: list[Any], chance: random.Random) -> list[Any]:
    """Take some events: rows, and then watermarks, as one step has them."""
    taken: list[Any] = []
    for _ in range(chance.randint(0, 4)):
        if not events or (taken and isinstance(taken[-1], WM) and not isinstance(events[0], WM)):
            break
        taken.append(events.pop(0))
    return taken


@pytest.mark.parametrize(
    ("where", "broken", "said"),
    [
        ("tidegate.testing.local.timed_lines", lambda *_: [], "BOTTOM"),
        ("tidegate.reference.run.ReferenceRun.produced", lambda _, op, events: list(produce(op, events)), "missing"),
    ],
    ids=["the engine answers late", "the specification answers early"],
)
def test_answers_that_come_in_another_step_are_noticed(
    where: str, broken: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison can fail: at the end all answers are there, and in between one is not, or too early."""
    flow = tg.Flow("mutant")
    flow.sink("out", flow.source("s0", "t INT, k STRING, x INT", time="t").aggregate(by="k", n="count(*)"))
    events = [DT(1, {"t": 1, "k": "a", "x": 1}), WM(0), WM(1), WM(2)]
    drawn = DrawnFlow(flow, {"s0": events}, ("aggregate",))
    compare(drawn, random.Random(2))
    monkeypatch.setattr(where, broken)
    with pytest.raises(AssertionError, match=said):
        compare(drawn, random.Random(2))
