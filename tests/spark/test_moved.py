"""Rows that `at` cannot move, on Spark: they can be read under the name of the operator, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.place import DDL, Place

import tidegate as tg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = [(1, "a", 4), (2, "a", 1), (3, "b", None), (6, "a", 7)]
WHY = {2: "time would go back in t", 3: "null time in t"}


def moved() -> tg.Flow:
    flow = tg.Flow("moved")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(2)).at("x").aggregate(n="count(*)"))
    return flow


def test_rows_that_cannot_be_moved_are_read_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    """On bounded data, and of a run over a restart, each once; metrics and status count them."""
    tables = moved().compute(spark, {"s": spark.createDataFrame(ROWS, DDL)})
    assert {row.t: row.reason for row in tables.rejected["at#1"].collect()} == WHY
    assert tables.rejected.counts() == {"s": 0, "at#1": 2}
    place = Place(spark, tmp_path)
    place.feed.add(*ROWS[:2])
    place.run(moved())
    place.feed.add(*ROWS[2:])
    run = place.run(moved())
    assert {(r.time.t, r.source, r.reason, r.row.k) for r in run.rejected("at#1").collect()} == {
        (2, "at#1", WHY[2], "a"),
        (3, "at#1", WHY[3], "b"),
    }
    assert run.status().rejected == {"s": 0, "at#1": 2}
    assert [m["rejected"] for m in run.metrics()] == [{"s": 0, "at#1": 1}]
    assert not place.rows()
