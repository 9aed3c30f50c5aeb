"""The protocol between the engine and a backend: relations, and the operations on them.

Expressions are strings of Spark SQL over the columns of a relation. They come from users, or use the few functions that
the engine itself needs (see `VOCABULARY`). Aggregate and window functions are `Call` values and not strings, because
every dialect has its own syntax for order and frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from tidegate.flow.aggregates import AggregateCall
from tidegate.flow.functions import words
from tidegate.flow.loops.query import Query
from tidegate.flow.plan import PlanOperator
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted

__all__ = [
    "VOCABULARY",
    "Backend",
    "Batches",
    "Call",
    "ComputedRows",
    "Groups",
    "Measurement",
    "Relation",
    "as_they_are",
    "united",
]

T = TypeVar("T")

#: A function from batches of rows to batches of result rows.
Batches: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: A function from the rows of one group, key columns included, to the rows of its result.
Groups: TypeAlias = Callable[[pa.Table], pa.Table]

#: The functions that the engine uses in its own SQL, beside operators, literals, casts, CASE and IF. A backend has to
#: know all of them. ``__moving(x, n)`` is the number n, to be compared with x. It differs from step to step, so a
#: backend must not cache or compile anything by its value. ``__packed(c, a, b, …)`` is c + a * b + …, computed in
#: decimals of 38 digits. ``__digit(x, step, size, low)`` is x DIV step % size + low as a BIGINT, for decimals that are
#: not negative.
VOCABULARY = words(
    """
    __digit __moving __packed aggregate array array_distinct array_repeat array_sort coalesce concat concat_ws
    date_from_unix_date filter flatten get greatest least named_struct pmod sequence size slice struct timestamp_micros
    timestampadd timestampdiff transform unix_date unix_micros xxhash64
    """
)

#: A call of an aggregate or window function, the user's or the engine's own.
Call: TypeAlias = AggregateCall


class Relation(Protocol):
    """Rows of known columns, evaluated lazily: most methods return another relation and compute nothing.

    Column names are not case-sensitive.
    """

    @property
    def backend(self) -> Backend:
        """The backend that computes it."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns, with the types that Spark gives them."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        ...

    @property
    def shape(self) -> Any:
        """Its columns in the backend's own form. `Backend.nothing` makes an empty relation of it."""
        ...

    @property
    def order(self) -> list[str]:
        """The expressions that sort rows by all columns in turn, NULL first. Time columns come first."""
        ...

    def select(self, columns: Mapping[str, str]) -> Relation:
        """Return the rows with these columns only."""
        ...

    def with_columns(self, columns: Mapping[str, str], *, like: Any = None) -> Relation:
        """Return the rows with columns added. A column that exists already is replaced in its place.

        All expressions see the rows as they were before. A column that is also in the shape ``like`` is cast to the
        type it has there.
        """
        ...

    def without(self, *names: str) -> Relation:
        """Return the rows without some columns. Names that are not columns are ignored."""
        ...

    def where(self, condition: str) -> Relation:
        """Return the rows that satisfy a condition."""
        ...

    def group(
        self,
        keys: Mapping[str, str],
        calls: Mapping[str, Call],
        *,
        order: Sequence[str] | None = None,
        like: Any = None,
    ) -> Relation:
        """Return one row for each group of rows with equal keys. NULL equals NULL; without rows there is no group.

        Calls see the rows of a group sorted by ``order``. If it is None, they see them in any order.
        """
        ...

    def gather(self, keys: Sequence[str], calls: Mapping[str, Call]) -> Relation:
        """Return one row for each group, with calls that collect its rows into lists, in any order.

        Partial aggregation would not make the data smaller, so a backend may skip it.
        """
        ...

    def over(
        self,
        calls: Mapping[str, Call],
        by: Sequence[str],
        order: Sequence[str] = (),
        *,
        so_far: bool = False,
        descending: bool | Sequence[bool] = False,
        ties: Sequence[str] | None = None,
        like: Any = None,
    ) -> Relation:
        """Return the rows with added columns: calls over all rows that have equal values of the expressions ``by``.

        With ``so_far``, aggregates see only the rows up to the current one, in the given order. The window functions
        `lag`, `lead` and `row_number` always follow the order. Calls that pick one of several rows decide by ``ties``;
        with None, any row will do. ``descending`` is one value for the whole order, or one for each part of it; a
        descending part has NULL last. Columns are added or replaced as in `with_columns`.
        """
        ...

    def explode(self, name: str, array: str) -> Relation:
        """Return a row for each element of an array, and none if the array is NULL or empty.

        The column ``name`` is added or replaced as in `with_columns`.
        """
        ...

    def join(self, other: Relation, on: str, how: str = "inner", columns: Mapping[str, str] | None = None) -> Relation:
        """Return the pairs of rows that satisfy a condition; columns can be written as ``left.x`` and ``right.x``.

        ``how`` is inner, left, right, full, semi or anti. Without ``columns``, the result has all columns of both
        sides, whose names must then differ.
        """
        ...

    def as_of(self, other: Relation, keys: Sequence[str], at: str, carried: str, order: Sequence[str]) -> Relation:
        """Return the rows with the ``carried`` column of the last row of ``other`` with equal keys and no later time.

        It is NULL where there is no such row, and the carried values themselves are never NULL. Of several rows at one
        time, the greatest by ``order`` counts. Both sides have the columns ``keys`` and ``at``. Whether a NULL key
        matches another one is up to the backend.
        """
        ...

    def union(self, other: Relation, *, fill: bool = False) -> Relation:
        """Return the rows of both, matched by column name; with ``fill``, a column that one side lacks is NULL."""
        ...

    def distinct(self) -> Relation:
        """Return each row once."""
        ...

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """Return the rows with some columns renamed."""
        ...

    def map_arrow(
        self, function: Batches, columns: Sequence[Column], same: Sequence[str] = (), *, by: Sequence[str] | None = None
    ) -> Relation:
        """Return the result of a function on batches of rows.

        Its columns are the ``same`` columns as here, followed by ``columns``. With ``by``, rows with equal values of
        those columns arrive one after another, in the order that `over` has numbered in ``__order``.
        """
        ...

    def apply_arrow(self, keys: Sequence[str], function: Groups, columns: Sequence[Column]) -> Relation:
        """Return the result of a function on the rows of each group: the keys, and ``columns``."""
        ...

    def together(self, keys: Sequence[str]) -> Relation:
        """Return the same rows. The backend may move rows with equal ``keys`` together; without keys, all rows."""
        ...

    def small(self) -> Relation:
        """Return the same rows. The backend may assume that there are only a few."""
        ...

    def fetch(self) -> pa.Table:
        """Return all rows, computed."""
        ...


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """Rows that are computed once and kept, the counts made on the way, and a function that frees the rows."""

    rows: Relation
    release: Callable[[], None]
    counts: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the rows are in memory in the engine's own process, because there are only a few.
    few: bool = False

    @property
    def size(self) -> int:
        """The number of rows, if they were counted."""
        return int(self.counts["rows"])


