"""Random flows of several operators: bounded Spark against the specification, row for row."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
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

# A flow takes Spark about a second: fewer are drawn than elsewhere.
FLOWS = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "check" else 25


def compare(spark: SparkSession, drawn: DrawnFlow) -> None:
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    assert_same_rows(by_spark(spark, drawn.flow, rows_given(drawn)), expected)


def drawn_flows(max_examples: int) -> Callable[[Any], Any]:
    """Draw flows that end with the input; shrinking would take Spark many runs, so the first failure is shown."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    drawn = given(drawn=flows(watermarks=False))
    chosen = settings(max_examples=max_examples, phases=phases, suppress_health_check=checks)
    return lambda test: chosen(drawn(test))


@drawn_flows(FLOWS)
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
