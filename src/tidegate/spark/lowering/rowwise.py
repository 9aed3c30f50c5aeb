"""Operators that look at one row, or one batch of rows, at a time: the time of a row does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.errors import BadArgument
from tidegate.spark.arrow import map_in_arrow, mapped, struct_type
from tidegate.spark.lowering.rows import columns_of, quoted
from tidegate.spark.runtime import Runtime
from tidegate.spark.settle import same_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["explode", "map_batches", "select", "union", "where"]


def where(operator: plan.Where, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Keep the rows that satisfy the condition."""
    return rows.where(runtime.expr(operator.condition.sql))


def select(operator: plan.Select, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Compute all columns of the result from each row."""
    return rows.select(*runtime.exprs({e.name: e.sql for e in operator.outputs}))


def explode(operator: plan.Explode | plan.Unfold, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Make a row of each element; none if the array is null or empty."""
    column = next(c for c in columns_of(rows.schema) if c.name == operator.column)
    if not (column.type or "").startswith("ARRAY"):
        raise BadArgument(f"expected an array column, got {column}", hint="explode takes a column of arrays")
    return rows.select(
        *(
            runtime.expr(f"explode({quoted(name)})" if name == operator.column else quoted(name), name)
            for name in rows.columns
        )
    )


def map_batches(operator: plan.MapBatches, runtime: Runtime, rows: DataFrame) -> DataFrame:  # noqa: ARG001
    """Let the user's function turn Arrow batches into others."""
    return map_in_arrow(rows, mapped(operator, columns_of(rows.schema)), struct_type(operator.schema.columns))


def union(operator: plan.Union, runtime: Runtime, left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    """Put the rows of both together; Spark would find a common type where two differ, so they are compared first."""
    same_types(operator, left.schema, right.schema, left.columns)
    return left.unionByName(right)
