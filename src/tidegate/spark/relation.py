"""Relations on Spark: DataFrames with the methods of the protocol `Relation`.

The results of Spark's own `first`, `collect_list`, `max_by` and some others depend on the order in which rows arrive.
Here their result depends on the rows only, because they see rows sorted by an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from tidegate.engine.calls import WINDOW_FUNCTIONS, as_one_value, call
from tidegate.engine.relation import Batches, Call, Groups, as_they_are
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted
from tidegate.spark.arrow import apply_in_arrow, map_in_arrow, struct_type
from tidegate.spark.calls import call_sql
from tidegate.spark.far_pairs import without_far_pairs
from tidegate.spark.join_keys import has_computed_keys, keys_as_columns
from tidegate.spark.rows import columns_of, sort_columns
from tidegate.spark.wire import canonical_table, to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from tidegate.engine.relation import Relation
    from tidegate.spark.backend import SparkBackend

__all__ = ["SparkRelation", "frame_of"]

_HOW = {"semi": "left_semi", "anti": "left_anti", "full": "full_outer"}
_SO_FAR = " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
#: A column with the same value in all rows. Grouped by it, an empty input gives no row; without groups, it gives one.
_ALL = "__all"
#: A column with the side of a join that a row comes from. Rows at one time are sorted by it.
_SIDE = "__side"


@dataclass(frozen=True)
class SparkRelation:
    """Rows of a DataFrame."""

    backend: SparkBackend
    frame: DataFrame

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns, with their types in Spark."""
        return columns_of(self.frame.schema)

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return self.frame.columns

    @property
    def shape(self) -> StructType:
        """Return the columns as a StructType."""
        return self.frame.schema

    @property
    def order(self) -> list[str]:
        """Return the expressions that sort rows. Maps have no order, so their text is used."""
        return sort_columns(self.frame)

    def select(self, columns: Mapping[str, str]) -> SparkRelation:
        """Return the rows with these columns only."""
        return self._with(self.frame.select(*self._exprs(columns)))

    def with_columns(self, columns: Mapping[str, str], *, like: StructType | None = None) -> SparkRelation:
        """Return the rows with columns added or replaced."""
        if not columns:
            return self
        return self._with(self.frame.withColumns({name: self._named(sql, name, like) for name, sql in columns.items()}))

    def without(self, *names: str) -> SparkRelation:
        """Return the rows without some columns."""
        return self._with(self.frame.drop(*names)) if names else self

    def where(self, condition: str) -> SparkRelation:
        """Return the rows that satisfy a condition."""
        return self._with(self.frame.where(self._expr(condition)))

    def group(
        self,
        keys: Mapping[str, str],
        calls: Mapping[str, Call],
        *,
        order: Sequence[str] | None = None,
        like: StructType | None = None,
    ) -> SparkRelation:
        """Return one row for each group of rows with equal keys."""
        if not calls:
            return self._with(self.frame.select(*self._exprs(keys)).distinct())
        sqls = {name: _decided(one, order) for name, one in calls.items()}
        found = [self._named(sql, name, like) for name, sql in sqls.items()]
        groups = self.frame.groupBy(*self._exprs(keys or {_ALL: "1"}))
        result = groups.agg(*found)
        return self._with(result if keys else result.drop(_ALL))

    def gather(self, keys: Sequence[str], calls: Mapping[str, Call]) -> SparkRelation:
        """Group by columns with calls that collect rows into lists.

        Rows are shuffled before they are grouped, because partial lists would be no smaller.
        """
        found = [self._expr(one.sql, name) for name, one in calls.items()]
        columns = [quoted(name) for name in keys]
        return self._with(self.frame.repartition(*columns).groupBy(*columns).agg(*found))

    def over(
        self,
        calls: Mapping[str, Call],
        by: Sequence[str],
        order: Sequence[str] = (),
        *,
        so_far: bool = False,
        descending: bool | Sequence[bool] = False,
        ties: Sequence[str] | None = None,
        like: StructType | None = None,
    ) -> SparkRelation:
        """Return the rows with added columns: calls over windows of rows."""
        window = f"PARTITION BY {', '.join(by) or 'NULL'}"
        if order:
            down = [descending] * len(order) if isinstance(descending, bool) else descending
            entries = [f"{sql} DESC" if falls else sql for sql, falls in zip(order, down, strict=True)]
            window += f" ORDER BY {', '.join(entries)}"
        frame = _SO_FAR if so_far else ""
        sqls = {}
        for name, one in calls.items():
            if one.function in WINDOW_FUNCTIONS:
                sqls[name] = _over(one.sql, window)
            else:
                sqls[name] = _over(one.sql if one.order_sensitive else _decided(one, ties), window + frame)
        return self.with_columns(sqls, like=like)

    def explode(self, name: str, array: str) -> SparkRelation:
        """Return a row for each element of an array, in the column ``name``."""
        exploded = f"explode({array})"
        if name not in self.names:
            return self._with(self.frame.select("*", self._expr(exploded, name)))
        return self.select(as_they_are(self.names) | {name: exploded})

    def join(
        self, other: Relation, on: str, how: str = "inner", columns: Mapping[str, str] | None = None
    ) -> SparkRelation:
        """Return the pairs of rows that satisfy a condition."""
        left, right = self.frame, frame_of(other)
        if columns is not None:
            left, right, on = self._sides(other, on)
        if how == "inner" and on == "true":
            pairs = left.crossJoin(right)
        else:
            pairs = left.join(right, self._expr(on), _HOW.get(how, how))
        if columns is None:
            return self._with(pairs)
        return self._with(pairs.select(*(self._expr(sql, name) for name, sql in columns.items())))

    def as_of(self, other: Relation, keys: Sequence[str], at: str, carried: str, order: Sequence[str]) -> SparkRelation:
        """Return the rows with the last value of the other side, by one running window over both sides.

        At equal times, rows of the other side come first.
        """
        mine = self.with_columns({_SIDE: "1"})
        theirs = SparkRelation(self.backend, frame_of(other)).with_columns({_SIDE: "0"})
        latest = {carried: call("last", carried, ignore_nulls=True)}
        both = mine.union(theirs, fill=True).over(latest, keys, [at, _SIDE, *order], so_far=True)
        return both.where(f"{_SIDE} = 1").select(as_they_are([*self.names, carried]))

    def union(self, other: Relation, *, fill: bool = False) -> SparkRelation:
        """Return the rows of both."""
        return self._with(self.frame.unionByName(frame_of(other), allowMissingColumns=fill))

    def distinct(self) -> SparkRelation:
        """Return each row once."""
        return self._with(self.frame.distinct())

    def renamed(self, names: Mapping[str, str]) -> SparkRelation:
        """Return the rows with some columns renamed."""
        new = [names.get(name, name) for name in self.names]
        return self if new == self.names else self._with(self.frame.toDF(*new))

    def map_arrow(
        self,
        function: Batches,
        columns: Sequence[Column],
        same: Sequence[str] = (),
        *,
        by: Sequence[str] | None = None,  # noqa: ARG002
    ) -> SparkRelation:
        """Return the result of a function on batches of rows. Rows from `numbered` come in order of their numbers."""
        schema = self.frame.schema
        type_ = struct_type(columns, [schema[name] for name in same])
        return self._with(map_in_arrow(self.frame, _batches(function, self.columns, columns_of(type_)), type_))

    def apply_arrow(self, keys: Sequence[str], function: Groups, columns: Sequence[Column]) -> SparkRelation:
        """Return the result of a function on each group."""
        schema = self.frame.schema
        type_ = struct_type(columns, [schema[name] for name in keys])
        groups = self.frame.groupBy(*map(quoted, keys))
        return self._with(apply_in_arrow(groups, _tables(function, self.columns, columns_of(type_)), type_))

    def together(self, keys: Sequence[str]) -> SparkRelation:
        """Partition rows by columns, or into one partition without columns, so that later operators need no shuffle."""
        return self._with(self.frame.repartition(*map(quoted, keys)) if keys else self.frame.repartition(1))

    def small(self) -> SparkRelation:
        """Broadcast the rows, so that the rows they are joined with are not shuffled."""
        return self._with(self.backend.runtime.F.broadcast(self.frame))

    def fetch(self) -> pa.Table:
        """Run a job, and return all rows."""
        return canonical_table(self.frame.toArrow(), self.columns)

    def _sides(self, other: Relation, on: str) -> tuple[DataFrame, DataFrame, str]:
        """Return the sides of a join under their names, and its condition, as Spark computes it fastest."""
        keys: list[Mapping[str, str]] = [{}, {}]
        # Spark need not be asked for types if there is neither a sum of a list, which has a lambda, nor a key.
        if "->" in on or has_computed_keys(on):
            sides = {"left": self.columns, "right": other.columns}
            types = {f"{side}.{c.name}".lower(): c.type for side, known in sides.items() for c in known}
            *keys, on = keys_as_columns(without_far_pairs(on, types), types)
        named = self.frame.alias("left"), frame_of(other).alias("right")
        left, right = (
            frame.select("*", *self._exprs(own)).alias(side) if own else frame
            for side, frame, own in zip(("left", "right"), named, keys, strict=True)
        )
        return left, right, on

    def _with(self, frame: DataFrame) -> SparkRelation:
        return SparkRelation(self.backend, frame)

    def _expr(self, sql: str, name: str | None = None) -> SparkColumn:
        return self.backend.runtime.expr(sql, name)

    def _exprs(self, columns: Mapping[str, str]) -> list[SparkColumn]:
        """Return the columns of SQL expressions, by name.

        A column that stays as it is gets no alias: with one, Spark would forget how the rows are partitioned.
        """
        return [self._expr(sql) if sql == quoted(name) else self._expr(sql, name) for name, sql in columns.items()]

    def _named(self, sql: str, name: str, like: StructType | None) -> SparkColumn:
        if like is None or name not in like.names:
            return self._expr(sql, name)
        return self._expr(sql).cast(like[name].dataType).alias(name)


