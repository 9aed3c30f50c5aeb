"""Times as users give them: values, or text in the form of Spark SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from tidegate.flow.errors import BadArgument
from tidegate.flow.orders import Coordinates, LexicographicCoordinates, PosetCoordinates, SumCoordinates
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units
from tidegate.time import Inl, Inr

__all__ = ["parse_time"]


def parse_time(schema: Schema, given: Any) -> Any:
    """Return a time from a value or a text; with several time columns, from a tuple of those.

    >>> from tidegate.flow.schema import parse_schema
    >>> parse_time(parse_schema("day DATE, n INT", time=("day", "n")), ("2026-01-01", 3))
    (datetime.date(2026, 1, 1), 3)
    """
    if at := schema.coordinates:
        return at.time_on_axes(_in_order(at, given))
    parts = given if isinstance(given, tuple | list) else (given,)
    if len(parts) != len(schema.time):
        raise BadArgument(
            f"expected a time of {', '.join(schema.time)}, got {given!r}",
            hint="a tuple of one value for each time column" if len(schema.time) > 1 else "",
        )
    values = tuple(_value(part, column.type or "") for part, column in zip(parts, schema.times, strict=True))
    t = values[0] if len(values) == 1 else values
    schema.order.check(t)
    return t


def _in_order(at: Coordinates, given: Any) -> Any:
    """Return a time of the user's own order: an element, as it is or as text; in a sum, a side and a value."""
    if isinstance(at, LexicographicCoordinates):
        parts = given if isinstance(given, tuple | list) else (given,)
        if len(parts) != len(at.given.columns):
            raise BadArgument(
                f"expected a time of {at.given.name}, got {given!r}", hint="a tuple of one value for each time column"
            )
        whole = tuple(_value(part, type_) for part, type_ in zip(parts, at.given.types, strict=True))
        at.order.check(whole)
        return whole
    value = given[0] if isinstance(given, tuple | list) and len(given) == 1 else given
    if isinstance(at, SumCoordinates) and isinstance(given, tuple | list) and len(given) == 2:
        side, part = given
        sides = {"left": (Inl, at.given.sides[0]), "right": (Inr, at.given.sides[1])}
        if side in sides:
            kind, type_ = sides[side]
            value = kind(_value(part, type_))
    if isinstance(at, SumCoordinates) and not at.order.contains(value):
        raise BadArgument(
            f"expected a time of {at.given.column}, which has two sides, got {given!r}",
            hint=f'the side and its value: ("left", {_example(at.given.sides[0])}) or ("right", '
            f"{_example(at.given.sides[1])})",
        )
    if isinstance(at, PosetCoordinates) and isinstance(value, str) and at.given.type != "STRING":
        value = _value(value, at.given.type)
    at.order.check(value)
    return value


def _example(type_: str) -> str:
    """Return an example of a time of a type, as a user may write it."""
    value = from_units(0, type_)
    return str(value) if isinstance(value, int) else f'"{value}"'


def _value(part: Any, type_: str) -> Any:
    if not isinstance(part, str):
        return part
    try:
        example = from_units(0, type_)
        if isinstance(example, datetime):
            instant = datetime.fromisoformat(part)
            # All instants are in UTC here, and have no time zone attached.
            return instant if instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)
        return date.fromisoformat(part) if isinstance(example, date) else int(part)
    except (ValueError, OverflowError):
        raise BadArgument(f"expected a time of type {type_}, got {part!r}", hint=f'such as "{example}"') from None
