"""Watermarks as flows declare them: on rows that are sent, and with clocks that are set by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.flows import counts, hourly

import tidegate as tg
import tidegate.testing as tt
from tidegate.time import Int, Lexicographic, Nat, Poset

NOON = "2026-01-01 12:00:00"


def test_a_delay_can_be_tried(engine: tt.Engine) -> None:
    """A row within the delay is on time, one behind it is late; the hour ends when rows are the delay past it."""
    test = tt.trial(hourly(), engine, watermarks="declared")
    test.send("edits", {"ts": "2026-01-01 00:50:00", "page": "a"})
    test.send("edits", {"ts": "2026-01-01 00:40:00", "page": "a"}, {"ts": "2026-01-01 00:39:59", "page": "late"})
    assert [row["page"] for row in test.late("edits")] == ["late"]
    test.send("edits", {"ts": "2026-01-01 01:09:59.999999", "page": "b"})
    test.expect("hourly", [])
    test.send("edits", {"ts": "2026-01-01 01:10:00", "page": "b"})
    test.expect("hourly", [{"page": "a", "n": 2}])
    with pytest.raises(tg.TidegateError, match="expected rows, as the source has a strategy of its own here"):
        test.advance("edits", "2026-01-01 05:00:00")


def test_a_delay_for_each_partition(engine: tt.Engine) -> None:
    """The slowest key holds the frontier, until it is silent for so long by the clock."""
    flow = counts(watermark=tg.bounded(0, by="k", idle="10 seconds"))
    test = tt.trial(flow, engine, watermarks="declared", now=NOON)
    test.send("s", (1, "a"), (5, "b"))
    test.send("s", (7, "b"))
    test.expect("out", [])
    for second in range(2, 30, 2):
        test.clock(f"2026-01-01 12:00:{second:02}")
        test.send("s", (7 + second, "b"))
    test.expect("out", [(1, "a", 1), (5, "b", 1), (7, "b", 1), *((7 + s, "b", 1) for s in range(2, 28, 2))])


def test_rows_that_are_watermarks(engine: tt.Engine) -> None:
    """Punctuation completes its time, and is no data; without a time it is rejected."""
    test = tt.trial(counts(watermark=tg.punctuated("k = 'WM'")), engine, watermarks="declared")
    test.send("s", (1, "a"), (3, "a"), (2, "WM"), (None, "WM"))
    test.expect("out", [(1, "a", 1)])
    test.send("s", (2, "late"), (3, "WM"))
    test.expect("out", [(3, "a", 1)])
    assert [row["k"] for row in test.late("s")] == ["late"]
    assert len(test.rejected("s")) == 1


def test_a_watermark_that_is_not_in_the_order_is_rejected(engine: tt.Engine) -> None:
    """On a finite order it is an element; in a lexicographic one only its last columns may be NULL."""
    flow = tg.Flow("elements")
    marks = tg.punctuated("k = 'WM'")
    rows = flow.source("s", "t STRING, k STRING", time=tg.ordered("t", Poset([("a", "b")])), watermark=marks)
    flow.sink("out", rows.gate())
    test = tt.trial(flow, engine, watermarks="declared")
    test.send("s", ("a", "x"), ("z", "WM"), (None, "WM"), ("z", "x"))
    test.expect("out", [])
    test.send("s", ("a", "WM"))
    test.expect("out", [("a", "x")])
    reasons = [row["reason"] for row in test.rejected("s")]
    assert sorted(reasons) == ["null time in t", "t is not in the order", "t is not in the order"]

    flow = tg.Flow("digits")
    order = tg.ordered(("a", "b", "c"), Lexicographic(Int(), Int(), Int()))
    flow.sink("out", flow.source("s", "a INT, b SMALLINT, c SMALLINT, k STRING", time=order, watermark=marks).gate())
    test = tt.trial(flow, engine, watermarks="declared")
    test.send("s", (1, 2, 9, "x"), (2, 0, 0, "x"), (None, 1, 1, "WM"), (2, None, 3, "WM"))
    test.expect("out", [])
    test.send("s", (1, None, None, "WM"))
    test.expect("out", [(1, 2, 9, "x")])
    assert sorted(row["reason"] for row in test.rejected("s")) == ["null time in a", "null time in b"]

    # A value that the order does not have completes nothing, not even what is below it.
    flow = tg.Flow("counts")
    order = tg.ordered(("a", "b"), Lexicographic(Nat(), Nat()))
    flow.sink("out", flow.source("s", "a INT, b INT, k STRING", time=order, watermark=marks).gate())
    test = tt.trial(flow, engine, watermarks="declared")
    test.send("s", (1, 7, "x"), (2, -1, "WM"))
    test.expect("out", [])
    test.send("s", (2, 0, "x"), (2, 0, "WM"))
    test.expect("out", [(1, 7, "x"), (2, 0, "x")])
    assert (len(test.late("s")), len(test.rejected("s"))) == (0, 1)


def test_only_the_end_completes_what_promises_nothing(engine: tt.Engine) -> None:
    """A source without a strategy waits for the end of its input."""
    test = tt.trial(counts(), engine, watermarks="declared")
    test.send("s", (1, "a"), (100, "a"))
    test.expect("out", [])
    test.finish()
    test.expect("out", [(1, "a", 1), (100, "a", 1)])


def test_a_frontier_that_another_flow_publishes_is_moved_by_hand(engine: tt.Engine) -> None:
    """There is no other flow in a test: the test is it."""
    test = tt.trial(counts(watermark=tg.published("elsewhere")), engine, watermarks="declared")
    test.send("s", (1, "a"))
    test.advance("s", 1)
    test.expect("out", [(1, "a", 1)])


def test_rows_have_the_time_at_which_they_arrive(engine: tt.Engine) -> None:
    """The clock is set by hand, and windows of arrivals end when it shows that."""
    flow = tg.Flow("arrivals")
    clicks = flow.source("clicks", "k STRING", time=tg.arrival())
    flow.sink("out", clicks.window("10 seconds").aggregate(by="k", n="count(*)").select("k", "n"))
    test = tt.trial(flow, engine, watermarks="declared", now=NOON)
    test.send("clicks", {"k": "a"}, {"k": "b"})
    test.clock("2026-01-01 12:00:04")
    test.send("clicks", {"k": "a"})
    test.expect("out", [])
    test.clock("2026-01-01 12:00:12")
    test.expect("out", [("2026-01-01 12:00:09.999999", "a", 2), ("2026-01-01 12:00:09.999999", "b", 1)])


def test_arrivals_by_hand_are_a_column() -> None:
    """Without the strategy, a row says when it came."""
    flow = tg.Flow("arrivals")
    flow.sink("out", flow.source("clicks", "k STRING", time=tg.arrival()).aggregate(by="k", n="count(*)"))
    test = tt.trial(flow)
    test.send("clicks", {"arrived": NOON, "k": "a"}, tg.WM(NOON))
    test.expect("out", [(NOON, "a", 1)])


def test_windows_end_without_rows_behind_the_clock(engine: tt.Engine) -> None:
    """A bound by the clock moves on in silence."""
    flow = hourly(watermark=tg.bounded("2 hours", clock="5 minutes"))
    test = tt.trial(flow, engine, watermarks="declared", now="2026-01-01 00:30:00")
    test.send("edits", {"ts": "2026-01-01 00:10:00", "page": "a"})
    test.clock("2026-01-01 01:04:00")
    test.expect("hourly", [])
    test.clock("2026-01-01 01:06:00")
    test.expect("hourly", [{"page": "a", "n": 1}])


def test_ticks_of_a_clock(engine: tt.Engine) -> None:
    """A source that is a clock ticks when it is set: each tick once, missed ones not at all."""
    flow = tg.Flow("ticks")
    flow.sink("out", flow.source("ticks", "ts TIMESTAMP", time="ts").gate())
    test = tt.trial(flow, engine, watermarks="declared", clocks={"ticks": "10 seconds"}, now="2026-01-01 11:59:55")
    for second in (1, 9, 12, 41):
        test.clock(f"2026-01-01 12:00:{second:02}")
    test.expect("out", [(f"2026-01-01 12:00:{second:02}",) for second in (0, 10, 40)])


@pytest.mark.spark
@pytest.mark.slow
def test_the_same_on_spark(tidegate_spark: Any, tmp_path: Any) -> None:
    """Strategies that listen to rows, to the clock and to the test, on Spark."""
    for test in (
        test_a_delay_can_be_tried,
        test_rows_that_are_watermarks,
        test_a_watermark_that_is_not_in_the_order_is_rejected,
        test_a_frontier_that_another_flow_publishes_is_moved_by_hand,
        test_rows_have_the_time_at_which_they_arrive,
        test_windows_end_without_rows_behind_the_clock,
        test_ticks_of_a_clock,
    ):
        test(tt.Engine("spark", tidegate_spark, tmp_path))
