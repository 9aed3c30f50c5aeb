"""Operators that look at one time at a time: what they answer at a time depends on the rows at that time only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.spark.lowering.calls import finished, named_calls, times_of
from tidegate.spark.lowering.pairs import joined
from tidegate.spark.lowering.rows import quoted, row_order
from tidegate.spark.runtime import Runtime
from tidegate.spark.settle import same_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["aggregate", "distinct", "gate", "join"]


def gate(operator: plan.Gate, runtime: Runtime, rows: DataFrame) -> DataFrame:  # noqa: ARG001
    """Let rows through: what is handed to the lowering is complete."""
    return rows


def distinct(operator: plan.Distinct, runtime: Runtime, rows: DataFrame) -> DataFrame:  # noqa: ARG001
    """Keep each row once."""
    return rows.distinct()


def aggregate(operator: plan.Aggregate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer one row for each time and group that has rows."""
    aggregation = operator.aggregation
    groups = times_of(operator.schema) | {e.name: e.sql for e in aggregation.by}
    # Without any group, Spark would answer one row on no rows at all.
    keys = runtime.exprs(groups or {"__all": "1"})
    results = rows.groupBy(*keys).agg(*runtime.exprs(named_calls(aggregation, row_order(rows))))
    return results.select(*runtime.exprs(times_of(operator.schema) | finished(aggregation)))


def join(operator: plan.Join, runtime: Runtime, left: DataFrame, right: DataFrame) -> DataFrame:
    """Pair rows of equal times, or with a table at every time."""
    same_types(operator, left.schema, right.schema, operator.on)
    times = {name: quoted(name) for name in operator.schema.time}
    return joined(operator, runtime, left, right, {} if operator.with_table else times, times)
