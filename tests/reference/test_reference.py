"""The reference with watermarks: when answers come, what is late, and what windows with lateness make of it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.case import instants, ints, pairs, span

import tidegate as tg
from tidegate.flow.errors import BadInput, BadResult
from tidegate.spec import DT, WM, Operator, produce
from tidegate.spec.aggregate import J, Window
from tidegate.time import TOP, Inl, Inr, Int


def row(t: int, x: int = 0, k: str = "a") -> DT[int, dict[str, Any]]:
    """A row of the usual columns."""
    return DT(t, {"t": t, "k": k, "x": x})


def test_an_answer_comes_right_before_the_watermark_that_completes_it() -> None:
    """Rows are held until their time is complete, and not longer; watermarks pass."""
    flow = tg.Flow("when")
    flow.sink("out", ints(flow).aggregate(n="count(*)"))
    events = [row(1), row(3), row(1), WM(1), row(2), WM(2), row(4)]
    assert flow.reference({"s": events})["out"] == [
        DT(1, {"t": 1, "n": 2}),
        WM(1),
        DT(2, {"t": 2, "n": 1}),
        WM(2),
        DT(3, {"t": 3, "n": 1}),
        DT(4, {"t": 4, "n": 1}),
    ]


def test_a_window_waits_for_its_end() -> None:
    """A window is answered when its last unit is complete, not when its rows are."""
    flow = tg.Flow("when")
    flow.sink("out", ints(flow).window(5).aggregate(n="count(*)"))
    out = flow.reference({"s": [row(1), WM(3), WM(4), row(5)]})["out"]
    assert out[:3] == [WM(3), DT(4, {"t": 4, "window": span(0, 5), "n": 1}), WM(4)]


def test_a_session_waits_for_silence() -> None:
    """A session is answered when no row can extend it any more; an open one stays."""
    flow = tg.Flow("when")
    flow.sink("out", ints(flow).session(5).aggregate(n="count(*)"))
    out = flow.reference({"s": [row(1), WM(4), row(5), WM(8), WM(9)]})["out"]
    assert out == [WM(4), WM(8), DT(9, {"t": 9, "session": span(1, 10), "n": 2}), WM(9)]


def test_on_a_product_a_watermark_may_complete_a_whole_column() -> None:
    """TOP in a watermark means every value of that column."""
    flow = tg.Flow("when")
    flow.sink("out", pairs(flow).aggregate(n="count(*)"))
    rows = [{"v": v, "w": w, "k": "a", "x": 0} for v, w in ((0, 9), (1, 0), (2, 0))]
    out = flow.reference({"s": [*(DT((r["v"], r["w"]), r) for r in rows), WM((1, TOP))]})["out"]
    assert [event.t for event in out] == [(0, 9), (1, 0), (1, TOP), (2, 0)]


def test_two_inputs_wait_for_each_other() -> None:
    """A time of a join is complete when it is on both sides."""
    flow = tg.Flow("when")
    left, right = ints(flow, "l"), ints(flow, "r", "k STRING, y INT")
    flow.sink("out", left.join(right, on="k", how="left"))
    other = DT(1, {"t": 1, "k": "b", "y": 1})
    out = flow.reference({"l": [row(1), WM(5)], "r": [other, WM(2)]})["out"]
    answered = out.index(DT(1, {"t": 1, "k": "a", "x": 0, "y": None}))
    assert WM(2) in out
    assert answered < out.index(WM(2))
    assert WM(5) not in out


def test_late_rows_are_set_aside_and_can_be_read() -> None:
    """A row at or below a watermark takes no part; it is in the result's late rows."""
    flow = tg.Flow("late")
    flow.sink("out", ints(flow).where("x >= 0").aggregate(n="count(*)"))
    results = flow.reference({"s": [row(1), WM(2), row(2, x=7), row(3)]})
    assert results.rows("out") == [{"t": 1, "n": 1}, {"t": 3, "n": 1}]
    assert results.late == {"s": [row(2, x=7)]}


