"""Keys of joins that are computed, as columns: Spark itself would compute them again wherever it compares them.

Before a join, Spark leaves out rows in which a compared column is NULL, and it does so before the operators that come
before the join. So it computes the column for rows that these operators exclude, and for which what the key reads may
fail. Of keys like ``length(left.a)`` it knows that they are NULL where ``left.a`` is, and asks that of ``left.a`` even
if there is no column. So only such keys become columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from sqlglot.errors import ParseError

from tidegate.flow.agreed.compile import never_fails
from tidegate.flow.agreed.early import bare
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.parser import Tree, exp
from tidegate.flow.sql import Sql

__all__ = ["equated_sides", "has_computed_keys", "keys_as_columns"]

#: The columns to add to a side, by name, as SQL that reads the side by its name.
Keys: TypeAlias = Mapping[str, str]

#: Functions, and nodes of other expressions, of which Spark knows that they are NULL if and only if one of their parts
#: is. It does not know that of ``trim`` and ``size``, and it is not true of IN and AND.
_STRICT = frozenset(
    {"length", "char_length", "character_length", "upper", "ucase", "startswith", "endswith", "contains", "abs"}
)
_STRICT_NODES = (
    *(exp.Literal, exp.Boolean, exp.Paren, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.Add, exp.Sub, exp.Mul),
)


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
    stays in the condition: Spark may compute a column for rows that the condition is never asked about. So does a key
    that may be NULL where no column that it reads is, or the other way round.

    >>> types = {"left.k": "INT", "right.k": "INT", "left.a": "STRING", "right.n": "INT"}
    >>> keys_as_columns("left.k = right.k AND (length(left.a) = right.n AND left.a <> 'b')", types)
    ({'__key0': 'length(left.a)'}, {}, "left.k = right.k AND `left`.__key0 = right.n AND left.a <> 'b'")
    """
    return _written(condition, tuple(types.items()))


@lru_cache(maxsize=256)
def _written(condition: str, types: tuple[tuple[str, str | None], ...]) -> tuple[Keys, Keys, str]:
    # The time zone of the flow does not matter: Spark's session has it, and nothing is translated for it here.
    columns: tuple[dict[str, str], dict[str, str]] = ({}, {})
    parts = []
    for part in Sql.of(condition).all_conjuncts():
        sides = equated_sides(part)
        if sides is None or all(map(_is_column, sides)) or not _can_be_columns(sides, part, dict(types)):
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
    return isinstance(bare(parse_plain(sql)), exp.Column)


def _can_be_columns(sides: tuple[str, str], equation: str, types: Mapping[str, str | None]) -> bool:
    """Whether Spark computes nothing that it would not compute otherwise if both sides of an equation are columns."""
    strict = all(_is_column(side) or _is_strict(parse_plain(side)) for side in sides)
    return strict and never_fails(equation, types)


def _is_strict(node: Tree) -> bool:
    """Whether Spark knows that a value is NULL if and only if one of the columns that it reads is."""
    match node:
        case exp.Column():
            # A field of a struct is NULL in rows in which the struct is not.
            return len(node.parts) == 2
        case exp.Anonymous():
            return node.name.lower() in _STRICT and all(map(_is_strict, node.expressions))
        case exp.Cast():
            return not isinstance(node, exp.TryCast) and _is_strict(node.this)
    return isinstance(node, _STRICT_NODES) and all(map(_is_strict, node.iter_expressions()))
