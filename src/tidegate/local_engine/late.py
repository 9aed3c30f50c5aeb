"""Pairs of rows whose texts are looked up when they are written: a text that is in many pairs is written once.

A join gives a pair for every two rows that match, with copies of what both have. Instead, both sides are held in
tables, and the join gives the numbers of two rows in them. A Parquet file has the texts of a column once, and numbers
for them, so that nothing else has to be found of a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.hoisted import On, conditions_of
from tidegate.local_engine.relation import LocalRelation

__all__ = ["Late", "Place", "Side", "late_pairs"]

#: Types of columns that are worth it.
_TEXTS = ("STRING", "BINARY")


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a join: its rows, and the table that is to hold them, in which they have numbers."""

    rows: LocalRelation
    #: What the join calls it, and its condition.
    alias: str
    on: str
    table: str
    #: The column of pairs that has the number of the row.
    number: str

    @property
    def query(self) -> str:
        """Return the rows that the condition does not rule out by themselves."""
        own = conditions_of(self.on, self.alias, self.rows.columns)
        rows = f"SELECT * FROM ({self.rows.sql}) AS {duckdb_name(self.alias)}"
        return f"{rows} WHERE {own}" if own else rows


@dataclass(frozen=True, slots=True)
class Place:
    """Where the values of a column are: the side of the join, and the column there."""

    side: int
    column: str


@dataclass(frozen=True, slots=True)
class Late:
    """Pairs of rows with the numbers of both in the tables of their sides, and where the other columns are."""

    pairs: LocalRelation
    sides: tuple[Side, ...]
    columns: Mapping[str, Place]

    def select(self, columns: Mapping[str, str]) -> Late | None:
        """Return these columns alone, or None if one is made of what is looked up."""
        kept = {name: self.columns[sql.strip("`")] for name, sql in columns.items() if sql.strip("`") in self.columns}
        others = {name: sql for name, sql in columns.items() if name not in kept}
        try:
            pairs = self.pairs.select(others | {side.number: quoted(side.number) for side in self.sides})
        except NotSupported:
            return None
        return replace(self, pairs=pairs, columns=kept)

    def where(self, condition: str) -> Late | None:
        """Return the pairs that satisfy a condition, or None if it reads what is looked up."""
        try:
            return replace(self, pairs=self.pairs.where(condition))
        except NotSupported:
            return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold both sides in their tables."""
        backend = self.pairs.backend
        try:
            for side in self.sides:
                backend.connection.execute(f"CREATE TEMP TABLE {side.table} AS {side.query}")
            yield
        finally:
            for side in self.sides:
                backend.drop(side.table)


def late_pairs(
    tables: Mapping[str, LocalRelation],
    on: On,
    condition: str,
    columns: Mapping[str, str],
    picked: Mapping[str, tuple[str, str]],
) -> Late | None:
    """Return the pairs of an inner join of two tables, or None if it has no texts.

    ``condition`` is that of the join in DuckDB's SQL, and ``picked`` is how it finds the columns.
    """
    found: dict[str, Place] = {}
    for i, (alias, rows) in enumerate(tables.items()):
        texts = {f"{as_}.{quoted(c.name)}": c.name for c in rows.columns if c.type in _TEXTS for as_ in _written(alias)}
        found |= {name: Place(i, texts[sql]) for name, sql in columns.items() if sql in texts}
    if not found:
        return None
    backend = next(iter(tables.values())).backend
    sides = tuple(
        Side(rows, alias, on.written, backend.fresh_name(), f"__row{i}")
        for i, (alias, rows) in enumerate(tables.items())
    )
    others = {name: value for name, value in picked.items() if name not in found}
    values = [f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in others.items()]
    values += [f"{duckdb_name(side.alias)}.rowid AS {duckdb_name(side.number)}" for side in sides]
    left, right = (f"{side.table} AS {duckdb_name(side.alias)}" for side in sides)
    body = f"SELECT {', '.join(values)} FROM {left} JOIN {right} ON {condition}"
    shape = [Column(name, type_) for name, (_, type_) in others.items()]
    shape += [Column(side.number, "BIGINT") for side in sides]
    return Late(LocalRelation(backend, backend.fresh_name(), body, tuple(shape)), sides, found)


def _written(alias: str) -> set[str]:
    """Return how a name of a table is written."""
    return {quoted(alias), f"`{alias}`"}