def test_late_rows_can_stop_the_run() -> None:
    """With late="fail" the row and its time are named."""
    flow = tg.Flow("late")
    flow.sink("out", flow.source("s", "t INT, k STRING, x INT", time="t", late="fail"))
    with pytest.raises(BadInput, match="a row at 1 of s came after its time was complete"):
        flow.reference({"s": [WM(1), row(1)]})


def revisions(events: list[Any], *, lateness: int = 3, size: int = 5) -> tuple[list[tuple[Any, ...]], Any]:
    flow = tg.Flow("late")
    windowed = ints(flow).where("x >= 0").window(size, lateness=lateness).aggregate(s="sum(x)")
    flow.sink("out", windowed)
    results = flow.reference({"s": events})
    return [(r["t"], r["s"], r["revision"]) for r in results.rows("out")], results.late["s"]


def test_a_window_with_lateness_is_revised() -> None:
    """A late row that lateness admits gives the window's answer again, with the next revision."""
    got, late = revisions([row(1, x=1), WM(4), row(2, x=2), WM(6), row(3, x=4)])
    assert got == [(4, 1, 0), (4, 3, 1), (4, 7, 2)]
    assert late == []


def test_rows_between_two_watermarks_make_one_revision() -> None:
    """What came since the last watermark is answered together."""
    got, _ = revisions([row(1, x=1), WM(4), row(2, x=2), row(3, x=4), WM(5)])
    assert got == [(4, 1, 0), (4, 7, 1)]


def test_a_row_that_is_late_for_a_window_that_is_open_is_in_its_first_answer() -> None:
    """Late at the source, but not for the window: it is counted from the start."""
    got, late = revisions([row(3, x=1), WM(3), row(2, x=2), WM(4)])
    assert got == [(4, 3, 0)]
    assert late == []


def test_beyond_the_lateness_a_row_is_late() -> None:
    """Once the window's end and the lateness are complete, the row is set aside."""
    got, late = revisions([row(1, x=1), WM(6), row(2, x=2), WM(7), row(3, x=4)])
    assert got == [(4, 1, 0), (4, 3, 1)]
    assert late == [row(3, x=4)]


def test_a_late_row_may_begin_a_window() -> None:
    """A window that had no row is answered for the first time, with revision 0."""
    got, _ = revisions([WM(5), row(2, x=2), WM(6)])
    assert got == [(4, 2, 0)]


def test_late_rows_reach_only_windows_with_lateness() -> None:
    """Beside a window that takes the late row, one without lateness does not; then nothing is set aside."""
    flow = tg.Flow("late")
    s = ints(flow)
    flow.sink("strict", s.window(5).aggregate(s="sum(x)"))
    flow.sink("revised", s.window(5, lateness=5).aggregate(s="sum(x)"))
    results = flow.reference({"s": [row(1, x=1), WM(4), row(2, x=2)]})
    assert [r["s"] for r in results.rows("strict")] == [1]
    assert [r["s"] for r in results.rows("revised")] == [1, 3]
    assert results.late == {"s": []}


def test_late_rows_pass_a_union_in_their_place() -> None:
    """A late row goes through a union of streams to a window that admits it at that moment."""
    flow = tg.Flow("late")
    both = ints(flow, "l").union(ints(flow, "r"))
    flow.sink("out", both.window(5, lateness=2).aggregate(s="sum(x)"))
    results = flow.reference(
        {"l": [row(1, x=1), WM(4), row(2, x=2), WM(9), row(3, x=4)], "r": [WM(4), WM(4), WM(4), WM(9)]}
    )
    assert [(r["s"], r["revision"]) for r in results.rows("out")] == [(1, 0), (3, 1)]
    assert results.late == {"l": [row(3, x=4)], "r": []}


#: Rows and watermarks in any order, so that many rows are late.
DISORDERED = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 3), st.sampled_from("aab")).map(lambda e: row(e[0], e[1], e[2]))
    | st.integers(0, 8).map(WM),
    max_size=10,
)


