"""The queries of a loop, in the form that engines need: unions of SELECTs from joined relations, or any query.

A `Branch` is one member of a union. It can be written as SQL with any table in the place of each relation. So engines
can join new facts with all rows, and new rows with all facts. The SQL can also give the time of each derived fact.

>>> branch = Branch(
...     outputs=(Expression("node", "`e`.dst", "INT"), Expression("label", "`k`.label", "INT")),
...     relations=(Relation("k", "known"), Relation("e", "input")),
...     joins=(Expression("", "`e`.src = `k`.node", "BOOLEAN"),),
... )
>>> print(branch.select({"k": "fresh", "e": "edges"}))
SELECT `e`.dst AS node, `k`.label AS label FROM fresh AS `k` JOIN edges AS `e` ON `e`.src = `k`.node
>>> branch.times(["version"])
('greatest(`k`.version, `e`.version) AS version',)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.flow import sqltypes
from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import AS_SQL, LEFT_OUT
from tidegate.flow.parser import TokenType, parse_query, place, relations_of
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql

__all__ = ["INPUT", "KNOWN", "Branch", "Query", "Relation", "members"]

#: What the stream that a loop is built on is called in its queries, and what the loop knows.
INPUT, KNOWN = "input", "known"


@dataclass(frozen=True, slots=True)
class Relation:
    """One occurrence of a relation in a FROM: ``name`` is ``input``, ``known`` or a key of ``also``.

    No two relations of a branch have the same ``alias``. A table of ``also`` is not ``timed``: its rows have no time
    columns, and hold from the beginning.
    """

    alias: str
    name: str
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Branch:
    """One member of a union: ``SELECT outputs FROM relations JOIN … ON joins WHERE where``; all joins are inner.

    ``outputs`` are the columns of a fact, in the order of `Query.columns` and under those names. Expressions read
    columns as ``alias.column``, never time columns. ``joins`` has a condition, or None for all pairs, for each relation
    but the first. At most one relation is ``known``.
    """

    outputs: tuple[Expression, ...]
    relations: tuple[Relation, ...]
    joins: tuple[Expression | None, ...] = ()
    where: Expression | None = None

    @property
    def known(self) -> str | None:
        """The alias of ``known``, or None: then the result of the branch depends on rows only, and not on the round."""
        return next((r.alias for r in self.relations if r.name == KNOWN), None)

    def select(self, tables: Mapping[str, str], *, extra: Sequence[str] = ()) -> str:
        """Return the branch as Spark SQL; ``tables`` says what to read for each *alias*, ``extra`` comes first."""
        outputs = [f"{e.sql} AS {sqltypes.quoted(e.name)}" for e in self.outputs]
        first, *others = (f"{tables[r.alias]} AS {sqltypes.ticked(r.alias)}" for r in self.relations)
        parts = [f"SELECT {', '.join([*extra, *outputs])} FROM {first}"]
        for table, condition in zip(others, self.joins, strict=True):
            parts.append(f"JOIN {table} ON {condition.sql}" if condition else f"CROSS JOIN {table}")
        if self.where:
            parts.append(f"WHERE {self.where.sql}")
        return " ".join(parts)

    def times(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return SQL for each time column of the facts that the branch derives, with its name."""
        found = zip(self.joined_times(columns), columns, strict=True)
        return tuple(f"{sql} AS {sqltypes.quoted(name)}" for sql, name in found)

    def joined_times(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return SQL for each time column of the facts that the branch derives: the greatest of the rows' times.

        On several time columns this is the least time at or above all rows. A fact that follows from tables alone has
        NULL as its time, and holds from the beginning. ``greatest`` ignores NULL, so such facts need no special case.
        """
        timed = [r.alias for r in self.relations if r.timed]
        found = []
        for name in map(sqltypes.quoted, columns):
            each = [f"{sqltypes.ticked(alias)}.{name}" for alias in timed]
            found.append(f"greatest({', '.join(each)})" if len(each) > 1 else (each or ["NULL"])[0])
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Query:
    """The query ``start`` or ``step`` of a loop, which gives facts.

    ``columns`` are those of a fact: the key, then what ``keep`` reads. ``branches`` are the members of its union;
    together they give the same rows as ``sql``. With ``rounds`` a query may have any form. If it is not a union of
    SELECTs from joins, ``branches`` is empty, and there is only ``sql``. ``relations`` are the names of the relations
    that it reads.
    """

    sql: str = field(metadata=AS_SQL)
    columns: tuple[Column, ...] = field(metadata=LEFT_OUT)
    branches: tuple[Branch, ...] = field(metadata=LEFT_OUT)
    relations: tuple[str, ...] = field(metadata=LEFT_OUT)

    def __str__(self) -> str:
        return self.sql

    def select(self, tables: Mapping[str, str]) -> str:
        """Return the query as Spark SQL; ``tables`` names what to read for each *relation*, without time columns.

        >>> query = Query("SELECT dst AS node FROM input", (Column("node", "INT"),), (), ("input",))
        >>> query.select({"input": "edges_at_3"})
        'SELECT dst AS node FROM edges_at_3 AS input'
        """
        spelled = {}
        for table in relations_of(parse_query(self.sql)):
            name = table.name.lower()
            alias = "" if table.alias else f" AS {sqltypes.quoted(name)}"
            spelled[place(table.this)[0]] = f"{tables[name]}{alias}"
        return Sql.of(self.sql).render(spelled)

    def hoisted(self) -> tuple[dict[str, Query], Query]:
        """Return the queries that it defines with WITH and that do not read ``known``; and the query without them.

        They give the same rows in every round of a version, so an engine need run them only once. Each may read
        those before it, under their names, and so may the rest of the query.

        >>> degree = "SELECT src, count(*) AS n FROM input GROUP BY src"
        >>> query = Query(f"WITH d AS ({degree}) SELECT k.node FROM known k JOIN d ON d.src = k.node", (), (), ())
        >>> found, rest = query.hoisted()
        >>> print(found["d"])
        SELECT src, count(*) AS n FROM input GROUP BY src
        >>> print(rest)
        SELECT k.node FROM known k JOIN d ON d.src = k.node
        """
        sql = Sql.of(self.sql)
        found: dict[str, Query] = {}
        kept: list[str] = []
        of_round = {KNOWN}
        end = 0
        for name, begin, opening, end in _definitions(sql):
            query = _query(str(sql[opening + 1 : end]))
            # A definition that names its columns is left where it is: the names would have to move with it.
            if opening == begin + 2 and of_round.isdisjoint(query.relations):
                found[name] = query
            else:
                of_round.add(name)
                kept.append(str(sql[begin : end + 1]))
        if not found:
            return {}, self
        first = f"WITH {', '.join(kept)} " if kept else ""
        return found, replace(_query(f"{first}{sql[end + 1 :]}"), columns=self.columns)


def _query(sql: str) -> Query:
    names = dict.fromkeys(table.name.lower() for table in relations_of(parse_query(sql)))
    return Query(sql, (), (), tuple(names))


def members(sql: Sql) -> list[Sql]:
    """Return the members of the union that a query is; one member, if it is not a union.

    >>> [str(member) for member in members(Sql.of("SELECT 'UNION ALL' AS a FROM b union all SELECT c FROM d"))]
    ["SELECT 'UNION ALL' AS a FROM b", 'SELECT c FROM d']
    """
    first, *others = sql.split(TokenType.UNION)
    return [
        first,
        *(other[1:] if other.tokens[0].kind in (TokenType.ALL, TokenType.DISTINCT) else other for other in others),
    ]


def _definitions(sql: Sql) -> Iterator[tuple[str, int, int, int]]:
    """Return each query in the WITH of a query: its name, at which token that stands, and those of its parentheses."""
    tokens = sql.tokens
    if tokens[0].kind != TokenType.WITH or tokens[1].kind == TokenType.RECURSIVE:
        return
    begin = 1
    while True:
        opening = next(i for i in range(begin, len(tokens)) if tokens[i - 1].kind == TokenType.ALIAS)
        end = sql.closing(opening)
        yield tokens[begin].word, begin, opening, end
        if tokens[end + 1].kind != TokenType.COMMA:
            return
        begin = end + 2
