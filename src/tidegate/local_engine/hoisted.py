"""Expressions in join conditions that read one table only: computed once for each row, not for each pair.

DuckDB itself computes such an expression before the join if it cannot fail. An expression that may fail has to wait for
the conditions before it, because it must not fail for a pair that they exclude. Here, these expressions are tried
before the join, for the rows that pass the conditions on that table alone. If all of them gave values for a pair, the
condition reads the values. Otherwise it is evaluated as it was written.

A condition that lists are close (`close`) compares their sums first. These are columns, too: DuckDB would compute them
again for each comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from tidegate.flow.agreed.compile import Refused, compiled, compiled_condition
from tidegate.flow.agreed.conditions import is_ranged
from tidegate.flow.agreed.values import Value, inlined, tried
from tidegate.flow.agreed.zones import not_utc
from tidegate.flow.parser import TokenType
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.expressions import levels, types_of_all
from tidegate.local_engine.relation import LocalRelation

__all__ = ["JoinCondition", "conditions_of", "hoisted"]


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """A join condition, as it was ``written`` and with hoisted columns.

    ``reading`` are its parts that read the hoisted ``columns``, and ``rest`` are its other parts. If it is
    ``translated`` already, it reads columns that only DuckDB knows. ``ranged`` is what `in_join` has to know.
    """

    written: str
    rest: str = ""
    reading: str = ""
    columns: tuple[str, ...] = ()
    translated: str = ""
    ranged: bool = False

    def sql(self, translated: Callable[[str], str]) -> str:
        """Return the condition in DuckDB's SQL; ``translated`` translates a condition from Spark's SQL."""
        if self.translated:
            return self.translated
        if not self.columns:
            return translated(self.written)
        known = " AND ".join(f"{column} IS NOT NULL" for column in self.columns)
        chosen = f"CASE WHEN {known} THEN {translated(self.reading)} ELSE {translated(self.written)} END"
        return f"({translated(self.rest)} AND {chosen})" if self.rest else chosen


@dataclass(frozen=True, slots=True)
class _Value:
    """A hoisted value: its table and column, and its expression in DuckDB's SQL.

    The column has no type if only DuckDB knows it.
    """

    table: str
    column: Column
    sql: str

    @property
    def text(self) -> str:
        """Return the column as a condition refers to it."""
        return f"{quoted(self.table)}.{quoted(self.column.name)}"

    @property
    def in_duckdb(self) -> str:
        """Return the column as DuckDB's SQL refers to it."""
        return f"{duckdb_name(self.table)}.{duckdb_name(self.column.name)}"


#: The columns of tables, by name.
_Shapes: TypeAlias = tuple[tuple[str, tuple[Column, ...]], ...]


def hoisted(
    tables: Mapping[str, LocalRelation], conditions: Sequence[str | None]
) -> tuple[dict[str, LocalRelation], list[JoinCondition]]:
    """Return tables with hoisted columns, and the conditions that read them."""
    shapes = tuple((name, rows.columns) for name, rows in tables.items())
    values: list[_Value] = []
    read: list[JoinCondition] = []
    for condition in conditions:
        on, more = _on(condition or "true", shapes, len(values), not_utc())
        read.append(on)
        values += more
    return {name: _with_values(name, rows, values) for name, rows in tables.items()}, read


def _with_values(name: str, rows: LocalRelation, values: Sequence[_Value]) -> LocalRelation:
    """Return a table with the hoisted values that read it, level by level."""
    own = [value for value in values if value.table == name]
    by_name = {value.column.name: value for value in own}
    for level in levels([(value.sql, value.column.name) for value in own]):
        picked = ", ".join(f"{sql} AS {duckdb_name(column)}" for column, sql in level.items())
        body = f"SELECT *, {picked} FROM {rows.name} AS {duckdb_name(name)}"
        typed = (found for column in level if (found := by_name[column].column).type is not None)
        columns = (*rows.columns, *typed)
        rows = LocalRelation(rows.backend, rows.backend.fresh_name(), body, columns, (rows,), base=rows.base)
    return rows


