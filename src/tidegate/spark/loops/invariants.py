"""Parts of a loop's query that are the same in every round: queries of its WITH that do not lead back to ``known``.

>>> sql = "WITH n AS (SELECT count(*) AS c FROM input), k AS (SELECT * FROM known) SELECT c FROM n, k"
>>> for part in parts_of(sql):
...     print(part.name, part.body, part.reads(KNOWN))
n SELECT count(*) AS c FROM input False
k SELECT * FROM known True
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.flow.loops.query import KNOWN, Query
from tidegate.flow.sql import Token, TokenType, parse_query, relations_of, tokenize

__all__ = ["Invariant", "hoisted", "parts_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One query of a WITH: its name, and where it stands in the text, without its parentheses."""

    name: str
    body: str
    start: int
    end: int

    def reads(self, *names: str) -> bool:
        """Answer whether it could read one of these: whether the word occurs."""
        return any(token.text.lower() in names for token in tokenize(self.body))


@dataclass(frozen=True, slots=True)
class Invariant:
    """A query to ask once: its answer is what later queries read under ``name``."""

    name: str
    query: Query


def hoisted(query: Query) -> tuple[list[Invariant], Query]:
    """Answer what to ask once, in order, and the query that is left to ask in every round."""
    parts = parts_of(query.sql)
    varying = {KNOWN}
    fixed: list[tuple[Part, str]] = []
    found: list[Invariant] = []
    for part in parts:
        if part.reads(*varying):
            varying.add(part.name)
            continue
        name = f"invariant_{len(fixed)}"
        before = ", ".join(f"{p.name} AS (SELECT * FROM {n})" for p, n in fixed)
        found.append(Invariant(name, _query(f"WITH {before} {part.body}" if before else part.body, query)))
        fixed.append((part, name))
    rest = query.sql
    for part, name in reversed(fixed):
        rest = f"{rest[: part.start]}SELECT * FROM {name}{rest[part.end :]}"
    return found, _query(rest, query)


def parts_of(sql: str) -> list[Part]:
    """Answer the queries of a WITH at the beginning of a query; none if there is none, or if it is recursive."""
    tokens = tokenize(sql)
    found: list[Part] = []
    if not tokens or tokens[0].token_type != TokenType.WITH or tokens[1].token_type == TokenType.RECURSIVE:
        return found
    at = 1
    while True:
        name = tokens[at]
        # Columns may be named after the name: their parenthesis ends before AS.
        open_ = next(i for i in range(at, len(tokens)) if tokens[i - 1].token_type == TokenType.ALIAS)
        close = _closing(tokens, open_)
        start, end = tokens[open_].end + 1, tokens[close].start
        found.append(Part(name.text.lower(), sql[start:end].strip(), start, end))
        if tokens[close + 1].token_type != TokenType.COMMA:
            return found
        at = close + 2


def _closing(tokens: tuple[Token, ...], open_: int) -> int:
    depth = 0
    for i in range(open_, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[i].token_type, 0)
        if depth == 0:
            return i
    raise ValueError("a parenthesis is not closed")


def _query(sql: str, like: Query) -> Query:
    return replace(like, sql=sql, relations=tuple({t.name.lower() for t in relations_of(parse_query(sql))}))
