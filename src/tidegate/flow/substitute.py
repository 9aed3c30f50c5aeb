"""Expressions moved from rows to packs of rows and back: columns become fields of a pack, fields become columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidegate.flow.expressions import Expression, is_parameter
from tidegate.flow.parser import exp, place
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted

__all__ = ["from_pack", "into_pack", "renamed"]


def into_pack(expression: Expression, pack: str, names: Collection[str]) -> Expression:
    """Return an expression that reads some of its columns from a pack.

    >>> into_pack(Expression("y", "x + t", "INT", ("x", "t")), "pack", ["x"]).sql
    'pack.x + t'
    """
    return renamed(expression, {name: f"{quoted(pack)}.{quoted(name)}" for name in names}, reads=(pack,))


def renamed(expression: Expression, columns: Mapping[str, str], *, reads: tuple[str, ...] | None = None) -> Expression:
    """Return an expression with columns replaced by other columns, or by SQL that ``reads`` some columns."""
    spelled = {
        place(column.parts[0])[0]: columns[column.parts[0].name]
        for column in expression.tree.find_all(exp.Column)
        if column.parts[0].name in columns and not is_parameter(column, column.parts[0].name)
    }
    names = [n for c in expression.columns for n in ((reads or (columns[c],)) if c in columns else (c,))]
    sql = Sql.of(expression.sql).render(spelled)
    return replace(expression, sql=sql, columns=tuple(dict.fromkeys(names)))


def from_pack(expression: Expression, pack: str, fields: Mapping[str, Expression]) -> Expression | None:
    """Return an expression with the fields of a pack replaced by what they are; None if that can't be done.

    It can't if the expression reads more of the pack, or reads a field inside of a lambda whose parameter has the name
    of what would replace it.

    ``fields`` are by name in lower case.

    >>> x = Expression("x", "x", "INT", ("x",))
    >>> from_pack(Expression("y", "pack.x + t", "INT", ("pack", "t")), "pack", {"x": x}).sql
    'x + t'
    >>> from_pack(Expression("y", "exists(ys, x -> x > pack.x)", "BOOLEAN", ("ys", "pack")), "pack", {"x": x})
    """
    sql = Sql.of(expression.sql)
    tokens = sql.tokens
    at = {token.start: i for i, token in enumerate(tokens)}
    spelled: dict[int, str] = {}
    read = dict.fromkeys(name for name in expression.columns if name != pack and not name.startswith(f"{pack}."))
    for column in expression.tree.find_all(exp.Column):
        parts = column.parts
        if parts[0].name != pack or is_parameter(column, pack):
            continue
        field = fields.get(parts[1].name.lower()) if len(parts) > 1 else None
        if field is None:
            return None
        if any(is_parameter(column, own.parts[0].name) for own in field.tree.find_all(exp.Column)):
            # A lambda around it would take the column for its parameter.
            return None
        first = at[place(parts[0])[0]]
        alone = len(tokens) == 3 or isinstance(field.tree, exp.Column | exp.Literal)
        spelled[tokens[first].start] = field.sql if alone else f"({field.sql})"
        spelled |= {tokens[first + 1].start: "", tokens[first + 2].start: ""}
        read |= dict.fromkeys(field.columns)
    return replace(expression, sql=sql.render(spelled), columns=tuple(read))