@given(DISORDERED, DISORDERED, st.integers(1, 3), st.integers(0, 2), st.integers(1, 4))
@drawn_examples(60, 600)
def test_the_last_revisions_of_a_join_are_the_pairs_of_J(
    lefts: list[Any], rights: list[Any], every: int, more: int, lateness: int
) -> None:
    """With lateness, J gives a pair when its second tuple comes, and a flow answers the window and key anew."""
    flow, size = tg.Flow("late"), every + more
    left, right = ints(flow, "l"), ints(flow, "r").select("k", "x AS y")
    flow.sink("out", left.window_join(right, on="k", where="x <= y", size=size, every=every, lateness=lateness))
    last: dict[Any, tuple[int, Counter[Any]]] = {}
    for r in flow.reference({"l": lefts, "r": rights}).rows("out"):
        number, found = last.get((r["t"], r["k"]), (-1, Counter()))
        if r["revision"] > number:
            number, found = r["revision"], Counter()
        assert r["revision"] == number
        found[r["x"], r["y"]] += 1
        last[r["t"], r["k"]] = number, found
    window = Window(every, size, key=lambda t, d: d["k"], lateness=lateness)
    join = J(Int(), window, window, lambda a, b: a[1]["x"] <= b[1]["x"])
    expected: dict[Any, Counter[Any]] = {}
    for event in produce(join, in_turn(lefts, rights)):
        if isinstance(event, DT):
            (_, a), (_, b) = event.d
            expected.setdefault((event.t, a["k"]), Counter())[a["x"], b["x"]] += 1
    assert {place: found for place, (_, found) in last.items()} == expected


def in_turn(lefts: list[Any], rights: list[Any]) -> list[Any]:
    """The events of two inputs as the reference takes them: the first of each, the second of each, and so on."""
    return [
        DT(side(event.t), event.d) if isinstance(event, DT) else WM(side(event.t))
        for both in zip_longest(lefts, rights)
        for side, event in zip((Inl, Inr), both, strict=True)
        if event is not None
    ]


class AtTheEnd(Operator[Any, Any]):
    """Answers only when its input ends, at a time that it was given."""

    def __init__(self, t: Any = None) -> None:
        self.t = t

    def apply(self, event: Any) -> tuple[AtTheEnd, list[Any]]:
        return AtTheEnd(event.t), []

    def exit(self) -> list[Any]:
        return [DT(self.t, {"y": 1})]


def test_exit_may_not_answer_at_a_time_that_is_complete() -> None:
    """What an operator answers at the end is final too: a time that watermarks have completed stays as it is."""
    flow = tg.Flow("end")
    flow.sink("out", ints(flow).process(AtTheEnd(), by="k", schema="y INT"))
    assert flow.reference({"s": [row(1), WM(0)]}).rows("out") == [{"t": 1, "k": "a", "y": 1}]
    with pytest.raises(BadResult, match="only times that are not complete yet, got 1"):
        flow.reference({"s": [row(1), WM(1)]})


def test_at_the_end_times_come_in_an_order_of_their_own() -> None:
    """On a product order, the order in which rows came does not show in the order of times at the end."""

    class Times(Operator[Any, Any]):
        def __init__(self, seen: str = "") -> None:
            self.seen = seen

        def apply(self, event: Any) -> tuple[Any, list[Any]]:
            seen = self.seen + "".join(map(str, event.t))
            return (self, []) if isinstance(event, DT) else (Times(seen), [DT(event.t, {"seen": seen})])

    rows = [{"v": v, "w": w, "k": "a", "x": 0} for v, w in ((0, 0), (0, 1), (1, 0), (0, 7))]
    for events in (rows, rows[::-1], rows[2:] + rows[:2]):
        flow = tg.Flow("end")
        flow.sink("out", pairs(flow).process(Times(), by="k", schema="seen STRING"))
        out = flow.reference({"s": [DT((r["v"], r["w"]), r) for r in events]}).rows("out")
        assert max(row["seen"] for row in out) == "00010710"


