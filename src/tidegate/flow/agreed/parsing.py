r"""Parses Spark SQL to a tree of just what was written: no function is replaced by another, no cast by a TRY_CAST.

>>> parse_plain("nvl(a, 1)").name, text_of("'it\\'s'")
('nvl', "it's")
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Any, ClassVar

from sqlglot import parse_one
from sqlglot.dialects.spark import Spark

from tidegate.flow.parser import Tree, exp

__all__ = ["PREFIX", "parse_plain", "parse_plain_query", "plain_name", "span_of", "text_of"]

#: Put before an expression, so that none of its words is read as the beginning of a statement.
PREFIX = "SELECT "


class _Plain(Spark):
    """Spark's SQL with every function as a plain name and its arguments, so that the parser rewrites none."""

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: read for name, read in Spark.Parser.FUNCTION_PARSERS.items() if name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        # A CAST that fails is an error; only TRY_CAST gives NULL then.
        STRICT_CAST = True


@lru_cache(maxsize=4096)
def parse_plain(sql: str) -> Tree:
    """Return an expression as a tree; it is shared, so copy it before changing it."""
    tree: Tree = parse_one(PREFIX + sql, dialect=_Plain)
    found: Tree = tree.expressions[0]
    return found


def plain_name(node: Tree) -> str:
    """Return the name if a node is a plain name, such as a parameter of a lambda; otherwise an empty text.

    >>> plain_name(parse_plain("X")), plain_name(parse_plain("l.x"))
    ('x', '')
    """
    plain = isinstance(node, exp.Identifier) or (isinstance(node, exp.Column) and len(node.parts) == 1)
    return str(node.name).lower() if plain else ""


@lru_cache(maxsize=1024)
def parse_plain_query(sql: str) -> Tree:
    """Return a whole query as a tree; it is shared, so copy it before changing it."""
    return parse_one(sql, dialect=_Plain)


def span_of(node: Tree) -> tuple[int, int] | None:
    """Return where a node begins and ends in the parsed text; or the node around it, if its own place is not known.

    Return None if no place is known at all.
    """
    known = [inner.meta for inner in node.walk() if "start" in inner.meta]
    if not known:
        return None if node.parent is None else span_of(node.parent)
    return min(meta["start"] for meta in known), max(meta["end"] for meta in known) + 1


_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([0-3][0-7]{2})|\\(.)|(''|\"\")", re.DOTALL)


def text_of(written: str) -> str:
    r"""Return the text that a string literal of Spark SQL stands for.

    >>> text_of(r"'a\\d\n'") == "a\\d\n", text_of("r'a\\d'"), text_of(r"'\ud83d\ude00 \ud83d'")
    (True, 'a\\d', '😀 ?')
    """
    if written[:1] in "rR":
        return written[2:-1]

    def read(found: re.Match[str]) -> str:
        if code := found[1] or found[2]:
            return chr(int(code, 16)) if int(code, 16) <= sys.maxunicode else "??"
        if found[3]:
            return chr(int(found[3], 8))
        if doubled := found[5]:
            # A doubled quote is one quote only if it is the kind of quote around the literal.
            return doubled[0] if doubled[0] == written[0] else doubled
        return _ESCAPES.get(found[4], found[4])

    # Join the two surrogates of a character; a single one becomes a question mark, as in Spark.
    whole = _ESCAPED.sub(read, written[1:-1]).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return re.sub("[\ud800-\udfff]", "?", whole)
