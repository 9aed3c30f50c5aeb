"""Keys of joins that are computed, as columns: Spark itself would compute them again wherever it compares them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from sqlglot.errors import ParseError

from tidegate.flow.agreed.compile import Refused, compiled
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.errors import FlowError
from tidegate.flow.parser import exp
from tidegate.flow.sql import Sql

__all__ = ["equated_sides", "has_computed_keys", "keys_as_columns"]

#: The columns to add to a side, by name, as SQL that reads the side by its name.
Keys: TypeAlias = Mapping[str, str]


@lru_cache(maxsize=256)
def has_computed_keys(condition: str) -> bool:
    """Whether a condition equates a value of the left side with one of the right side, and one of them is computed.

    >>> has_computed_keys("left.k = right.k AND length(left.a) = right.n"), has_computed_keys("left.k = right.k")
    (True, False)
    """
    keys = map(equated_sides, Sql.of(condition).all_conjuncts())
    return any(not _is_column(side) for sides in keys if sides for side in sides)


def keys_as_columns(condition: str, types: Mapping[str, str | None]) -> tuple[Keys, Keys, str]:
    """Return columns to add to ``left`` and to ``right``, and the condition of their join that reads these columns.

    ``types`` are those of columns by name, such as ``left.a``. A key that may fail, or of which that is not known,
    stays in the condition: Spark may compute a column for rows that the condition is never asked about.

    >>> types = {"left.k": "INT", "right.k": "INT", "left.a": "STRING", "right.n": "INT"}
    >>> keys_as_columns("left.k = right.k AND (length(left.a) = right.n AND left.a <> 'b')", types)
    ({'__key0': 'length(left.a)'}, {}, "left.k = right.k AND `left`.__key0 = right.n AND left.a <> 'b'")
    """
    return _written(condition, tuple(types.items()))


@lru_cache(maxsize=256)
def _written(condition: str, types: tuple[tuple[str, str | None], ...]) -> tuple[Keys, Keys, str]:
    columns: tuple[dict[str, str], dict[str, str]] = ({}, {})
    parts = []
    for part in Sql.of(condition).all_conjuncts():
        sides = equated_sides(part)
        if sides is None or all(map(_is_column, sides)) or not _never_fails(part, dict(types)):
            parts.append(part)
            continue
        name, read = f"__key{len({*columns[0], *columns[1]})}", []
        for side, sql, added in zip(("left", "right"), sides, columns, strict=True):
            if not _is_column(sql):
                added[name] = sql
            read.append(f"`{side}`.{name}" if name in added else sql)
        parts.append(" = ".join(read))
    return (*columns, " AND ".join(parts)) if any(columns) else (*columns, condition)


def equated_sides(part: str) -> tuple[str, str] | None:
    """Return what a condition equates: the value of the left side, and that of the right one; None if it does not."""
    sides = Sql.of(part).equated()
    if sides is None:
        return None
    try:
        trees = [parse_plain(side) for side in sides]
    except ParseError:
        return None
    reads = [{str(column.parts[0].name).lower() for column in tree.find_all(exp.Column)} for tree in trees]
    if sorted(map(sorted, reads)) != [["left"], ["right"]]:
        return None
    return sides if reads[0] == {"left"} else (sides[1], sides[0])


def _is_column(sql: str) -> bool:
    return isinstance(parse_plain(sql), exp.Column)


def _never_fails(condition: str, types: Mapping[str, str | None]) -> bool:
    try:
        return not compiled(condition, types, engine=True).fails
    except (Refused, FlowError):
        # It is not known, or Spark has an error of its own for it.
        return False
