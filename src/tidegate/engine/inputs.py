"""Rows of sources as they come in: those that have a time take part, the others are set aside with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.relation import Relation
from tidegate.engine.units import from_units
from tidegate.flow.expressions import Expression
from tidegate.flow.limits import OUT_OF_RANGE, Limit
from tidegate.flow.plan import Source
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.watermarks import Punctuated

__all__ = ["STEP", "reason_of", "untimed", "with_time", "without_time"]

#: The column of a published output that has the step of each row.
STEP = "__step"


def with_time(source: Source, rows: Relation, limits: Sequence[Limit]) -> Relation:
    """Return the rows of a source that have a time, within its limits, and are no watermarks."""
    whole = [f"{quoted(name)} IS NOT NULL" for name in source.schema.time]
    inside = [f"NOT ({_outside(limit)})" for limit in limits if not limit.whole]
    return _data(source, rows).where(" AND ".join([*whole, *inside]))


def without_time(source: Source, rows: Relation, limits: Sequence[Limit]) -> Relation:
    """Return the rows of a source that lack a time, or have one beyond its limits, each with the ``reason``."""
    bad = _data(source, rows).where(untimed(limits))
    return bad.with_columns({"__reason" if "reason" in source.schema else "reason": reason_of(limits)})


def untimed(limits: Sequence[Limit]) -> str:
    """Return the condition that a row lacks a time, or has one beyond its limits."""
    return " OR ".join(
        f"{quoted(limit.column)} IS NULL" + ("" if limit.whole else f" OR {_outside(limit)}") for limit in limits
    )


def reason_of(limits: Sequence[Limit]) -> str:
    """Return SQL for the reason for which a row that is `untimed` is rejected."""
    names = [f"IF({quoted(limit.column)} IS NULL, {literal(limit.column)}, NULL)" for limit in limits]
    some = " OR ".join(f"{quoted(limit.column)} IS NULL" for limit in limits)
    lacking = f"concat('null time in ', concat_ws(', ', {', '.join(names)}))"
    beyond = [f"IF({_outside(limit)}, {literal(str(limit))}, NULL)" for limit in limits if not limit.whole]
    if not beyond:
        return lacking
    return f"IF({some}, {lacking}, concat({literal(OUT_OF_RANGE)}, concat_ws(', ', {', '.join(beyond)})))"


def _outside(limit: Limit) -> str:
    """Return the condition that a time is beyond its limits, as values of its type, so that files can be skipped."""
    if limit.low > limit.high:
        return f"{quoted(limit.column)} IS NOT NULL"
    low, high = (from_units(f"{bound}L", limit.type) for bound in (limit.low, limit.high))
    return f"{quoted(limit.column)} < {low} OR {quoted(limit.column)} > {high}"


def _data(source: Source, rows: Relation) -> Relation:
    """Return the rows that are no watermarks; one may lack a time column, which means every value of it."""
    if not isinstance(source.watermark, Punctuated):
        return rows
    condition = source.watermark.condition
    sql = condition.sql if isinstance(condition, Expression) else condition
    return rows.where(f"NOT coalesce({sql}, false)")
