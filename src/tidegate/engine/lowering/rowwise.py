"""Operators that look at one row, or one batch of rows, at a time: the time of a row does not change."""

from __future__ import annotations

from tidegate.engine.functions import check_given, mapped
from tidegate.engine.relation import Relation
from tidegate.engine.types import same_types
from tidegate.flow import plan
from tidegate.flow.errors import BadArgument
from tidegate.flow.sqltypes import quoted

__all__ = ["explode", "map_batches", "select", "union", "where"]


def where(operator: plan.Where, rows: Relation) -> Relation:
    """Keep the rows that satisfy the condition."""
    return rows.where(operator.condition.sql)


def select(operator: plan.Select | plan.Restored, rows: Relation) -> Relation:
    """Compute all columns of the result from each row."""
    return rows.select({e.name: e.sql for e in operator.outputs})


def explode(operator: plan.Explode | plan.Unfold, rows: Relation) -> Relation:
    """Make a row of each element; none if the array is null or empty."""
    column = next(c for c in rows.columns if c.name == operator.column)
    if not (column.type or "").startswith("ARRAY"):
        raise BadArgument(f"expected an array column, got {column}", hint="explode takes a column of arrays")
    return rows.explode(operator.column, quoted(operator.column))


def map_batches(operator: plan.MapBatches, rows: Relation) -> Relation:
    """Let the user's function turn Arrow batches into others."""
    check_given(rows.columns)
    return rows.map_arrow(mapped(operator), operator.schema.columns)


def union(operator: plan.Union, first: Relation, *others: Relation) -> Relation:
    """Put the rows of all together; some backends would find a common type where two differ, so they are compared."""
    found = first
    for rows in others:
        same_types(operator, first, rows, first.names)
        found = found.union(rows)
    return found
