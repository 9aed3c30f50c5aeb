"""Pairs of rows whose strings are looked up when they are written: a string in many pairs is written once.

A join gives a pair for every two rows that match, with copies of the columns of both. Here, both sides are held in
tables instead, and the join gives the row numbers of both. A Parquet file can have the strings of a column once, in a
dictionary, with a number for each row. So the strings need not be copied for each pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.hoisted import JoinCondition, conditions_of
from tidegate.local_engine.relation import LocalRelation

__all__ = ["ColumnOrigin", "LookupPairs", "Side", "lookup_pairs"]

#: Types of columns that are looked up when rows are written.
_TEXTS = ("STRING", "BINARY")


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a join: its rows, and the table that will hold them, in which they have row numbers."""

    rows: LocalRelation
    #: Its alias in the join, and the condition of the join.
    alias: str
    on: str
    table: str
    #: The column of the pairs with the row number of this side.
    number: str

    @property
    def query(self) -> str:
        """Return the query for the rows that pass the conditions on this side alone."""
        own = conditions_of(self.on, self.alias, self.rows.columns)
        rows = f"SELECT * FROM ({self.rows.sql}) AS {duckdb_name(self.alias)}"
        return f"{rows} WHERE {own}" if own else rows

    @property
    def held_rows(self) -> LocalRelation:
        """Return the rows of the table, with their numbers."""
        backend = self.rows.backend
        body = f"SELECT *, rowid AS {duckdb_name(self.number)} FROM {self.table}"
        columns = (*self.rows.columns, Column(self.number, "BIGINT"))
        return LocalRelation(backend, backend.fresh_name(), body, columns)


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """Where the values of a column come from: the side of the join, and the column there."""

    side: int
    column: str


@dataclass(frozen=True, slots=True)
class LookupPairs:
    """Pairs of rows as row numbers of both sides, and where the columns that are looked up come from."""

    pairs: LocalRelation
    sides: tuple[Side, ...]
    columns: Mapping[str, ColumnOrigin]

    def select(self, columns: Mapping[str, str]) -> LookupPairs | None:
        """Return these columns only; None if one is computed from a column that is to be looked up."""
        kept = {name: self.columns[sql.strip("`")] for name, sql in columns.items() if sql.strip("`") in self.columns}
        others = {name: sql for name, sql in columns.items() if name not in kept}
        try:
            pairs = self.pairs.select(others | {side.number: quoted(side.number) for side in self.sides})
        except NotSupported:
            return None
        return replace(self, pairs=pairs, columns=kept)

    def where(self, condition: str) -> LookupPairs | None:
        """Return the pairs that satisfy a condition; None if it reads a column that is to be looked up."""
        try:
            return replace(self, pairs=self.pairs.where(condition))
        except NotSupported:
            return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold both sides in their tables, until the context ends."""
        backend = self.pairs.backend
        try:
            for side in self.sides:
                backend.connection.execute(f"CREATE TEMP TABLE {side.table} AS {side.query}")
            yield
        finally:
            for side in self.sides:
                backend.drop(side.table)


def lookup_pairs(
    tables: Mapping[str, LocalRelation],
    on: JoinCondition,
    condition: str,
    columns: Mapping[str, str],
    picked: Mapping[str, tuple[str, str]],
) -> LookupPairs | None:
    """Return the pairs of an inner join of two tables; None if no column can be looked up when rows are written.

    ``condition`` is the join condition in DuckDB's SQL, and ``picked`` says which side and column each column is.
    """
    found: dict[str, ColumnOrigin] = {}
    for i, (alias, rows) in enumerate(tables.items()):
        texts = {f"{as_}.{quoted(c.name)}": c.name for c in rows.columns if c.type in _TEXTS for as_ in _written(alias)}
        found |= {name: ColumnOrigin(i, texts[sql]) for name, sql in columns.items() if sql in texts}
    if not found:
        return None
    backend = next(iter(tables.values())).backend
    sides = tuple(
        Side(rows, alias, on.written, backend.fresh_name(), f"__row{i}")
        for i, (alias, rows) in enumerate(tables.items())
    )
    others = {name: value for name, value in picked.items() if name not in found}
    held = tuple(side.held_rows for side in sides)
    values = [f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in others.items()]
    values += [f"{duckdb_name(side.alias)}.{duckdb_name(side.number)}" for side in sides]
    left, right = (f"{rows.name} AS {duckdb_name(side.alias)}" for rows, side in zip(held, sides, strict=True))
    body = f"SELECT {', '.join(values)} FROM {left} JOIN {right} ON {condition}"
    shape = [Column(name, type_) for name, (_, type_) in others.items()]
    shape += [Column(side.number, "BIGINT") for side in sides]
    pairs = LocalRelation(backend, backend.fresh_name(), body, tuple(shape), held, base=held[0].name)
    return LookupPairs(pairs, sides, found)


def _written(alias: str) -> set[str]:
    """Return the ways in which the name of a table can be written."""
    return {quoted(alias), f"`{alias}`"}