def test_process_may_answer_later_times() -> None:
    """An operator may answer at a time above the one that it was given."""

    class Ahead(Operator[Any, Any]):
        def apply(self, event: Any) -> tuple[Any, list[Any]]:
            return self, [DT(event.t + 10, {"y": event.t})] if isinstance(event, WM) else []

    flow = tg.Flow("ahead")
    flow.sink("out", ints(flow).process(Ahead(), by=(), schema="y INT").aggregate(s="sum(y)"))
    assert flow.reference({"s": [row(1), row(2), WM(2)]}).rows("out") == [{"t": 11, "s": 1}, {"t": 12, "s": 2}]


def test_a_reference_in_another_time_zone_is_refused() -> None:
    """The reference computes in UTC, and says so."""
    flow = tg.Flow("zone", timezone="Europe/Copenhagen")
    flow.sink("out", ints(flow))
    with pytest.raises(NotImplementedError, match="in UTC only, got Europe/Copenhagen"):
        flow.reference({"s": []})


def test_rows_need_not_be_events() -> None:
    """A dict is a row at the time that its columns say, between events of either form."""
    flow = tg.Flow("plain")
    flow.sink("out", pairs(flow).accumulate(n="count(*)"))
    rows = [{"v": v, "w": w, "k": "a", "x": 0} for v, w in ((0, 1), (1, 0), (1, 1), (None, 0), (0, 0))]
    mixed = [rows[0], DT((1, 0), rows[1]), rows[2], rows[3], WM((0, TOP)), rows[4]]
    events = [DT((r["v"], r["w"]), r) if isinstance(r, dict) else r for r in mixed]
    plain, given = flow.reference({"s": mixed}), flow.reference({"s": events})
    assert plain == given
    assert [tuple(row.values()) for row in plain.rows("out")] == [(0, 1, 1), (1, 0, 1), (1, 1, 3)]
    assert [late.t for late in plain.late["s"]] == [(0, 0)]
    assert [rejected.reason for rejected in plain.rejected["s"]] == ["null time in v"]


def test_instants_of_any_time_zone_are_taken() -> None:
    """With a zone or in UTC without one, in rows, events and watermarks, they are the same instants."""
    flow = tg.Flow("zones")
    flow.sink("out", instants(flow).aggregate(n="count(*)"))
    east = timezone(timedelta(hours=2))
    there = [datetime(2026, 7, 1, 2, tzinfo=east), datetime(2026, 7, 1, 2, tzinfo=ZoneInfo("Europe/Berlin"))]
    same = [*there, datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 7, 1)]
    rows = [{"t": t, "k": "a", "x": 0} for t in same]
    events = [*rows, DT(same[0], rows[1]), WM(same[1]), rows[2]]
    results = flow.reference({"s": events})
    assert results["out"] == [DT(same[3], {"t": same[3], "n": 5}), WM(same[3])]
    assert len(results.late["s"]) == 1


def test_what_is_neither_a_row_nor_an_event_is_refused() -> None:
    """A row of no columns' names, or a number, is told what is expected."""
    flow = tg.Flow("plain")
    flow.sink("out", ints(flow))
    with pytest.raises(BadInput, match=r"expected a row, DT or WM in event 1 of s, got \(1, 'a', 2\) \(tuple\)"):
        flow.reference({"s": [WM(0), (1, "a", 2)]})
    with pytest.raises(BadInput, match="expected row 0 of s with columns t, k, x; it lacks k, x"):
        flow.reference({"s": [{"t": 1}]})
    with pytest.raises(BadInput, match=r"expected the time of the row, 1, in event 0 of s, got DT\(2, …\)"):
        flow.reference({"s": [DT(2, {"t": 1, "k": "a", "x": 2})]})
