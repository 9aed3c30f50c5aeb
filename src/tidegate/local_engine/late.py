"""Pairs of rows whose texts are looked up when they are written: a text that is in many pairs is written once.

A join gives a pair for every two rows that match, with copies of what both have. Instead, both sides are held in
tables, and the join gives the numbers of two rows in them. A Parquet file has the texts of a column once, and numbers
for them, so that nothing else has to be found of a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.flow.translate import duckdb_name

if TYPE_CHECKING:
    from tidegate.local_engine.relation import LocalRelation

__all__ = ["Late", "Place", "Side", "late_pairs"]

#: Types of columns that are worth it.
_TEXTS = ("STRING", "BINARY")


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a join: the query of its rows, and the table that is to hold them; rows have numbers there."""

    query: str
    table: str
    #: The column of pairs that has the number of the row.
    number: str


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
    own: Mapping[str, str],
    on: str,
    columns: Mapping[str, str],
    picked: Mapping[str, tuple[str, str]],
) -> Late | None:
    """Return the pairs of an inner join of two tables, or None if it has no texts.

    ``own`` are conditions on the rows of one table, and ``picked`` is how the columns are found of both.
    """
    found: dict[str, Place] = {}
    for i, (alias, rows) in enumerate(tables.items()):
        texts = {f"{quoted(alias)}.{quoted(c.name)}": c for c in rows.columns if c.type in _TEXTS}
        texts |= {f"`{alias}`.{quoted(c.name)}": c for c in rows.columns if c.type in _TEXTS}
        found |= {name: Place(i, texts[sql].name) for name, sql in columns.items() if sql in texts}
    if not found:
        return None
    backend = next(iter(tables.values())).backend
    sides = [
        Side(_query(rows, alias, own.get(alias, "")), backend.fresh_name(), f"__row{i}")
        for i, (alias, rows) in enumerate(tables.items())
    ]
    others = {name: value for name, value in picked.items() if name not in found}
    texts_of = [f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in others.items()]
    texts_of += [f'{duckdb_name(alias)}.rowid AS "{s.number}"' for s, alias in zip(sides, tables, strict=True)]
    left, right = (f"{side.table} AS {duckdb_name(alias)}" for side, alias in zip(sides, tables, strict=True))
    shape = [Column(name, type_) for name, (_, type_) in others.items()]
    shape += [Column(side.number, "BIGINT") for side in sides]
    return Late(
        _relation(tables, f"SELECT {', '.join(texts_of)} FROM {left} JOIN {right} ON {on}", shape), tuple(sides), found
    )


def _query(rows: LocalRelation, alias: str, own: str) -> str:
    return f"SELECT * FROM ({rows.sql}) AS {duckdb_name(alias)}" + (f" WHERE {own}" if own else "")


def _relation(tables: Mapping[str, LocalRelation], body: str, columns: Sequence[Column]) -> LocalRelation:
    """Return a relation of tables that are there when it is computed."""
    some = next(iter(tables.values()))
    return replace(some, name=some.backend.fresh_name(), body=body, columns=tuple(columns), parents=(), late=None)
