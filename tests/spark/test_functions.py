"""Python functions on Arrow inside Spark: what they get, and what they may not return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark.engine import by_spark

import tidegate as tg
from tidegate.spec import DT, WM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Build = Callable[[tg.Stream], tg.Stream]
ROWS = [(1, "a", 1), (2, "b", 2)]


def run(spark: SparkSession, build: Build, rows: list[Any] = ROWS, time: str = "INT") -> list[tuple[Any, ...]]:
    flow = tg.Flow("functions")
    flow.sink("out", build(flow.source("s", f"t {time}, k STRING, x INT", time="t")))
    return by_spark(spark, flow, {"s": rows})


def failure(spark: SparkSession, build: Build) -> str:
    with pytest.raises(Exception, match="BadResult") as caught:
        run(spark, build)
    return str(caught.value)


def test_other_columns_than_declared(spark: SparkSession) -> None:
    """The error names the function, both lists of columns, and the operator."""

    def narrow(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(["t", "k"])

    message = failure(spark, lambda s: s.map_batches(narrow, "k STRING, y INT"))
    assert "expected columns t, k, y from" in message
    assert "narrow, got t, k" in message
    assert "at: map_batches(…), map_batches#1" in message


def test_other_types_than_declared(spark: SparkSession) -> None:
    """The error names the column, and both types."""
    message = failure(spark, lambda s: s.map_batches(lambda b: b, "k STRING, x BIGINT"))
    assert "expected x BIGINT (int64)" in message
    assert "got int32" in message


def test_a_time_that_was_not_given(spark: SparkSession) -> None:
    """A function cannot move a row to a time that its batch does not have."""

    def later(batch: pa.RecordBatch) -> pa.Table:
        moved = pc.add(batch.column("t"), pa.scalar(10, pa.int32()))
        return pa.table({"t": moved, "k": batch.column("k")})

    assert "only times that are in its batch, got 1" in failure(spark, lambda s: s.map_batches(later, "k STRING"))


def test_nothing_is_no_result(spark: SparkSession) -> None:
    """A function that forgets to return is told so."""
    message = failure(spark, lambda s: s.map_batches(lambda _: None, "k STRING"))
    assert "expected a pyarrow.RecordBatch or pyarrow.Table" in message
    assert "got NoneType" in message


def test_the_operator_is_named_when_a_function_fails(spark: SparkSession) -> None:
    """An error of the user's own is shown as it is, with the operator that it came from."""
    with pytest.raises(Exception, match="ZeroDivisionError") as caught:
        run(spark, lambda s: s.map_batches(lambda _: 1 / 0, "k STRING"))
    assert "at: map_batches(…), map_batches#1" in str(caught.value)


def test_functions_see_instants_in_utc_without_a_zone(spark: SparkSession) -> None:
    """Whatever the session's zone, a function gets the same instants, and may return them."""

    def seen(batch: pa.RecordBatch) -> pa.Table:
        assert batch.schema.field("t").type == pa.timestamp("us")
        return pa.table({"t": batch.column("t"), "hour": pc.hour(batch.column("t")).cast(pa.int32())})

    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        at = datetime(2026, 1, 1, 15)
        assert run(spark, lambda s: s.map_batches(seen, "hour INT"), [(at, "a", 1)], "TIMESTAMP") == [(at, 15)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def test_a_window_function_that_returns_something_else(spark: SparkSession) -> None:
    """The same checks hold for functions on windows."""
    message = failure(spark, lambda s: s.window(10).apply(lambda rows: rows, "n INT"))
    assert "expected columns n from" in message
    assert "window.apply(…), window#1" in message


@dataclass(frozen=True)
class Backwards:
    """Answers at a time below the one that it was given."""

    def apply(self, event: Any) -> tuple[Backwards, list[Any]]:
        return self, [DT(event.t - 1, {"n": 1})] if isinstance(event, WM) else []

    def exit(self) -> tuple[()]:
        return ()


def test_an_operator_cannot_answer_in_the_past(spark: SparkSession) -> None:
    """What is complete stays as it is."""
    message = failure(spark, lambda s: s.process(Backwards(), "k", "n INT"))
    assert "expected a time at or above 1, which Backwards was given, got 0" in message
    assert "process(…), process#1" in message


@dataclass(frozen=True)
class Total:
    """The sum of x so far, per time; on batches, and event by event."""

    total: int = 0

    def apply(self, event: Any) -> tuple[Total, list[Any]]:
        if isinstance(event, WM):
            return self, [DT(event.t, {"total": self.total})]
        return Total(self.total + event.d["x"]), []

    def exit(self) -> tuple[()]:
        return ()


class FastTotal(Total):
    """The same with the fast path; event by event it is not asked."""

    def apply_batch(self, rows: pa.Table) -> tuple[Total, pa.Table]:
        totals = pc.cumulative_sum(rows["x"]).cast(pa.int32())
        running = pa.table({"t": rows["t"], "total": totals}).group_by("t").aggregate([("total", "max")])
        return self, running.rename_columns(["t", "total"])

    def apply(self, event: Any) -> tuple[Total, list[Any]]:
        raise AssertionError("the fast path was not taken")


def test_apply_batch_is_the_fast_path(spark: SparkSession) -> None:
    """With `apply_batch`, all times of a key come at once, sorted, and the answers are the same."""
    rows = [(2, "a", 5), (1, "a", 1), (1, "a", 2), (1, "b", 4)]
    slow = run(spark, lambda s: s.process(Total(), "k", "total INT"), rows)
    fast = run(spark, lambda s: s.process(FastTotal(), "k", "total INT"), rows)
    assert sorted(slow) == sorted(fast) == [(1, "a", 3), (1, "b", 4), (2, "a", 8)]
