"""The arguments of `at`, which moves rows to other times: an expression for each time column, and its span if fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadArgument, BadSpan, BadTime
from tidegate.flow.expressions import Expression, bind, reference_to
from tidegate.flow.parser import Tree, exp
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import parse_span, show_span

__all__ = ["BACK", "NULL_TIME", "moves_of", "shift_of"]

#: How the reasons begin for rejecting a row that cannot be moved; the time columns follow.
NULL_TIME = "null time in "
BACK = "time would go back in "

_TIMES = "TIMESTAMP", "TIMESTAMP_NTZ", "DATE"


def moves_of(expression: Any, named: Mapping[str, Any], schema: Schema) -> tuple[Expression, ...]:
    """Return the expression for each time column; a column that is not named keeps its value."""
    times = schema.times
    if expression is not None:
        if len(times) > 1 or named:
            names = ", ".join(f"{c.name}=…" for c in times)
            raise BadArgument(
                f"expected an expression for each time column that changes, by name, got {expression!r}",
                hint=f"at({names})",
            )
        named = {times[0].name: expression}
    if not named:
        raise BadArgument("expected an expression for the new time, got none", hint='for example at("ends")')
    found: dict[str, Expression] = {}
    for name, text in named.items():
        column = schema[name]
        if column not in times:
            raise BadTime(
                f"expected a time column ({', '.join(schema.time)}), got {column}",
                hint="with_columns(…) changes other columns",
            )
        found[column.name] = _typed(bind(text, schema, what="a time", name=column.name), column)
    return tuple(found.get(c.name, reference_to(c.name, c.type)) for c in times)


def _typed(bound: Expression, column: Column) -> Expression:
    """Return the expression if it has the type of its column; raise if not. If its type is open, engines check it."""
    type_ = column.type or ""
    fits = bound.type in (None, type_) or (
        bound.type in sqltypes.INTEGERS
        and type_ in sqltypes.INTEGERS
        and sqltypes.INTEGERS.index(bound.type) < sqltypes.INTEGERS.index(type_)
    )
    if not fits:
        raise BadTime(
            f"expected a time of type {type_} for {column.name}, got {bound.sql} of type {bound.type}",
            hint=f"CAST({bound.sql} AS {type_})",
        )
    return Expression(bound.name, bound.sql, type_, bound.columns)


def shift_of(expression: Expression, column: Column, timezone: str) -> int | None:
    """Return by how many units an expression moves rows, if that is the same for all rows; else None.

    A day has a fixed length only in time zones without daylight saving time.

    >>> from tidegate.flow.schema import parse_schema
    >>> schema = parse_schema("ts TIMESTAMP, n INT")
    >>> [shift_of(bind(text, schema), schema["ts"], "UTC") for text in ("ts + INTERVAL '1 second'", "ts", "now_(n)")]
    [1000000, 0, None]
    >>> shift_of(bind("ts + INTERVAL 1 DAY", schema), schema["ts"], "Europe/Berlin")
    """
    type_ = column.type or ""
    if expression.columns != (column.name,):
        return None
    fixed = type_ != "TIMESTAMP" or timezone == "UTC"
    shift = _shift(expression.tree, type_, fixed=fixed)
    if shift is not None and shift < 0:
        raise BadTime(
            f"expected a time at or above {column.name}, got {expression.sql}: {show_span(-shift, type_)} before it",
            hint="a row can only move to a later time; shift the other stream forward instead",
        )
    return shift


def _shift(tree: Tree, type_: str, *, fixed: bool) -> int | None:
    if isinstance(tree, exp.Paren):
        return _shift(tree.this, type_, fixed=fixed)
    if isinstance(tree, exp.Column):
        return 0 if len(tree.parts) == 1 else None
    if isinstance(tree, exp.Add | exp.Sub):
        left, right = tree.this, tree.expression
        if isinstance(tree, exp.Add) and right.find(exp.Column):
            left, right = right, left
        at, span = _shift(left, type_, fixed=fixed), _span(right, type_, fixed=fixed)
        if at is None or span is None:
            return None
        step = -span if isinstance(tree, exp.Sub) else span
        # An intermediate result could be a time that the type cannot hold.
        return at + step if at * step >= 0 else None
    return None


def _span(tree: Tree, type_: str, *, fixed: bool) -> int | None:
    if isinstance(tree, exp.Paren):
        return _span(tree.this, type_, fixed=fixed)
    if isinstance(tree, exp.Neg):
        span = _span(tree.this, type_, fixed=fixed)
        return None if span is None else -span
    if isinstance(tree, exp.Literal):
        whole = type_ not in ("TIMESTAMP", "TIMESTAMP_NTZ") and not tree.is_string and tree.name.isdigit()
        return int(tree.name) if whole else None
    if isinstance(tree, exp.Add):
        spans = [_span(side, type_, fixed=fixed) for side in (tree.this, tree.expression)]
        return None if None in spans else sum(span for span in spans if span is not None)
    if isinstance(tree, exp.Interval) and type_ in _TIMES:
        return _interval(tree, type_, fixed=fixed)
    return None


def _interval(tree: Tree, type_: str, *, fixed: bool) -> int | None:
    unit = tree.args.get("unit")
    if not isinstance(tree.this, exp.Literal) or isinstance(unit, exp.IntervalSpan):
        return None
    text = f"{tree.this.name} {unit.name if unit is not None else ''}".lower()
    if "." in text or (not fixed and ("day" in text or "week" in text)):
        return None
    try:
        return parse_span(text.strip(), type_, what="span", least=None)
    except BadSpan:
        return None
