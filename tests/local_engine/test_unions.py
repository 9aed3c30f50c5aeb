"""Unions of many streams: against the specification at random cuts, and with mistakes planted."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.local_engine.test_random_streams import HOW, compare
from tidegate.check.flows import DrawnFlow, flows
from tidegate.engine import lowering
from tidegate.flow import plan
from tidegate.reference import paired
from tidegate.spec import DT, WM, Operator


@drawn_examples(4, 60)
@given(
    drawn=flows(max_operators=3, only=("union", "union", "where", "aggregate", "window")),
    rng=st.randoms(use_true_random=False),
    how=HOW,
)
def test_steps_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str) -> None:
    """Of two streams and of three, on every order of times: wherever steps begin and end."""
    compare(drawn, rng, how=how)


def three() -> DrawnFlow:
    """Three sources, of which the last is the slowest."""
    flow = tg.Flow("three")
    a, b, c = (flow.source(name, "t INT, k STRING, x INT", time="t") for name in "abc")
    flow.sink("out", a.union(b, c).aggregate(by="k", n="count(*)"))
    given: dict[str, list[Any]] = {}
    for name, times in (("a", [1, 2, 3, 9]), ("b", [1, 5, 6, 7]), ("c", [1, 1, 2, 3])):
        given[name] = [e for t in times for e in (DT(t, {"t": t, "k": "k", "x": t}), WM(t - 1))]
    return DrawnFlow(flow, given, ("union",))


def test_a_time_is_complete_when_it_is_in_all_streams() -> None:
    """The least of the watermarks is passed on, and those on the way to it."""
    drawn = three()
    events = drawn.flow.reference(drawn.inputs)["out"]
    assert [e.t for e in events if isinstance(e, WM)] == [0, 0, 0, 0, 1, 1, 2, 2]
    assert drawn.flow.plan["union#1"].inputs == ("a", "b", "c")


def _without_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last input is overlooked."""
    real = lowering._LOWERINGS[plan.Union]
    monkeypatch.setitem(lowering._LOWERINGS, plan.Union, lambda operator, *rows: real(operator, *rows[:-1]))


class _Careless(Operator[Any, Any]):
    """Passes every watermark, whatever the other side has."""

    def apply(self, event: Any) -> tuple[Any, list[Any]]:
        return self, [DT(event.t.t, event.d) if isinstance(event, DT) else WM(event.t.t)]


def _careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watermarks of one stream are passed before the others have come so far."""
    monkeypatch.setattr(paired, "union_op", lambda _order: _Careless())


@pytest.mark.parametrize("mutant", [_without_the_last, _careless])
def test_broken_unions_are_found(monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    """The comparison can fail, for each of these."""
    compare(three(), random.Random(1))
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        compare(three(), random.Random(1))
