"""What the condition of a Join asks of one side alone: a row that fails it is in no pair."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tidegate.flow.agreed.compile import Refused, compiled_condition
from tidegate.flow.agreed.zones import not_utc
from tidegate.flow.equations import LEFT, RIGHT, both_sides, implied
from tidegate.flow.errors import FlowError
from tidegate.flow.expressions import Expression, Parsed, bound, reference_to
from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql
from tidegate.flow.substitute import from_pack

__all__ = ["needed_of"]


def needed_of(side: str, where: Expression, on: tuple[str, ...], left: Schema, right: Schema) -> tuple[str, ...]:
    """Return conditions over the columns of one side that are true for its row in every pair, and that never fail.

    They are parts of the condition of a Join, or follow from it.

    >>> from tidegate.flow.schema import parse_schema
    >>> sides = parse_schema("a STRING", time=()), parse_schema("b STRING", time=())
    >>> text = "length(a) = length(b) AND length(left.a) > 9 AND lower(a) <> lower(b)"
    >>> where = bound(Parsed.of(text, "a condition"), both_sides(*sides, ()))
    >>> needed_of(LEFT, where, (), *sides), needed_of(RIGHT, where, (), *sides)
    (('length(a) > 9',), ('length(b) > 9',))
    """
    return _needed(side, where, on, left, right, not_utc())


@lru_cache(maxsize=256)
def _needed(
    side: str, where: Expression, on: tuple[str, ...], left: Schema, right: Schema, _not_utc: bool
) -> tuple[str, ...]:
    # What may fail depends on the time zone of the flow, too.
    columns = {LEFT: left, RIGHT: right}[side].columns
    fields = {column.name.lower(): reference_to(column.name, column.type) for column in columns}
    types = {column.name: column.type for column in columns}
    found: dict[str, None] = {}
    for text in (*Sql.of(where.sql).all_conjuncts(), *implied(where, on, left, right)):
        part = bound(Parsed.of(text, "a condition"), both_sides(left, right, on))
        if not part.columns or not all(name.startswith(f"{side}.") for name in part.columns):
            continue
        own = from_pack(part, side, fields)
        if own is not None and _never_fails(own.sql, types):
            found[own.sql] = None
    return tuple(found)


def _never_fails(condition: str, types: Mapping[str, str | None]) -> bool:
    """Whether a condition is known to fail for no row, on any engine."""
    try:
        return not compiled_condition(condition, types).fails
    except (Refused, FlowError):
        return False
