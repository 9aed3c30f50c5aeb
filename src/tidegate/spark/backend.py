"""The backend on Spark: how relations are computed, kept and queried."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from tidegate.engine.keys import key_text
from tidegate.engine.relation import Call, ComputedRows, Measurement, Relation
from tidegate.flow.errors import FlowError
from tidegate.flow.loops.query import Query
from tidegate.flow.plan import PlanOperator
from tidegate.spark.jvm import classes, collected, drop_global_view, frame_of_rows, release_checkpoint
from tidegate.spark.refusals import refused
from tidegate.spark.relation import SparkRelation, frame_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["SparkBackend", "no_rows"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SparkBackend:
    """The backend of a Spark session."""

    runtime: Runtime

    def relation(self, frame: DataFrame) -> SparkRelation:
        """Return the rows of a DataFrame as a relation."""
        return SparkRelation(self, frame)

    def nothing(self, shape: StructType) -> SparkRelation:
        """Return an empty relation of a shape."""
        return self.relation(no_rows(self.runtime, shape))

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """Return the exceptions with which Spark refuses a plan."""
        return self.runtime.refusals

    def refused(self, operator: PlanOperator, inputs: Sequence[Relation], error: Exception) -> FlowError:
        """Return the error for an operator that Spark refuses. It names the expression that is wrong."""
        return refused(operator, [frame_of(given) for given in inputs], self.runtime, error)

    def quiet(self) -> AbstractContextManager[None]:
        """Stop PySpark from logging errors that we report ourselves."""
        return self.runtime.quiet()

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value for a key; ``make`` is called the first time only."""
        return self.runtime.once(key, make)

    def in_rounds(self) -> AbstractContextManager[None]:
        """Set options of the session that suit many small jobs."""
        return self.runtime.in_steps()

    def kept(self, rows: Relation, counts: Mapping[str, Call] = MappingProxyType({})) -> ComputedRows:
        """Compute rows in one job, and keep them on the executors. If an executor is lost, its rows are, too."""
        seen, observed = self._observed(rows, counts)
        frame = observed.localCheckpoint(eager=True)
        return ComputedRows(self.relation(frame), lambda: release_checkpoint(frame), seen.get)

    def watched(self, rows: Relation, calls: Mapping[str, Call]) -> tuple[SparkRelation, Callable[[], dict[str, Any]]]:
        """Return the same rows, and a function that returns the results of ``calls`` when a job has read the rows."""
        from pyspark.sql import Observation

        # Spark before 4.3 does not return observed lists to Python as lists.
        lists = {name for name, one in calls.items() if one.function.startswith("collect_")}
        sqls = {name: f"to_json({one.sql})" if name in lists else one.sql for name, one in calls.items()}
        seen = Observation()

        def results() -> dict[str, Any]:
            return {name: json.loads(value or "[]") if name in lists else value for name, value in seen.get.items()}

        return self.relation(frame_of(rows).observe(seen, *self.runtime.exprs(sqls))), results

    def observed(self, measurements: Mapping[str, Measurement]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the results of several measurements, computed in one job."""
        found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in measurements}
        frames = []
        for name, one in measurements.items():
            by = [self.runtime.expr(one.apart[0], "__part")] if one.apart else []
            sqls = {call_name: call.sql for call_name, call in one.calls.items()}
            seen = (
                frame_of(one.rows).groupBy(*by).agg(self.runtime.F.lit(name).alias("__name"), *self.runtime.exprs(sqls))
            )
            # Rows are grouped by the value itself, as Spark compares keys, and only then is the value written as text.
            text = key_text("__part", one.apart[1]) if one.apart else "CAST(NULL AS STRING)"
            frames.append(seen.withColumn("part", self.runtime.expr(text)).drop("__part"))
        for row in reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames).collect():
            found[row["__name"]].append(row.asDict())
        return found

    def numbered(self, rows: Relation, name: str) -> Relation:
        """Return the rows, each with a unique number."""
        return rows.with_columns({name: "monotonically_increasing_id()"})

    def kept_few(self, rows: Relation, counts: Mapping[str, Call], *, at_most: int) -> ComputedRows | None:
        """Compute rows and keep them in the driver, so that Spark knows how few they are. Return None for too many."""
        seen, observed = self._observed(rows, counts)
        # All partitions are read at once. Otherwise Spark would read one, and then more and more of them, until it has
        # enough rows.
        with self.runtime.settings(spark__sql__limit__initialNumPartitions=str(2**20)):
            # The rows do not become Python objects: they go from one plan to the next inside of the JVM.
            few = collected(observed.limit(at_most + 1))
        if few.size() > at_most:
            return None
        return self._few(few, observed, seen.get)

    def combined(self, below: ComputedRows | None, top: ComputedRows) -> ComputedRows:
        """Return two lists of rows in the driver as one. This runs no job."""
        if below is None:
            return top
        both = classes(self.runtime.session).java.util.ArrayList(cast(_Few, below).at_driver)
        both.addAll(cast(_Few, top).at_driver)
        return self._few(both, frame_of(top.rows), {"rows": below.size + top.size})

    def repeated(
        self,
        begun: Relation,  # noqa: ARG002
        step: Callable[[Relation, Relation], Relation],  # noqa: ARG002
        key: Sequence[str],  # noqa: ARG002
        *,
        rounds: int,  # noqa: ARG002
        at_most: int,  # noqa: ARG002
    ) -> ComputedRows | None:
        """Return None: this backend has no recursive queries."""
        return None

    def cached(self, rows: Relation) -> ComputedRows:
        """Return the same rows. Spark caches them when they are first read."""
        frame = frame_of(rows).persist()
        return ComputedRows(self.relation(frame), lambda: _discard(frame.unpersist()))

    def query(
        self, query: Query, tables: Mapping[str, Relation], views: Mapping[str, str] = MappingProxyType({})
    ) -> SparkRelation:
        """Return the result of any SQL query on tables."""
        with self.views({name: tables[name] for name in query.relations if name not in views}) as names:
            return self.relation(self.runtime.session.sql(query.select({**views, **names})))

    @contextmanager
    def views(self, tables: Mapping[str, Relation]) -> Iterator[Mapping[str, str]]:
        """Yield names of relations that SQL can use until the context ends.

        These are names of global views, because a step and the tables of a flow are in different sessions.
        """
        names = {name: f"tidegate_{uuid4().hex}" for name in tables}
        try:
            for name, view in names.items():
                frame_of(tables[name]).createGlobalTempView(view)
            yield {name: f"global_temp.{view}" for name, view in names.items()}
        finally:
            for view in names.values():
                drop_global_view(self.runtime.session, view)

    def joined(
        self,
        tables: Mapping[str, Relation],
        joins: Sequence[str | None],
        where: str | None,
        columns: Mapping[str, tuple[str, str | None]],
    ) -> SparkRelation:
        """Return the join of several tables."""
        expr = self.runtime.expr
        found, *others = (frame_of(rows).alias(alias) for alias, rows in tables.items())
        for other, on in zip(others, joins, strict=True):
            found = found.join(other, expr(on)) if on else found.crossJoin(other)
        if where:
            found = found.where(expr(where))
        typed = [
            expr(sql).cast(type_).alias(name) if type_ else expr(sql, name) for name, (sql, type_) in columns.items()
        ]
        return self.relation(found.select(*typed))

    def _observed(self, rows: Relation, counts: Mapping[str, Call]) -> tuple[Any, DataFrame]:
        from pyspark.sql import Observation

        seen = Observation()
        sqls = {"rows": "count(*)", **{name: call.sql for name, call in counts.items()}}
        return seen, frame_of(rows).observe(seen, *self.runtime.exprs(sqls))

    def _few(self, few: Any, like: DataFrame, counts: Mapping[str, Any]) -> _Few:
        frame = frame_of_rows(self.runtime.session, few, like)
        return _Few(self.relation(frame), lambda: None, counts, few=True, at_driver=few)


@dataclass(frozen=True, slots=True)
class _Few(ComputedRows):
    """Rows in the driver, as a list in the JVM."""

    at_driver: Any = None


def _discard(_: object) -> None:
    """Do nothing."""


def no_rows(runtime: Runtime, schema: StructType) -> DataFrame:
    """Return an empty DataFrame with a schema."""

    def make() -> DataFrame:
        columns = [runtime.F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
        return runtime.session.range(0).select(*columns)

    return runtime.once(("no rows", schema.json()), make)