def frame_of(relation: Relation) -> DataFrame:
    """Return the DataFrame of a relation, which must be of this backend."""
    assert isinstance(relation, SparkRelation), "a relation of another backend"
    return relation.frame


def _decided(call: Call, order: Sequence[str] | None) -> str:
    """Return SQL for a call whose result depends on the rows only. If ``order`` is None, return Spark's own call."""
    return call.sql if order is None else call_sql(call, as_one_value(order))


def _over(sql: str, window: str) -> str:
    """Return SQL for a call over a window. If the call is inside of `sort_array`, ``OVER`` is put there, too."""
    inside = Sql.of(sql).arguments("sort_array")
    return f"sort_array({inside[0]} OVER ({window}))" if inside else f"{sql} OVER ({window})"


def _batches(function: Batches, given: Sequence[Column], returned: Sequence[Column]) -> Batches:
    """Return a function that Spark can call. Instants have a zone in Spark's batches, and none in ours."""

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = (batch for one in iterator for batch in canonical_table(pa.Table.from_batches([one]), given).to_batches())
        for answer in function(own):
            yield from to_spark(pa.Table.from_batches([answer]), returned).to_batches()

    return batches


def _tables(function: Groups, given: Sequence[Column], returned: Sequence[Column]) -> Groups:
    def tables(_: object, table: pa.Table) -> pa.Table:
        return to_spark(function(canonical_table(table, given)), returned)

    return tables  # type: ignore[return-value]  # Spark gives the key as well
