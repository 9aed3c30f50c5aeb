"""Times that Spark can hold and Python cannot: they are rejected, and move nothing."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.engine import rows
from tests.spark.steps import engine_in

import tidegate as tg
from tidegate.engine.marks import Marks, Seen
from tidegate.flow import limits
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Days and microseconds since the epoch: one in 2026, and others before the year 1 and after 9999.
TIMES = {
    "DATE": [f"date_from_unix_date({n})" for n in (20454, -800_000, 3_000_000, 2**31 - 1, -(2**31))],
    "TIMESTAMP": [
        f"timestamp_micros({n})" for n in ("1767225600000000L", f"{-(10**17)}L", f"{10**18}L", f"{2**63 - 1}L")
    ],
}
TIMES["TIMESTAMP_NTZ"] = [f"CAST({sql} AS TIMESTAMP_NTZ)" for sql in TIMES["TIMESTAMP"][:3]]
FIRST = {"DATE": date(2026, 1, 1), "TIMESTAMP": datetime(2026, 1, 1), "TIMESTAMP_NTZ": datetime(2026, 1, 1)}


def flow(type_: str) -> tg.Flow:
    found = tg.Flow("edges")
    read = found.source("s", {"t": type_, "x": "INT"}, time="t", watermark=tg.bounded("1 day"))
    found.sink("out", read.gate())
    return found


def given(spark: SparkSession, type_: str, *times: str) -> DataFrame:
    values = ", ".join(f"({sql}, {i})" for i, sql in enumerate(times))
    return spark.sql(f"SELECT * FROM VALUES {values} AS given(t, x)").coalesce(1)


@pytest.mark.spark
@pytest.mark.parametrize("type_", TIMES)
def test_times_beyond_those_of_python_are_rejected_and_move_no_frontier(
    spark: SparkSession, tmp_path: Path, type_: str
) -> None:
    """On bounded data and on streams: a row of the year 20000 does not make all others late."""
    made = given(spark, type_, *TIMES[type_])
    tables = flow(type_).compute(spark, {"s": made})
    assert rows(tables["out"]) == [(FIRST[type_], 0)]
    reasons = {row.reason for row in tables.rejected["s"].select("reason").collect()}
    assert reasons == {f"time out of range: {limits.limits(flow(type_).plan)['s'][0]}"}
    assert tables.rejected["s"].count() == len(TIMES[type_]) - 1
    engine = engine_in(spark, flow(type_).plan, {}, tmp_path)
    engine.step(united(flow(type_).plan, spark_runtime(spark), {"s": made}), 0)
    assert (engine.marks["s"].rejected, engine.marks["s"].late) == (len(TIMES[type_]) - 1, 0)
    late = spark.read.parquet(str(tmp_path / "checkpoint" / "late" / "s" / "step=0"))
    assert {row.reason for row in late.select("reason").collect()} == reasons
    engine.finish()
    assert rows(tg.read(spark, tmp_path / "out")) == [(FIRST[type_], 0)]


def test_watermarks_beyond_all_times_complete_everything_or_nothing() -> None:
    """After the last time nothing can come; before the first there is nothing to complete."""
    found = tg.Flow("edges")
    found.source("s", "t DATE, x INT", time="t", watermark=tg.punctuated("x = 1"))
    (source,) = found.plan.sources

    def after(mark: int) -> list[Any]:
        return list(Marks.start(source).after(source, Seen(watermarks=1, marks=((mark,),))).frontier)

    assert after(-(2**31)) == [date.min]
    assert after(2**31 - 1) == []
    assert after(0) == [date(1970, 1, 2)]


@pytest.mark.spark
def test_rows_without_limits_are_caught(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that cannot be told to Python would be a row like others."""
    monkeypatch.setattr(limits.Limit, "whole", True)
    tables = flow("DATE").compute(spark, {"s": given(spark, "DATE", *TIMES["DATE"])})
    assert tables["out"].count() > 1
