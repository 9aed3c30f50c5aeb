"""Pairs of rows whose strings are looked up when they are written: a string in many pairs is written once.

A join gives a pair for every two rows that match, with copies of the columns of both. Here, both sides are held in
tables instead, and the join gives the row numbers of both. A Parquet file can have the strings of a column once, in a
dictionary, with a number for each row. So the strings need not be copied for each pair.

The tables are Arrow's, which can be registered in several connections, so that pairs can be computed on several cores.
Sides that are too large for that are tables of DuckDB, which can move them to the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

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
    """A side of a join: its rows, the table that will hold them, and the relation that reads rows and numbers there."""

    rows: LocalRelation
    #: Its alias in the join, and the condition of the join.
    alias: str
    on: JoinCondition
    #: The column with the numbers of the rows, from 0 on.
    number: str
    table: str
    held: LocalRelation

    @classmethod
    def of(cls, rows: LocalRelation, alias: str, on: JoinCondition, number: str) -> Side:
        """Return the side with an alias in a join condition."""
        backend, table = rows.backend, rows.backend.fresh_name()
        columns = (*rows.columns, Column(number, "INT"))
        held = LocalRelation(backend, backend.fresh_name(), f"SELECT * FROM {table}", columns)
        return cls(rows, alias, on, number, table, held)

    def hold(self, until: ExitStack) -> pa.Table | None:
        """Hold the rows that pass what the condition asks of them alone; return the table if it is one of Arrow."""
        backend = self.rows.backend
        own = conditions_of(self.on.written, self.alias, self.rows.columns)
        body = f"SELECT * FROM {self.rows.name} AS {duckdb_name(self.alias)}" + (f" WHERE {own}" if own else "")
        rows = LocalRelation(backend, backend.fresh_name(), body, self.rows.columns, (self.rows,))
        # Columns that only DuckDB knows may have types that Arrow does not have.
        found = None if self.on.translated else fetched(rows)
        if found is not None:
            # In a query, numbers need not be in the order in which rows are fetched.
            found = found.append_column(self.number, _numbers(found.num_rows))
            until.callback(backend.release, self.table)
            backend.connection.register(self.table, found)
            return found
        until.callback(backend.drop, f"{self.table}_rows")
        backend.connection.execute(f"CREATE TEMP TABLE {self.table}_rows AS {rows.sql}")
        until.callback(backend.connection.execute, f"DROP VIEW IF EXISTS {self.table}")
        numbered = f"SELECT *, CAST(rowid AS INT) AS {duckdb_name(self.number)} FROM {self.table}_rows"
        backend.connection.execute(f"CREATE TEMP VIEW {self.table} AS {numbered}")
        return None


def _numbers(count: int) -> pa.Array:
    """Return the numbers from 0 on.

    >>> _numbers(3).to_pylist()
    [0, 1, 2]
    """
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int32()), count), start=pa.scalar(-1, pa.int32()))


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
        with ExitStack() as stack:
            held = {side.held.name: side.hold(stack) for side in self.sides}
            yield {name: table for name, table in held.items() if table is not None}


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
