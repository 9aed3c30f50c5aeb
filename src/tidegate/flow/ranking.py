"""What is ranked by which order: the arguments of `top`, `last` and `latest`, on streams and in windows.

>>> from tidegate.flow.schema import parse_schema
>>> schema = parse_schema("ts TIMESTAMP, page STRING, bytes INT", time=("ts",))
>>> ranking = top_by(3, "page", "bytes / 2 DESC, page NULLS LAST", schema)
>>> [e.sql for e in ranking.order], ranking.descending, ranking.nulls_first
(['bytes / 2', 'page'], (True, False), (False, False))
>>> [column.name for column in ranking.columns(schema)]
['page', 'bytes', 'rank']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tidegate.flow.aggregates import grouping
from tidegate.flow.arguments import names_of
from tidegate.flow.errors import BadArgument
from tidegate.flow.expressions import Expression, Parsed, bind
from tidegate.flow.parser import TokenType
from tidegate.flow.schema import Column, Schema, distinct_names
from tidegate.flow.sql import Sql

__all__ = ["Ranking", "last_by", "latest_by", "top_by"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The fields of an operator that chooses rows by their order."""

    by: tuple[Expression, ...]
    n: int
    order: tuple[Expression, ...] = ()
    descending: tuple[bool, ...] = ()
    nulls_first: tuple[bool, ...] = ()
    backwards: bool = False
    ranked: bool = True

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments that an operator is built with."""
        return {name: getattr(self, name) for name in self.__slots__}

    def columns(self, schema: Schema) -> tuple[Column, ...]:
        """Return the columns of the result besides time: groups, the other columns of a row, and the rank."""
        groups = tuple(Column(e.name, e.type) for e in self.by)
        own = {e.name for e in self.by if e.is_column}
        rest = tuple(column for column in schema.data if column.name not in own)
        rank = (Column("rank", "INT"),) if self.ranked else ()
        return distinct_names(
            (*groups, *rest, *rank),
            hint="give one of them another name before, with rename(…), or leave it out with drop(…)",
        )


def top_by(n: Any, by: Any, order: Any, schema: Schema) -> Ranking:
    """Check the arguments of `top`."""
    entries = [_sorted_by(part, schema) for text in names_of(order, "order") for part in _parts(text)]
    if not entries:
        raise BadArgument("expected order, by which rows are ranked, got nothing", hint='"price DESC"')
    expressions, descending, nulls_first = zip(*entries, strict=True)
    return Ranking(grouping(by, schema), _count(n), expressions, descending, nulls_first)


def last_by(n: Any, by: Any, schema: Schema) -> Ranking:
    """Check the arguments of `last`."""
    return Ranking(grouping(by, schema), _count(n), backwards=True)


def latest_by(by: Any, schema: Schema) -> Ranking:
    """Check the arguments of `latest`: the last one, without its rank."""
    return Ranking(grouping(by, schema), 1, backwards=True, ranked=False)


def _count(n: Any) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n < 2**31:
        raise BadArgument(f"expected n, the number of rows, to be an INT of at least 1, got {n!r}")
    return n


def _parts(text: Any) -> list[Any]:
    if not isinstance(text, str) or not text.strip():
        return [text]
    return list(Sql.of(text).split(TokenType.COMMA))


def _sorted_by(part: Any, schema: Schema) -> tuple[Expression, bool, bool]:
    """Return an entry of an order, whether it descends, and whether NULL comes first, as Spark has it."""
    descending, nulls = False, ""
    if isinstance(part, Sql):
        words = [token.word for token in part.tokens]
        if len(words) > 2 and words[-2] == "nulls" and words[-1] in ("first", "last"):
            nulls, part, words = words[-1], part[:-2], words[:-2]
        if len(words) > 1 and words[-1] in ("asc", "desc"):
            descending, part = words[-1] == "desc", part[:-1]
        part = str(part)
    expression = bind(part, schema, what="an entry of order")
    # One word too many would be read as an alias.
    if Parsed.of(part, "an entry of order").alias is not None or not expression.columns:
        raise BadArgument(
            f"expected columns in order, each with ASC or DESC and NULLS FIRST or LAST if wanted, got {part}",
            hint='"price DESC", "price DESC NULLS LAST"',
        )
    if re.search(r"\b(MAP|VARIANT)\b", expression.type or ""):
        raise BadArgument(f"expected columns in order that can be sorted, got {part} of type {expression.type}")
    return expression, descending, nulls == "first" if nulls else not descending
