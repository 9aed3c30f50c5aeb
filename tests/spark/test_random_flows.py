"""Random flows of several operators: bounded Spark against the specification, row for row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows, rows_given
from tests.spark.engine import by_spark

import tidegate as tg
from tidegate.check.flows import DrawnFlow, flows
from tidegate.engine import lowering
from tidegate.flow import plan
from tidegate.spec import DT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def compare(spark: SparkSession, drawn: DrawnFlow) -> None:
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    assert_same_rows(by_spark(spark, drawn.flow, rows_given(drawn)), expected)


@drawn_examples(6, 300)
@given(drawn=flows(watermarks=False))
def test_spark_gives_what_the_specification_gives(spark: SparkSession, drawn: DrawnFlow) -> None:
    """Whatever the operators and the times, both give the same rows."""
    compare(spark, drawn)


def test_a_broken_operator_is_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with a `distinct` that keeps every row, the rows differ."""
    flow = tg.Flow("mutant")
    flow.sink("out", flow.source("s0", "t INT, k STRING, x INT", time="t").distinct())
    row = {"t": 1, "k": "a", "x": 1}
    drawn = DrawnFlow(flow, {"s0": [DT(1, row), DT(1, row)]}, ("distinct",))
    compare(spark, drawn)
    monkeypatch.setitem(lowering._LOWERINGS, plan.Distinct, lambda _operator, rows: rows)
    with pytest.raises(AssertionError, match="expected 1 rows, got 2"):
        compare(spark, drawn)
