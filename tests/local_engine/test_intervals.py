"""Joins of rows that are so far apart: against the specification at random cuts, and with mistakes planted."""

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
from tidegate.engine.keepers.intervals import RowsInIntervals
from tidegate.engine.lowering import intervals
from tidegate.flow.plan import IntervalJoin
from tidegate.spec import DT, WM

ONLY = ("interval_join", "interval_join", "where", "aggregate", "window")


@drawn_examples(6, 60)
@given(drawn=flows(max_operators=2, only=ONLY), rng=st.randoms(use_true_random=False), how=HOW)
def test_steps_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str) -> None:
    """Of every kind, with any bounds, on every order of times: wherever steps begin and end."""
    compare(drawn, rng, how=how)


def drawn(how: str, lefts: list[int | None], rights: list[int | None], **bounds: Any) -> DrawnFlow:
    """Two sources, joined; a number is a row at that time, and None completes all times up to the last one.

    Rows at every fifth time have one key, all others another.
    """
    flow = tg.Flow("apart")
    a, b = (flow.source(name, "t INT, k STRING, x INT", time="t") for name in ("a", "b"))
    flow.sink("out", a.interval_join(b.select("k", "x AS y"), on="k", how=how, **bounds))
    given: dict[str, list[Any]] = {}
    for name, times in (("a", lefts), ("b", rights)):
        last, events = 0, list[Any]()
        for i, t in enumerate(times):
            events.append(WM(last) if t is None else DT(t, {"t": t, "k": "a" if t % 5 == 0 else "b", "x": i}))
            last = last if t is None else max(last, t)
        given[name] = events
    return DrawnFlow(flow, given, ("interval_join",))


#: The row at 100 meets the one at 95, which is let go while others could still come for the first.
MET_EARLY = (
    [100, None, 106, None, 107, None, 112, None, 121, None],
    [95, None, 104, None, 109, None, 113, None, 122, None],
)


def differs(flow: DrawnFlow) -> bool:
    """Whether some cuts give other rows than the specification."""
    for seed in range(4):
        try:
            compare(flow, random.Random(seed))
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("how", ["left", "semi", "anti", "full"])
def test_whether_a_row_was_met_is_known_until_it_settles(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Rows that are let go as soon as they meet no more are missed by those that they met: that is noticed."""
    lefts, rights = MET_EARLY
    # Who is met once more would come once more.
    flow = drawn(how, lefts, [110 if t == 109 and how == "semi" else t for t in rights], lower=-10, upper=10)
    assert not differs(flow)
    monkeypatch.setattr(IntervalJoin, "needed", IntervalJoin.settles)
    assert differs(flow)


def test_rows_that_are_let_go_too_early_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a pair are held until the later one is complete; without that, pairs are missing."""
    flow = drawn("inner", *MET_EARLY, lower=-10, upper=10)
    assert not differs(flow)
    monkeypatch.setattr(IntervalJoin, "needed", lambda _self, _port: 0)
    assert differs(flow)


def test_a_pair_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pairs of which one row has become complete are new; those of all rows would come again."""
    flow = drawn("inner", *MET_EARLY, lower=-10, upper=10)
    monkeypatch.setattr(
        RowsInIntervals,
        "_new",
        lambda _self, operator, left, right, _moved: intervals.interval_join(operator, left, right),
    )
    assert differs(flow)


def test_pieces_of_time_do_not_part_what_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row looks into all pieces that it may meet others in; into the first alone, it would miss some."""
    flow = drawn("full", list(range(0, 300, 15)), list(range(5, 300, 20)), lower=-20, upper=15)
    assert not differs(flow)
    monkeypatch.setattr(
        intervals,
        "_piece",
        lambda at, width: f"({at}) - pmod({at} + 1L, {width}L)" if "+" in at else f"({at}) - pmod({at}, {width}L)",
    )
    assert differs(flow)


def test_state_is_let_go() -> None:
    """Of rows that can meet no other any more, nothing is left."""
    operator = drawn("inner", [], [], lower=-2, upper=5).flow.plan["interval_join#1"]
    assert isinstance(operator, IntervalJoin)
    assert [operator.needed(port) for port in (0, 1)] == [5, 2]
    outer = drawn("full", [], [], lower=-2, upper=5).flow.plan["interval_join#1"]
    assert isinstance(outer, IntervalJoin)
    assert [outer.needed(port) for port in (0, 1)] == [7, 7]
