"""The only module that calls the SQL parser: text to tokens and trees, and places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from sqlglot import TokenType, exp, parse_one
from sqlglot import tokenize as _tokenize
from sqlglot.errors import ParseError

__all__ = [
    "SqlToken",
    "TokenType",
    "Tree",
    "exp",
    "parse",
    "parse_query",
    "place",
    "place_of_error",
    "relations_of",
    "tokenize",
]

#: The class of all nodes of a parsed text.
Tree: TypeAlias = "exp.Expr"

#: An expression is parsed as part of a SELECT: on its own, a word such as ``comment`` or ``show`` begins a statement.
_PREFIX = "SELECT "


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A word or sign of a text: what it says, without quotes; its kind; and where it begins and ends in the text."""

    text: str
    kind: TokenType
    start: int
    end: int

    @property
    def word(self) -> str:
        """What it says, in small letters, since the case of words does not matter."""
        return self.text.lower()

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends, for messages that point at it."""
        return self.start, self.end


@lru_cache(maxsize=4096)
def tokenize(sql: str) -> tuple[SqlToken, ...]:
    """Return the tokens of a text. No two of them overlap, and comments are left out.

    >>> [(token.text, token.kind.name, token.span) for token in tokenize("`a b` + 1L -- one")]
    [('a b', 'IDENTIFIER', (0, 5)), ('+', 'PLUS', (6, 7)), ('1L', 'NUMBER', (8, 10))]
    """
    found: list[SqlToken] = []
    for token in _tokenize(sql, dialect="spark"):
        start, end = token.start, token.end + 1
        if found and start < found[-1].end:
            # The parser reads 1L as three tokens at one place: a number that is cast. Return it as one number.
            found[-1] = SqlToken(sql[start:end], found[-1].kind, start, end)
        else:
            found.append(SqlToken(token.text, token.token_type, start, end))
    return tuple(found)


@lru_cache(maxsize=4096)
def parse(sql: str) -> Tree:
    """Return the parsed form of an expression; it is shared, so copy it before changing it.

    >>> parse("comment + 1").sql("spark")
    'comment + 1'
    """
    select = parse_one(_PREFIX + sql, dialect="spark")
    others = [name for name, value in select.args.items() if value and name != "expressions"]
    if not isinstance(select, exp.Select) or others or len(select.expressions) != 1:
        end = len(_PREFIX) + len(sql)
        raise ParseError("not an expression", [{"line": 1, "col": end, "highlight": sql}])
    tree: Tree = select.expressions[0].copy()
    for node in tree.walk():
        for key in ("start", "end"):
            if key in node.meta:
                node.meta[key] -= len(_PREFIX)
    return tree


@lru_cache(maxsize=1024)
def parse_query(sql: str) -> Tree:
    """Return the parsed form of a whole query; it is shared, so copy it before changing it."""
    return parse_one(sql, dialect="spark")


def relations_of(query: Tree) -> list[exp.Table]:
    """Return the tables that a query reads, without those that it defines itself with WITH.

    >>> [table.name for table in relations_of(parse_query("WITH a AS (SELECT * FROM b) SELECT * FROM a, c"))]
    ['b', 'c']
    """
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    read = [table for table in query.find_all(exp.Table) if table.find_ancestor(exp.Hint) is None]
    found = [table for table in read if table.name.lower() not in own]
    return sorted(found, key=lambda table: place(table.this))


def place(node: Tree) -> tuple[int, int]:
    """Return where a parsed identifier begins and ends in its text."""
    start = node.meta.get("start", 0)
    return start, node.meta.get("end", start) + 1


def place_of_error(text: str, error: ParseError, *, before: int = len(_PREFIX)) -> tuple[int, int]:
    """Return where the word begins and ends at which the parser gave up; ``before`` characters were put ahead of it.

    >>> try:
    ...     parse("a + + (b")
    ... except ParseError as error:
    ...     print(place_of_error("a + + (b", error))
    (7, 8)
    """
    first = error.errors[0]
    lines = text.splitlines(keepends=True)
    end = sum(map(len, lines[: first["line"] - 1])) + first["col"] - (before if first["line"] == 1 else 0)
    end = max(0, min(end, len(text)))
    return max(0, end - len(first["highlight"] or "")), end
