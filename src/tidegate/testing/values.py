"""Converts rows and times from the form in which tests write them: dicts or tuples, with times also as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput, did_you_mean
from tidegate.flow.orders.ordered import Ordered
from tidegate.flow.schema import Schema
from tidegate.spec import DT
from tidegate.time import Bound, Inl, Inr, Lexicographic, Sum

__all__ = ["row_of", "time_of", "typed"]


def typed(value: Any, type_: str | None) -> Any:
    """Return a value of a column of that type. Instants may be given as texts, or with a zone.

    >>> typed("2026-01-01 02:00:00+02:00", "TIMESTAMP"), typed({"start": "2026-01-01"}, "STRUCT<start: DATE>")
    (datetime.datetime(2026, 1, 1, 0, 0), {'start': datetime.date(2026, 1, 1)})
    """
    if value is None or type_ is None or isinstance(value, Bound):
        return value
    if type_ in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return _instant(value, type_)
    if type_ == "DATE" and isinstance(value, str):
        return _parsed(date.fromisoformat, value, type_)
    if type_ in ("DOUBLE", "FLOAT") and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_.startswith("DECIMAL") and isinstance(value, int | str) and not isinstance(value, bool):
        return _parsed(Decimal, str(value), type_)
    if type_.startswith("STRUCT") and isinstance(value, Mapping):
        fields = sqltypes.fields(type_)
        return {name: typed(inner, fields.get(name)) for name, inner in value.items()}
    if type_.startswith("ARRAY") and isinstance(value, list | tuple):
        return [typed(inner, sqltypes.element(type_)) for inner in value]
    return value


def _instant(value: Any, type_: str) -> Any:
    found = _parsed(datetime.fromisoformat, value, type_) if isinstance(value, str) else value
    if isinstance(found, datetime) and found.tzinfo is not None:
        return found.astimezone(UTC).replace(tzinfo=None)
    return found


def _parsed(parse: Any, text: str, type_: str) -> Any:
    try:
        return parse(text)
    except (ValueError, InvalidOperation):
        example = {"DATE": "2026-01-01", "TIMESTAMP": "2026-01-01 00:10:00"}.get(type_.removesuffix("_NTZ"), "1.50")
        raise BadInput(f"expected a value of type {type_}, got {text!r}", hint=f'such as "{example}"') from None


def row_of(given: Any, schema: Schema, what: str) -> dict[str, Any]:
    """Return a row with all columns of a schema, in their order. Columns that a dict leaves out are NULL.

    >>> from tidegate.flow.schema import parse_schema
    >>> row_of({"PAGE": "a", "t": 1}, parse_schema("t INT, page STRING, bytes INT"), "a row")
    {'t': 1, 'page': 'a', 'bytes': None}
    """
    row = given.d if isinstance(given, DT) else given
    if isinstance(row, Mapping):
        values = {str(name).lower(): value for name, value in row.items()}
        for name in row:
            if str(name) not in schema:
                raise BadInput(
                    f"expected {what} with columns {', '.join(schema.names)}, got {name!r}",
                    hint=did_you_mean(name, schema.names),
                )
    elif isinstance(row, tuple | list):
        if len(row) != len(schema.names):
            names = ", ".join(schema.names)
            raise BadInput(f"expected {what} with {len(schema.names)} values ({names}), got {len(row)}: {row!r}")
        values = dict(zip((name.lower() for name in schema.names), row, strict=True))
    else:
        raise BadInput(
            f"expected {what} as a dict, got {row!r} ({type(row).__name__})",
            hint="{" + ", ".join(f'"{name}": …' for name in schema.names) + "}",
        )
    return {c.name: typed(values.get(c.name.lower()), c.type) for c in schema.columns}


def time_of(given: Any, schema: Schema, what: str) -> Any:
    """Return a time of a stream, given as a value or as text. With several time columns, it is a tuple.

    `TOP` stands for every value of a column.

    >>> from tidegate.flow.schema import parse_schema
    >>> time_of(("2026-01-01", 3), parse_schema("day DATE, n INT", time=("day", "n")), "a time")
    (datetime.date(2026, 1, 1), 3)
    """
    if schema.ordered is not None:
        t = _in_order(given, schema.ordered)
    else:
        parts = given if isinstance(given, tuple | list) else (given,)
        if len(parts) != len(schema.time) and not isinstance(given, Bound):
            names = ", ".join(schema.time)
            raise BadInput(f"expected {what} of {names}, got {given!r}", hint=f"({names}), a value for each")
        types = [c.type for c in schema.times]
        values = tuple(
            given if isinstance(given, Bound) else typed(p, t) for p, t in zip(_all(parts, types), types, strict=True)
        )
        t = values[0] if len(values) == 1 else values
    schema.order.check(t, extended=True)
    return t


def _all(parts: Sequence[Any], types: Sequence[Any]) -> Sequence[Any]:
    return parts if len(parts) == len(types) else [parts[0]] * len(types)


def _in_order(given: Any, ordered: Ordered) -> Any:
    """Return a time of another order: an element, the values of a lexicographic one, or a side of a sum and a value."""
    if isinstance(ordered.order, Lexicographic):
        return tuple(typed(p, t) for p, t in zip(given, ordered.types, strict=True))
    if isinstance(ordered.order, Sum):
        side, value = ("left" if given.is_left else "right", given.t) if isinstance(given, Inl | Inr) else given
        kind, type_ = (Inl, ordered.sides[0]) if side == "left" else (Inr, ordered.sides[1])
        return kind(typed(value, type_))
    return typed(given, ordered.types[0])
