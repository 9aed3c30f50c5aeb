"""Operators that look at one time at a time: what they answer at a time depends on the rows at that time only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.schema import Column, exact
from tidegate.spark.lowering.calls import finished, gathered, listing, named_calls, times_of
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
    if operator.embeds:
        return _embed(operator, runtime, rows)
    groups = times_of(operator.schema) | {e.name: e.sql for e in aggregation.by}
    # Without any group, Spark would answer one row on no rows at all.
    keys = runtime.exprs(groups or {"__all": "1"})
    results = rows.groupBy(*keys).agg(*runtime.exprs(named_calls(aggregation, row_order(rows))))
    return results.select(*runtime.exprs(times_of(operator.schema) | finished(aggregation)))


def _embed(operator: plan.Aggregate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer lists that are only unfolded."""
    aggregation, times = operator.aggregation, times_of(operator.schema)
    rows, calls = listing(aggregation, runtime, rows)
    keys = [e.name for e in aggregation.by]
    if not all(output.is_call for output in aggregation.outputs) or len(calls) > 1:
        results = gathered(rows, [*times, *keys]).agg(*runtime.exprs(calls))
        return results.select(*runtime.exprs(times | finished(aggregation)))
    (output,) = aggregation.outputs
    (call,) = output.calls
    if {*times, *keys} >= set(call.columns) and exact([Column(e.name, e.type) for e in aggregation.by]):
        # Rows of a group are equal in all that is listed: it is enough to count them, which Spark is much faster at.
        counted = gathered(rows, [*times, *keys]).agg(*runtime.exprs({"__copies": "count(*)"}))
        copies = f"array_repeat({call.arguments[0]}, CAST(__copies AS INT))"
        return counted.select(*runtime.exprs(times | {output.name: copies}))
    # Which rows share a list does not matter, as long as identical ones can: the key need not be compared in full.
    whole = ", ".join(e.sql for e in aggregation.by)
    keyed = rows.withColumn("__key", runtime.expr(f"xxhash64({whole})" if whole else "0"))
    results = gathered(keyed, [*times, "__key"]).agg(*runtime.exprs(calls))
    return results.select(*runtime.exprs(times | {output.name: output.finish}))


def join(operator: plan.Join, runtime: Runtime, left: DataFrame, right: DataFrame) -> DataFrame:
    """Pair rows of equal times, or with a table at every time."""
    same_types(operator, left.schema, right.schema, operator.on)
    times = {name: quoted(name) for name in operator.schema.time}
    return joined(operator, runtime, left, right, {} if operator.with_table else times, times)