@dataclass(frozen=True, slots=True)
class Measurement:
    """Aggregates to compute over rows: over all of them, or over each group of rows with an equal value of ``apart``.

    ``apart`` is an expression and its type. Each result row has that value as a string in the column ``part``.
    """

    rows: Relation
    calls: Mapping[str, Call]
    apart: tuple[str, str] | None = None


class Backend(Protocol):
    """Where relations are computed."""

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """The exceptions that the backend raises for an operator that it cannot run."""
        ...

    def refused(self, operator: PlanOperator, inputs: Sequence[Relation], error: Exception) -> Exception:
        """Return the error to raise for an operator that the backend refuses."""
        ...

    def quiet(self) -> AbstractContextManager[None]:
        """Stop the backend from logging errors that we report ourselves."""
        ...

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value for a key, which never changes; it is made the first time only."""
        ...

    def in_rounds(self) -> AbstractContextManager[None]:
        """Prepare the backend for many small computations in a row."""
        ...

    def nothing(self, shape: Any) -> Relation:
        """Return an empty relation of a shape."""
        ...

    def kept(self, rows: Relation, counts: Mapping[str, Call] = MappingProxyType({})) -> ComputedRows:
        """Return rows, computed and kept, with calls over all of them. The count ``rows`` is the number of rows."""
        ...

    def watched(self, rows: Relation, calls: Mapping[str, Call]) -> tuple[Relation, Callable[[], Mapping[str, Any]]]:
        """Return the same rows, and a function that returns the results of calls over them.

        The function may be called once something has read all of the returned rows.
        """
        ...

    def observed(self, measurements: Mapping[str, Measurement]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the results of several measurements, computed together.

        Each has a row for each part, and none if there are no input rows.
        """
        ...

    def numbered(self, rows: Relation, name: str) -> Relation:
        """Return the rows, each with a unique number. The numbers stay the same once the rows are written."""
        ...

    def kept_few(self, rows: Relation, counts: Mapping[str, Call], *, at_most: int) -> ComputedRows | None:
        """Return rows, computed and held in the engine's own process; None if there are more than ``at_most``."""
        ...

    def combined(self, below: ComputedRows | None, top: ComputedRows) -> ComputedRows:
        """Return the rows of two `ComputedRows` that are both `few`, as one."""
        ...

    def repeated(
        self,
        begun: Relation,
        step: Callable[[Relation, Relation], Relation],
        key: Sequence[str],
        *,
        rounds: int,
        at_most: int,
    ) -> ComputedRows | None:
        """Apply a step again and again, and return the rows of all rounds; None if the backend cannot do that.

        It is one computation. The step is given the rows of the last round and all rows so far. It returns the rows of
        this round, with the same columns; within a round, no two have the same ``key``. A row replaces earlier rows
        with the same key. ``__round`` is the number of the round that a row is from, and is 0 for ``begun``. The rounds
        end before the first round without rows, after the first with more than ``at_most`` rows, and at the latest with
        the round number ``rounds``.
        """
        ...

    def cached(self, rows: Relation) -> ComputedRows:
        """Return rows that are computed once, when they are first read, and then kept."""
        ...

    def query(self, query: Query, tables: Mapping[str, Relation], views: Mapping[str, str] = ...) -> Relation:
        """Return the result of any SQL query on tables; those that are in ``views`` are read by the name given there.

        The result has to be computed while the views exist.
        """
        ...

    def views(self, tables: Mapping[str, Relation]) -> AbstractContextManager[Mapping[str, str]]:
        """Give relations names that queries can use, until the context ends."""
        ...

    def joined(
        self,
        tables: Mapping[str, Relation],
        joins: Sequence[str | None],
        where: str | None,
        columns: Mapping[str, tuple[str, str | None]],
    ) -> Relation:
        """Return the join of several tables, in columns that are cast to given types, or have any type.

        Expressions refer to columns as ``alias.column``. For each table but the first, ``joins`` has the condition on
        it and the tables before it; None means all pairs.
        """
        ...


def as_they_are(names: Sequence[str]) -> dict[str, str]:
    """Return a mapping that selects columns as they are, for `Relation.select`."""
    return {name: quoted(name) for name in names}


def united(relations: Sequence[Relation]) -> Relation:
    """Return the rows of several relations with the same columns."""
    first, *others = relations
    for other in others:
        first = first.union(other)
    return first
