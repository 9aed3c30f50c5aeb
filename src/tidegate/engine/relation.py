"""The protocol between the engine and a backend: rows of known columns, and what can be asked of them.

Expressions are texts in Spark's SQL, over the columns of a relation: those of users, and a few of the engine's own
(see `VOCABULARY`). Calls over many rows are values, `Call`, and not texts: what sees rows in an order, or over a frame,
is written in a way of its own in every dialect.
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
from tidegate.flow.plan import Operator
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted

__all__ = [
    "VOCABULARY",
    "Asked",
    "Backend",
    "Batches",
    "Call",
    "Groups",
    "Kept",
    "Relation",
    "as_they_are",
    "united",
]

T = TypeVar("T")

#: A function from batches of rows to batches of others.
Batches: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: A function from the rows of a group, those of its key included, to others.
Groups: TypeAlias = Callable[[pa.Table], pa.Table]

#: The functions that the engine writes in texts of its own, beside operators, literals, casts, CASE and IF: a backend
#: has to know them all. ``__moving(x, n)`` is the number n, which is compared with x, and is another one in each step:
#: what a backend remembers or compiles should not depend on it. ``__packed(c, a, b, …)`` is c + a * b + …, of decimals
#: of 38 digits. ``__digit(x, step, size, low)`` is x DIV step % size + low, of such that are not negative, as a BIGINT.
VOCABULARY = words(
    """
    __digit __moving __packed aggregate array array_distinct array_repeat array_sort coalesce concat concat_ws
    date_from_unix_date filter flatten get greatest least named_struct pmod sequence size slice struct timestamp_micros
    timestampadd timestampdiff transform unix_date unix_micros xxhash64
    """
)

#: One call of an aggregate or window function, of a user's or of the engine's own.
Call: TypeAlias = AggregateCall


class Relation(Protocol):
    """Rows, lazily: most of what is here returns another relation, and computes nothing.

    Names of columns that differ in their case only are the same.
    """

    @property
    def backend(self) -> Backend:
        """Where it is computed."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns, with the types that Spark would give them."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        ...

    @property
    def shape(self) -> Any:
        """Its columns as the backend knows them: `Backend.nothing` makes no rows of it."""
        ...

    @property
    def order(self) -> list[str]:
        """What rows are sorted by, all columns in turn, NULL first: time columns, which come first, lead."""
        ...

    def select(self, columns: Mapping[str, str]) -> Relation:
        """Return rows of these columns alone."""
        ...

    def with_columns(self, columns: Mapping[str, str], *, like: Any = None) -> Relation:
        """Return rows with more columns. One that is there already is replaced, where it is.

        All expressions see the rows as they were. A column that the shape ``like`` has, too, gets the type of that.
        """
        ...

    def without(self, *names: str) -> Relation:
        """Return rows without some columns; those that are not there do not matter."""
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
        """Return one row for each group of rows with equal keys, NULL being equal to NULL; no rows give no group.

        Calls see rows sorted by ``order``; with None, rows may come to them in any order.
        """
        ...

    def gather(self, keys: Sequence[str], calls: Mapping[str, Call]) -> Relation:
        """Group by columns, to list rows in any order: no part of a list is smaller than the rows in it."""
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
        """Return rows with columns that are calls over all rows with equal ``by``, which are expressions.

        With ``so_far``, aggregates see the rows up to each, in the order; the functions of windows (`lag`, `lead`,
        `row_number`) always go by the order. Calls that choose among rows choose by ``ties``; with None, any will do.
        ``descending`` is said for all of the order, or for each of it; what descends has NULL last. Columns are added
        or replaced as in `with_columns`.
        """
        ...

    def explode(self, name: str, array: str) -> Relation:
        """Return a row for each element of an array; none if it is NULL or empty.

        The column ``name`` is added, or replaced, as in `with_columns`.
        """
        ...

    def join(self, other: Relation, on: str, how: str = "inner", columns: Mapping[str, str] | None = None) -> Relation:
        """Return pairs of rows that satisfy a condition; columns may be called ``left.x`` and ``right.x``.

        ``how`` is inner, left, right, full, semi or anti. Without ``columns``, all of both, which then differ in name.
        """
        ...

    def as_of(self, other: Relation, keys: Sequence[str], at: str, carried: str, order: Sequence[str]) -> Relation:
        """Return rows with the ``carried`` column of the last row of another with equal keys and at most the same time.

        It is NULL where there is none; no carried value is NULL. Of several at one time, the greatest by ``order``
        counts. The columns ``keys`` and ``at`` are those of both; a key that is NULL may match another, or not.
        """
        ...

    def union(self, other: Relation, *, fill: bool = False) -> Relation:
        """Return the rows of both, by the names of columns; with ``fill``, a column that one lacks is NULL there."""
        ...

    def distinct(self) -> Relation:
        """Return each row once."""
        ...

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """Return the rows with other names for some columns."""
        ...

    def map_arrow(
        self, function: Batches, columns: Sequence[Column], same: Sequence[str] = (), *, by: Sequence[str] | None = None
    ) -> Relation:
        """Return what a function makes of batches of rows: columns that are the ``same`` as here, and ``columns``.

        With ``by``, rows with equal columns follow each other, as `over` has numbered them in ``__order``.
        """
        ...

    def apply_arrow(self, keys: Sequence[str], function: Groups, columns: Sequence[Column]) -> Relation:
        """Return what a function makes of the rows of each group: the keys, and ``columns``."""
        ...

    def together(self, keys: Sequence[str]) -> Relation:
        """Return the same rows; the backend may bring those with equal columns together, or all, if there are none."""
        ...

    def small(self) -> Relation:
        """Return the same rows; the backend may take for granted that they are few."""
        ...

    def fetch(self) -> pa.Table:
        """Return all rows; this computes them."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that are worked out, or will be once, what was counted on the way, and what gives them back."""

    rows: Relation
    release: Callable[[], None]
    counts: Mapping[str, Any] = field(default_factory=dict)
    #: Whether they are held where the engine runs, because they are few.
    few: bool = False

    @property
    def size(self) -> int:
        """How many rows there are, if they were counted."""
        return int(self.counts["rows"])


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of rows: calls over all of them, or over those that are alike in ``apart``.

    That is an expression and its type. Each row of what is found has, as ``part``, a text of its value.
    """

    rows: Relation
    calls: Mapping[str, Call]
    apart: tuple[str, str] | None = None


class Backend(Protocol):
    """Where relations are computed."""

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """The errors by which it says that an operator makes no sense to it."""
        ...

    def refused(self, operator: Operator, inputs: Sequence[Relation], error: Exception) -> Exception:
        """Return the error to raise for an operator that it refuses."""
        ...

    def quiet(self) -> AbstractContextManager[None]:
        """Keep it from printing its own account of errors that are told in our words."""
        ...

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Make something that never changes, unless it was made under this key before."""
        ...

    def in_rounds(self) -> AbstractContextManager[None]:
        """Make ready for many small computations, one after the other."""
        ...

    def nothing(self, shape: Any) -> Relation:
        """Return no rows, of a shape."""
        ...

    def kept(self, rows: Relation, counts: Mapping[str, Call] = MappingProxyType({})) -> Kept:
        """Work out rows, and some calls over all of them, ``rows`` being how many there are."""
        ...

    def watched(self, rows: Relation, calls: Mapping[str, Call]) -> tuple[Relation, Callable[[], Mapping[str, Any]]]:
        """Return the same rows, and what tells what calls over them gave, once someone has read them all."""
        ...

    def observed(self, asked: Mapping[str, Asked]) -> dict[str, list[Mapping[str, Any]]]:
        """Return what the rows answer, at once: a row for each part; none where there are no rows."""
        ...

    def numbered(self, rows: Relation, name: str) -> Relation:
        """Return rows with a number of their own each, which stays the same once they are written down."""
        ...

    def kept_few(self, rows: Relation, counts: Mapping[str, Call], *, at_most: int) -> Kept | None:
        """Work out a few rows, and hold them where the engine runs; None if there are more."""
        ...

    def laid_on(self, below: Kept | None, top: Kept) -> Kept:
        """Return the rows of two that are `few` as one."""
        ...

    def repeated(
        self,
        begun: Relation,
        step: Callable[[Relation, Relation], Relation],
        key: Sequence[str],
        *,
        rounds: int,
        at_most: int,
    ) -> Kept | None:
        """Work out all rows that come of rows by a step that is repeated, in one computation; None if there is no way.

        A step is given the rows of the last round, and all rows so far, and returns those of this round, of the same
        columns; in a round, they differ in their ``key``. Rows replace earlier ones with the same key. ``__round`` is
        the round that a row is of, beginning with 0 for ``begun``. The last is the one before a round without rows, or
        that with more than ``at_most``, or the one of this number.
        """
        ...

    def cached(self, rows: Relation) -> Kept:
        """Return rows that are worked out once, when they are first read."""
        ...

    def query(self, query: Query, tables: Mapping[str, Relation], views: Mapping[str, str] = ...) -> Relation:
        """Return what a query of any form gives on tables; those that are ``views`` are read by that name.

        What it returns is to be worked out while the views are there.
        """
        ...

    def views(self, tables: Mapping[str, Relation]) -> AbstractContextManager[Mapping[str, str]]:
        """Give relations names that queries can use, for a while."""
        ...

    def joined(
        self,
        tables: Mapping[str, Relation],
        joins: Sequence[str | None],
        where: str | None,
        columns: Mapping[str, tuple[str, str | None]],
    ) -> Relation:
        """Return rows of several tables that belong together, in columns of given types, or of any type.

        Expressions read columns as ``alias.column``. For each table but the first, ``joins`` has the condition on it
        and those before it; None is for all pairs.
        """
        ...


def as_they_are(names: Sequence[str]) -> dict[str, str]:
    """Return columns by their names, as `Relation.select` takes them."""
    return {name: quoted(name) for name in names}


def united(relations: Sequence[Relation]) -> Relation:
    """Return the rows of several relations with the same columns."""
    first, *others = relations
    for other in others:
        first = first.union(other)
    return first
