"""Operators that look at one row or one batch at a time. The time of a row does not change."""

from __future__ import annotations

from tidegate.engine.functions import check_given, mapped
from tidegate.engine.relation import Relation
from tidegate.engine.types import same_types
from tidegate.flow import plan
from tidegate.flow.errors import BadArgument
from tidegate.flow.sqltypes import quoted

__all__ = ["explode", "map_batches", "select", "union", "where"]


def where(operator: plan.Where, rows: Relation) -> Relation:
    """Return the rows that satisfy the condition."""
    return rows.where(operator.condition.sql)


def select(operator: plan.Select | plan.Restored, rows: Relation) -> Relation:
    """Return the rows with all columns of the result computed."""
    return rows.select({e.name: e.sql for e in operator.outputs})


def explode(operator: plan.Explode | plan.Unfold, rows: Relation) -> Relation:
    """Return a row for each element, and none if the array is NULL or empty."""
    column = next(c for c in rows.columns if c.name == operator.column)
    if not (column.type or "").startswith("ARRAY"):
        raise BadArgument(f"expected an array column, got {column}", hint="explode takes a column of arrays")
    return rows.explode(operator.column, quoted(operator.column))


def map_batches(operator: plan.MapBatches, rows: Relation) -> Relation:
    """Return the result of the user's function on Arrow batches."""
    check_given(rows.columns)
    return rows.map_arrow(mapped(operator), operator.schema.columns)


def union(operator: plan.Union, first: Relation, *others: Relation) -> Relation:
    """Return the rows of all inputs.

    Their types are compared first, since some backends would convert them silently.
    """
    found = first
    for rows in others:
        same_types(operator, first, rows, first.names)
        found = found.union(rows)
    return found
