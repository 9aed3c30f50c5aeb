"""Expressions moved from rows to packs of rows and back: columns become fields of a pack, fields become columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidegate.flow.expressions import Expression, is_parameter, render
from tidegate.flow.sql import Token, TokenType, exp, place, tokenize
from tidegate.flow.sqltypes import quoted

__all__ = ["conjuncts", "equated", "from_pack", "into_pack", "renamed"]


def into_pack(expression: Expression, pack: str, names: Collection[str]) -> Expression:
    """Answer an expression that reads some of its columns from a pack.

    >>> into_pack(Expression("y", "x + t", "INT", ("x", "t")), "pack", ["x"]).sql
    'pack.x + t'
    """
    return renamed(expression, {name: f"{quoted(pack)}.{quoted(name)}" for name in names}, reads=(pack,))


def renamed(expression: Expression, columns: Mapping[str, str], *, reads: tuple[str, ...] | None = None) -> Expression:
    """Answer an expression with columns replaced by other columns, or by SQL that ``reads`` some columns."""
    spelled = {
        place(column.parts[0])[0]: columns[column.parts[0].name]
        for column in expression.tree.find_all(exp.Column)
        if column.parts[0].name in columns and not is_parameter(column, column.parts[0].name)
    }
    names = [n for c in expression.columns for n in ((reads or (columns[c],)) if c in columns else (c,))]
    sql = render(expression.sql, tokenize(expression.sql), spelled)
    return replace(expression, sql=sql, columns=tuple(dict.fromkeys(names)))


def from_pack(expression: Expression, pack: str, fields: Mapping[str, Expression]) -> Expression | None:
    """Answer an expression with the fields of a pack replaced by what they are; None if it reads more of the pack.

    ``fields`` are by name in lower case.

    >>> x = Expression("x", "x", "INT", ("x",))
    >>> from_pack(Expression("y", "pack.x + t", "INT", ("pack", "t")), "pack", {"x": x}).sql
    'x + t'
    """
    tokens = tokenize(expression.sql)
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
        first = at[place(parts[0])[0]]
        alone = len(tokens) == 3 or isinstance(field.tree, exp.Column | exp.Literal)
        spelled[tokens[first].start] = field.sql if alone else f"({field.sql})"
        spelled |= {tokens[first + 1].start: "", tokens[first + 2].start: ""}
        read |= dict.fromkeys(field.columns)
    return replace(expression, sql=render(expression.sql, tokens, spelled), columns=tuple(read))


def conjuncts(sql: str) -> list[str]:
    """Answer the parts of a condition that all have to hold.

    >>> conjuncts("a = 1 AND (b OR c) AND d")
    ['a = 1', '(b OR c)', 'd']
    >>> conjuncts("a BETWEEN 1 AND 2")
    ['a BETWEEN 1 AND 2']
    """
    tokens = tokenize(sql)
    if any(token.token_type in _WHOLE for token in _outside(tokens)):
        return [sql]
    return [render(sql, part, {}) for part in _split(tokens, TokenType.AND)]


def equated(sql: str) -> tuple[str, str] | None:
    """Answer the two sides of an equation; None if a condition is none.

    >>> equated("length(a) = b + 1"), equated("a < b"), equated("NOT a = b"), equated("a OR b = c")
    (('length(a)', 'b + 1'), None, None, None)
    """
    tokens = tokenize(sql)
    sides = _split(tokens, TokenType.EQ)
    logical = (TokenType.NOT, TokenType.AND, TokenType.IS, TokenType.IN, TokenType.LIKE, *_COMPARE, *_WHOLE)
    if len(sides) != 2 or any(token.token_type in logical for token in _outside(tokens)):
        return None
    return render(sql, sides[0], {}), render(sql, sides[1], {})


# Where one of these stands, a condition does not fall apart into what stands beside it.
_WHOLE = (TokenType.OR, TokenType.XOR, TokenType.BETWEEN, TokenType.CASE, TokenType.ARROW)
_COMPARE = (TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE, TokenType.NEQ, TokenType.NULLSAFE_EQ)


def _outside(tokens: tuple[Token, ...]) -> list[Token]:
    """Answer the tokens that stand in no parenthesis."""
    depth, found = 0, []
    for token in tokens:
        depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)
        if depth == 0:
            found.append(token)
        depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET)
    return found


def _split(tokens: tuple[Token, ...], between: TokenType) -> list[tuple[Token, ...]]:
    cuts = {token.start for token in _outside(tokens) if token.token_type == between}
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.start in cuts:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts if part]
