"""Rows of sources as they come in: those with a usable time take part, the others are set aside with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegate.engine.relation import Relation
from tidegate.engine.units import from_units
from tidegate.flow.errors import BadInput, BadTime
from tidegate.flow.expressions import Expression
from tidegate.flow.limits import OUT_OF_RANGE, Limit
from tidegate.flow.orders import NOT_IN_ORDER
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.watermarks import Punctuated

__all__ = ["STEP", "check_columns", "on_points", "reason_of", "untimed", "with_time", "without_time"]

#: The column of a published output that has the step of each row.
STEP = "__step"


def check_columns(
    operator: Source | Table,
    given: Sequence[Column],
    *,
    selected: Callable[[Sequence[str]], str],
    cast: Callable[[Column], str],
) -> list[str]:
    """Return the input's names for the declared columns; raise if it has other columns or types.

    ``selected`` and ``cast`` return, for hints, how a user selects columns and casts one.
    """
    declared = operator.schema
    found = {c.name.lower(): c for c in given}
    if len(found) < len(given):
        names = ", ".join(c.name for c in given)
        raise BadInput(f"expected columns with different names, got {names}", hint="rename some")
    missing = [c for c in declared.columns if c.name.lower() not in found]
    extra = [c for c in found.values() if c.name not in declared]
    if missing or extra:
        lines = [f"it lacks {c}" for c in missing] + [f"it also has {c}" for c in extra]
        rename = f"rename or add columns first, or declare in {operator.verb}({operator.id!r}, …) those that there are"
        raise BadInput(
            f"expected columns {', '.join(map(str, declared.columns))}; the input differs\n  " + "\n  ".join(lines),
            hint=rename if missing else f"{selected(declared.names)}, or declare the others too",
        )
    for column in declared.columns:
        got = found[column.name.lower()]
        if got.type != column.type:
            kind = BadTime if column.name in declared.time else BadInput
            raise kind(
                f"expected column {column.name} of type {column.type}, got {got.type}",
                hint=f"{cast(column)}, or declare the type that it has",
            )
    return [found[c.name.lower()].name for c in declared.columns]


def on_points(source: Source, rows: Relation) -> Relation:
    """Return the rows of a source with the points of their times, if times are not ordered by their values."""
    at = source.schema.coordinates
    if at is None:
        return rows
    axes = dict(zip(at.names, at.encode_sql, strict=True))
    if isinstance(source.watermark, Punctuated) and at.encode_watermark_sql != at.encode_sql:
        watermarks = zip(at.names, at.encode_watermark_sql, strict=True)
        axes = {name: f"IF({_is_watermark(source.watermark)}, {sql}, {axes[name]})" for name, sql in watermarks}
    return rows.select(axes | {name: quoted(name) for name in rows.names})


def with_time(source: Source, rows: Relation, limits: Sequence[Limit]) -> Relation:
    """Return the rows of a source that have a time within its limits and are not watermarks."""
    whole = [f"{quoted(name)} IS NOT NULL" for name in source.schema.time]
    inside = [f"NOT ({_outside(limit)})" for limit in limits if not limit.whole]
    return _data(source, on_points(source, rows)).where(" AND ".join([*whole, *inside]))


def without_time(source: Source, rows: Relation, limits: Sequence[Limit]) -> Relation:
    """Return the rows of a source without a time or with one beyond its limits, each with the ``reason``."""
    bad = _data(source, on_points(source, rows)).where(untimed(limits))
    with_reason = bad.with_columns({"__reason" if "reason" in source.schema else "reason": reason_of(source, limits)})
    return with_reason.without(*source.schema.time) if source.schema.coordinates else with_reason


def untimed(limits: Sequence[Limit]) -> str:
    """Return the SQL condition that a row has no time, or one beyond its limits."""
    return " OR ".join(
        f"{quoted(limit.column)} IS NULL" + ("" if limit.whole else f" OR {_outside(limit)}") for limit in limits
    )


def reason_of(source: Source, limits: Sequence[Limit]) -> str:
    """Return SQL for the reason why an `untimed` row of a source is rejected."""
    if at := source.schema.coordinates:
        some, lacking = _lacking(at.given.columns)
        return f"IF({some}, {lacking}, {literal(at.given.name + NOT_IN_ORDER)})"
    some, lacking = _lacking([limit.column for limit in limits])
    beyond = [f"IF({_outside(limit)}, {literal(str(limit))}, NULL)" for limit in limits if not limit.whole]
    if not beyond:
        return lacking
    return f"IF({some}, {lacking}, concat({literal(OUT_OF_RANGE)}, concat_ws(', ', {', '.join(beyond)})))"


def _lacking(names: Sequence[str]) -> tuple[str, str]:
    """Return the SQL condition that one of some columns is NULL, and SQL for a reason that names those."""
    empty = [f"IF({quoted(name)} IS NULL, {literal(name)}, NULL)" for name in names]
    some = " OR ".join(f"{quoted(name)} IS NULL" for name in names)
    return some, f"concat('null time in ', concat_ws(', ', {', '.join(empty)}))"


def _outside(limit: Limit) -> str:
    """Return the SQL condition that a time is beyond its limits.

    It compares values of the column's own type, so that files can be skipped.
    """
    if limit.low > limit.high:
        return f"{quoted(limit.column)} IS NOT NULL"
    low, high = (from_units(f"{bound}L", limit.type) for bound in (limit.low, limit.high))
    return f"{quoted(limit.column)} < {low} OR {quoted(limit.column)} > {high}"


def _data(source: Source, rows: Relation) -> Relation:
    """Return the rows that are not watermarks.

    In a watermark, a time column may be NULL, which means all its values.
    """
    if not isinstance(source.watermark, Punctuated):
        return rows
    return rows.where(f"NOT {_is_watermark(source.watermark)}")


def _is_watermark(watermark: Punctuated) -> str:
    condition = watermark.condition
    return f"coalesce({condition.sql if isinstance(condition, Expression) else condition}, false)"
