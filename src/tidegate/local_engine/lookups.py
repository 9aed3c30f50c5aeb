"""Pairs of rows whose strings are looked up when they are written: a string in many pairs is written once.

A join gives a pair for every two rows that match, with copies of the columns of both. Here, both sides are held in
tables instead, and the join gives the row numbers of both. A Parquet file can have the strings of a column once, in a
dictionary, with a number for each row. So the strings need not be copied for each pair.

The tables are Arrow's, which all connections can read, so that pairs can be computed on several cores. Sides that are
too large for that are tables of DuckDB, which can move them to the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.divided import fetched
from tidegate.local_engine.hoisted import JoinCondition, conditions_of
from tidegate.local_engine.relation import LocalRelation

__all__ = ["ColumnOrigin", "LookupPairs", "Side", "lookup_pairs"]

#: Types of columns that are looked up when rows are written.
_TEXTS = ("STRING", "BINARY")


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a join: its rows with their numbers, the table that holds them, and the relation that reads it."""

    rows: LocalRelation
    #: The column with the numbers, from 0 on.
    number: str
    table: str
    held: LocalRelation
    #: Whether the table may be Arrow's.
    in_arrow: bool

    @classmethod
    def of(cls, rows: LocalRelation, alias: str, on: JoinCondition, number: str) -> Side:
        """Return the side with an alias in a join condition: the rows that pass what it asks of them alone."""
        backend, table = rows.backend, rows.backend.fresh_name()
        columns = (*rows.columns, Column(number, "INT"))
        own = conditions_of(on.written, alias, rows.columns)
        counted = f"CAST(row_number() OVER () - 1 AS INT) AS {duckdb_name(number)}"
        body = f"SELECT *, {counted} FROM {rows.name} AS {duckdb_name(alias)}"
        body += f" WHERE {own}" if own else ""
        return cls(
            LocalRelation(backend, backend.fresh_name(), body, columns, (rows,)),
            number,
            table,
            LocalRelation(backend, backend.fresh_name(), f"SELECT * FROM {table}", columns),
            # Columns that only DuckDB knows may have types that Arrow does not have.
            in_arrow=not on.translated,
        )


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
    def held(self) -> Iterator[Mapping[str, pa.Table]]:
        """Hold both sides in their tables, until the context ends; yield those that are Arrow's, by the relation."""
        backend = self.pairs.backend
        held: dict[str, pa.Table] = {}
        try:
            for side in self.sides:
                if side.in_arrow and (table := fetched(side.rows)) is not None:
                    backend.connection.register(side.table, table)
                    held[side.held.name] = table
                else:
                    backend.connection.execute(f"CREATE TEMP TABLE {side.table} AS {side.rows.sql}")
            yield held
        finally:
            for side in self.sides:
                if side.held.name in held:
                    backend.release(side.table)
                else:
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
    sides = tuple(Side.of(rows, alias, on, f"__row{i}") for i, (alias, rows) in enumerate(tables.items()))
    others = {name: value for name, value in picked.items() if name not in found}
    values = [f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in others.items()]
    values += [f"{duckdb_name(alias)}.{duckdb_name(side.number)}" for alias, side in zip(tables, sides, strict=True)]
    left, right = (f"{side.held.name} AS {duckdb_name(alias)}" for alias, side in zip(tables, sides, strict=True))
    body = f"SELECT {', '.join(values)} FROM {left} JOIN {right} ON {condition}"
    shape = [Column(name, type_) for name, (_, type_) in others.items()]
    shape += [Column(side.number, "INT") for side in sides]
    held = tuple(side.held for side in sides)
    pairs = LocalRelation(backend, backend.fresh_name(), body, tuple(shape), held, base=held[0].name)
    return LookupPairs(pairs, sides, found)


def _written(alias: str) -> set[str]:
    """Return the ways in which the name of a table can be written."""
    return {quoted(alias), f"`{alias}`"}
