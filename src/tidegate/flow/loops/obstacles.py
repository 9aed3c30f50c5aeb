"""Why a query is not a union of SELECTs from joins: what it has too much, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.loops.query import KNOWN
from tidegate.flow.parser import TokenType, Tree, exp, place
from tidegate.flow.sql import Sql

__all__ = ["members_of", "obstacles", "tables_of"]

#: What it is in words, a hint, and where it begins and ends in the text.
Obstacle: TypeAlias = tuple[str, str, tuple[int, int]]

_CLAUSES = {
    TokenType.GROUP_BY: "GROUP BY",
    TokenType.HAVING: "HAVING",
    TokenType.ORDER_BY: "ORDER BY",
    TokenType.LIMIT: "LIMIT",
    TokenType.OFFSET: "OFFSET",
    TokenType.WITH: "WITH",
    TokenType.LATERAL: "LATERAL VIEW",
    TokenType.QUALIFY: "QUALIFY",
    TokenType.EXCEPT: "EXCEPT",
    TokenType.INTERSECT: "INTERSECT",
    TokenType.TABLE_SAMPLE: "TABLESAMPLE",
    TokenType.PIVOT: "PIVOT",
    TokenType.UNPIVOT: "UNPIVOT",
    TokenType.USING: "USING",
    TokenType.NATURAL: "NATURAL JOIN",
    TokenType.SEMI: "a SEMI JOIN",
    TokenType.ANTI: "an ANTI JOIN",
    TokenType.OVER: "OVER",
}
_OUTER = (TokenType.LEFT, TokenType.RIGHT, TokenType.FULL)
_HINTS = {
    TokenType.USING: "write the condition with ON",
    TokenType.NATURAL: "write JOIN … ON …",
    TokenType.SEMI: "an inner JOIN gives the same facts: those found twice are kept once",
}
#: The parts of a SELECT that a branch has.
_PARTS = ("expressions", "from_", "from", "joins", "where")


def obstacles(tree: Tree, sql: Sql, *, any_form: bool) -> Iterator[Obstacle]:
    """Return all obstacles in a query. With ``any_form`` it need not be a union of SELECTs, and there are fewer."""
    tokens = sql.tokens
    for i, (token, around) in enumerate(zip(tokens, sql.around(), strict=True)):
        kind, where = token.kind, token.span
        after = tokens[i + 1].kind if i + 1 < len(tokens) else None
        before = tokens[i - 1].kind if i else None
        if sql.is_call(i) and token.word in AGGREGATE_FUNCTIONS:
            yield f"the aggregate {token.text}", "", where
        elif kind == TokenType.SELECT and around:
            yield (
                "a query inside of it",
                "write it as a join, without parentheses; or give the number of rounds with rounds=…",
                where,
            )
        elif kind == TokenType.DISTINCT and before == TokenType.SELECT:
            yield "DISTINCT", "leave it out: keep makes one fact of several", where
        elif kind in _OUTER and after in (TokenType.JOIN, TokenType.OUTER):
            yield f"a {token.text.upper()} JOIN", "", where
        elif kind in _CLAUSES and before != TokenType.DOT:
            yield _CLAUSES[kind], _HINTS.get(kind, ""), where
        elif kind == TokenType.UNION and any_form and after != TokenType.ALL:
            yield "UNION", "write UNION ALL", where
    for node in members_of(tree):
        others = [name for name, value in node.args.items() if value and name not in _PARTS]
        tables = tables_of(node)
        if others or not tables or not all(map(_is_plain, tables)):
            yield f"a SELECT with {others[0] if others else 'no FROM of relations'}", "", sql.span
        known = [table for table in tables if table.name.lower() == KNOWN]
        if len(known) > 1 and not any_form:
            hint = "a branch may read it once: keep what is needed in one fact, or join the answer of an earlier loop"
            yield "known twice in a branch", hint, place(known[1].this)


def tables_of(select: Tree) -> list[Tree]:
    """Return the tables in the FROM of a SELECT."""
    first = select.args.get("from_") or select.args.get("from")
    return [part.this for part in [first, *(select.args.get("joins") or ())] if part is not None]


def _is_plain(table: Tree) -> bool:
    """Whether it is only the name of a relation, with or without an alias."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    alias = table.args.get("alias")
    more = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
    return not more and not (alias is not None and alias.args.get("columns"))


def members_of(tree: Tree) -> Iterator[Tree]:
    """Return the members of a union, from the left."""
    if isinstance(tree, exp.SetOperation):
        yield from members_of(tree.this)
        yield from members_of(tree.expression)
    else:
        yield tree