@lru_cache(maxsize=1024)
def _on(condition: str, tables: _Shapes, first: int, _not_utc: bool) -> tuple[JoinCondition, tuple[_Value, ...]]:
    """Return a condition whose calls that may fail are replaced by hoisted columns, and these columns.

    They are numbered from ``first`` on.

    >>> sides = ("l", (Column("a", "STRING"),)), ("r", (Column("b", "STRING"),))
    >>> on, _ = _on("l.a = r.b AND lower(l.a) <> lower(r.b)", sides, 0, False)
    >>> on.rest, on.reading
    ('l.a = r.b', 'l.__once0 <> r.__once1')
    """
    types = types_of_all({name: {c.name: c.type for c in own} for name, own in tables})
    whole = _compiled(condition, types, condition=True, of_pairs=True)
    ranged = whole is not None and is_ranged(equates=whole.equates, parts=whole.parts)
    written = JoinCondition(condition, ranged=ranged)
    # A parameter of a lambda may have the name of a table.
    if any(token.kind == TokenType.ARROW for token in Sql.of(condition).tokens):
        return _on_close(written, whole, tables, first) if whole is not None and whole.lets else (written, ())
    values: dict[str, _Value] = {}
    rest: list[str] = []
    reading: list[str] = []
    parts = Sql.of(condition).all_conjuncts()
    for part in parts:
        pieces = list(_calls(part, tables, parts, values, first))
        reads = Sql.of(part).substitute((call, value.text) for call, value in pieces)
        (reading if pieces else rest).append(reads)
    together = " AND ".join(reading)
    columns = {f"{name}.{c.name}": c.type for name, own in tables for c in own}
    columns |= {f"{value.table}.{value.column.name}": value.column.type for value in values.values()}
    # A part that may still fail has to wait for all parts before it, also for those that read hoisted columns.
    found = [_compiled(part, columns, condition=True) for part in (*rest, together)] if reading else [None]
    if any(part is None or part.fails for part in found):
        return written, ()
    own = tuple(values.values())
    stays = [part for part in found[:-1] if part is not None]
    ranged = is_ranged(equates=any(part.equates for part in stays), parts=sum(part.parts for part in stays) + 1)
    names = tuple(value.in_duckdb for value in own)
    return JoinCondition(condition, " AND ".join(rest), together, names, ranged=ranged), own


def _on_close(
    written: JoinCondition, found: Value, tables: _Shapes, first: int
) -> tuple[JoinCondition, tuple[_Value, ...]]:
    """Return a condition that compares the sums of lists first, and the sums; or the condition alone."""
    # Conditions of several joins may have the same names.
    names = {name: f"__once{first + i}" for i, (_, name) in enumerate(found.lets)}
    values: dict[str, _Value] = {}
    for sql, name in found.lets:
        text = inlined(sql, names)
        read = {value.table for before, value in values.items() if re.search(rf"\b{before}\b", text)}
        own = read or {table for table, _ in tables if f"{duckdb_name(table)}." in text}
        if len(own) != 1:
            return written, ()
        values[names[name]] = _Value(own.pop(), Column(names[name], None), text)
    return replace(written, translated=inlined(found.sql, names)), tuple(values.values())


def _calls(
    part: str, tables: _Shapes, parts: Sequence[str], values: dict[str, _Value], first: int
) -> Iterator[tuple[Sql, _Value]]:
    """Yield the outermost calls that may fail and read one table only; new ones are added to ``values``."""
    end = -1
    for call in Sql.of(part).calls():
        if call.sql.span[1] <= end:
            # It is inside of another call.
            continue
        text = str(call.sql)
        value = values.get(text) or _value(text, tables, parts, f"__once{first + len(values)}")
        if value is not None:
            values[text], end = value, call.sql.span[1]
            yield call.sql, value


def _value(text: str, tables: _Shapes, parts: Sequence[str], name: str) -> _Value | None:
    """Return a call as a hoisted value, if it may fail and reads the columns of one table only."""
    for table, columns in tables:
        types = {f"{table}.{column.name}": column.type for column in columns}
        found = _compiled(text, types)
        if found is None:
            continue
        if not found.fails or found.type is None or "VOID" in found.type or f'"{table}"' not in found.sql:
            return None
        needed, sql = _own_conditions(parts, types), tried(found.sql)
        return _Value(table, Column(name, found.type), f"CASE WHEN {needed} THEN {sql} END" if needed else sql)
    return None


def conditions_of(condition: str, table: str, columns: Sequence[Column]) -> str:
    """Return the parts of a condition that read one table only and can't fail, in DuckDB's SQL; or an empty text.

    >>> conditions_of("l.a > 2 AND l.a = r.a AND r.a < 9", "l", [Column("a", "INT")])
    '((CAST("l"."a" > CAST(2 AS INT) AS BOOLEAN)))'
    """
    return _own_conditions(
        Sql.of(condition).all_conjuncts(), {f"{table}.{column.name}": column.type for column in columns}
    )


def _own_conditions(parts: Sequence[str], types: Mapping[str, str | None]) -> str:
    found = (_compiled(part, types, condition=True) for part in parts)
    return " AND ".join(value.sql for value in found if value is not None and not value.fails)


def _compiled(
    text: str, types: Mapping[str, str | None], *, condition: bool = False, of_pairs: bool = False
) -> Value | None:
    """Return the translation of an expression over some columns; None if it reads others."""
    try:
        return (
            compiled_condition(text, types, engine=True, of_pairs=of_pairs)
            if condition
            else compiled(text, types, engine=True)
        )
    except Refused:
        return None
