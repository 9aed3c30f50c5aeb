"""The door to the SQL parser: text to tokens and trees, and places in the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from sqlglot import TokenType, exp, parse_one
from sqlglot import tokenize as _tokenize
from sqlglot.errors import ParseError

__all__ = [
    "Token",
    "TokenType",
    "Tree",
    "closing",
    "exp",
    "normal",
    "parse",
    "parse_query",
    "place",
    "place_of_error",
    "relations_of",
    "span",
    "tokenize",
]

#: A node of a parsed text. The parser's versions differ in the name of the class that all nodes have in common.
Tree: TypeAlias = Any
#: A word or sign of a text, with ``text``, ``start``, ``end`` (of its last character) and ``token_type``.
Token: TypeAlias = Any


#: An expression is parsed as what is selected: on its own, words such as ``comment`` or ``show`` begin a statement.
_PREFIX = "SELECT "


@lru_cache(maxsize=4096)
def parse(sql: str) -> Tree:
    """Answer the parsed form of an expression; it is shared, so copy it before changing it.

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
    """Answer the parsed form of a whole query; it is shared, so copy it before changing it."""
    return parse_one(sql, dialect="spark")


def relations_of(query: Tree) -> list[Tree]:
    """Answer the tables that a query reads, without those that it defines itself with WITH.

    >>> [table.name for table in relations_of(parse_query("WITH a AS (SELECT * FROM b) SELECT * FROM a, c"))]
    ['b', 'c']
    """
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    read = [table for table in query.find_all(exp.Table) if table.find_ancestor(exp.Hint) is None]
    found = [table for table in read if table.name.lower() not in own]
    return sorted(found, key=lambda table: place(table.this))


@lru_cache(maxsize=4096)
def tokenize(sql: str) -> tuple[Token, ...]:
    """Answer the tokens of a text."""
    return tuple(_tokenize(sql, dialect="spark"))


def normal(sql: str) -> str:
    """Answer a text with its words in small letters, but for what is quoted: their case means nothing.

    >>> normal("SUM(Bytes) FILTER (WHERE kind = 'WM') + `A b`")
    "sum(bytes) filter (where kind = 'WM') + `A b`"
    """
    letters = list(sql)
    for token in tokenize(sql):
        if token.token_type != TokenType.IDENTIFIER and "STRING" not in token.token_type.name:
            start, end = span(token)
            letters[start:end] = sql[start:end].lower()
    return "".join(letters)


def closing(tokens: tuple[Token, ...], opening: int) -> int:
    """Answer which token closes the parenthesis that one opens.

    >>> closing(tokenize("f(a, (b)) + c"), 1)
    7
    """
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[i].token_type, 0)
        if depth == 0:
            return i
    raise AssertionError("what parses has matching parentheses")


def span(token: Token) -> tuple[int, int]:
    """Answer where a token begins and ends in its text.

    >>> [span(token) for token in tokenize("a + bc")]
    [(0, 1), (2, 3), (4, 6)]
    """
    return token.start, token.end + 1


def place(node: Tree) -> tuple[int, int]:
    """Answer where a parsed identifier begins and ends in its text."""
    start = node.meta.get("start", 0)
    return start, node.meta.get("end", start) + 1


def place_of_error(text: str, error: ParseError, *, before: int = len(_PREFIX)) -> tuple[int, int]:
    """Answer where the word begins and ends at which the parser gave up; ``before`` it read so many characters more.

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
