"""Keys of joins that are computed, as columns: Spark itself would compute them again wherever it compares them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from sqlglot.errors import ParseError

from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.parser import exp
from tidegate.flow.sql import Sql

__all__ = ["keys_as_columns"]

#: The columns to add to a side, by name, as SQL that reads the side by its name.
Keys: TypeAlias = Mapping[str, str]


@lru_cache(maxsize=256)
def keys_as_columns(condition: str) -> tuple[Keys, Keys, str]:
    """Return columns to add to ``left`` and to ``right``, and the condition of their join that reads these columns.

    >>> keys_as_columns("left.k = right.k AND (length(left.a) = length(right.b) AND left.a <> right.b)")[:2]
    ({'__key0': 'length(left.a)'}, {'__key0': 'length(right.b)'})
    >>> keys_as_columns("left.k = right.k AND (length(left.a) = length(right.b) AND left.a <> right.b)")[2]
    'left.k = right.k AND `left`.__key0 = `right`.__key0 AND left.a <> right.b'
    """
    left: dict[str, str] = {}
    right: dict[str, str] = {}
    parts = []
    for part in Sql.of(condition).all_conjuncts():
        found = _computed_on_each_side(part)
        if found is None:
            parts.append(part)
            continue
        name = f"__key{len(left)}"
        left[name], right[name] = found
        parts.append(f"`left`.{name} = `right`.{name}")
    return (left, right, " AND ".join(parts)) if left else ({}, {}, condition)


def _computed_on_each_side(part: str) -> tuple[str, str] | None:
    """Return what a condition equates, left and right, if one of the two is computed; None if it is none such."""
    sides = Sql.of(part).equated()
    if sides is None:
        return None
    try:
        trees = [parse_plain(side) for side in sides]
    except ParseError:
        return None
    reads = [{str(column.parts[0].name).lower() for column in tree.find_all(exp.Column)} for tree in trees]
    if sorted(map(sorted, reads)) != [["left"], ["right"]] or all(isinstance(tree, exp.Column) for tree in trees):
        return None
    return sides if reads[0] == {"left"} else (sides[1], sides[0])
