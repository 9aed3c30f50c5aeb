"""Trials that compute all rows at once, with `Flow.compute`. There are no answers before `finish`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.flow.arrow import table_of
from tidegate.flow.errors import BadArgument
from tidegate.flow.schema import Schema
from tidegate.progress import Reason
from tidegate.testing.engines import Driver, Row, Setting, SourceInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BoundedDriver", "LocalBounded", "SparkBounded"]


class BoundedDriver(Driver):
    """A flow that is computed when the input ends. Watermarks are ignored, and no row is late."""

    def __init__(self, setting: Setting) -> None:
        self._plan = setting.plan
        self._given: dict[str, list[Row]] = {
            **{source.id: [] for source in setting.plan.sources},
            **{table.id: setting.tables[table.id] for table in setting.plan.tables},
        }
        self._tables: Any = None

    @abstractmethod
    def _compute(self, given: Mapping[str, list[Row]]) -> Any:
        """Compute the flow on all rows."""

    @abstractmethod
    def _rows(self, found: Any, schema: Schema) -> list[Row]:
        """Return the rows of a result."""

    @abstractmethod
    def _rejected(self, found: Any) -> list[Row]:
        """Return the rows that were rejected, with the reason."""

    def step(self, given: Mapping[str, SourceInput], *, partitions: int = 1) -> None:  # noqa: ARG002
        """Keep the rows until the input ends."""
        for name, came in given.items():
            self._given[name] += came.rows

    def finish(self) -> None:
        """Compute the flow."""
        self._tables = self._compute(self._given)

    def rows(self, sink: str) -> list[Row]:
        """Return the rows of a sink."""
        schema = self._plan[next(s.input for s in self._plan.sinks if s.name == sink)].schema
        return self._rows(self._finished()[sink], schema)

    def late(self, source: str) -> list[Row]:  # noqa: ARG002
        """Return an empty list: no row is late."""
        return []

    def rejected(self, name: str) -> list[Row]:
        """Return the rows that could not take part, with the reason."""
        return self._rejected(self._finished().rejected[name])

    def why(self, sink: str, t: Any) -> list[Reason]:  # noqa: ARG002
        """Return an empty list: as soon as there are answers, everything is complete."""
        self._finished()
        return []

    def open_from(self, sink: str) -> list[Any]:  # noqa: ARG002
        """Return an empty list: as soon as there are answers, everything is complete."""
        return []

    def _finished(self) -> Any:
        if self._tables is None:
            raise BadArgument(
                "expected finish() before answers are asked for: a bounded engine takes all rows at once",
                hint='ask after test.finish(); or try the flow on "specification", "local" or "spark"',
            ).at(f"flow {self._plan.name!r}")
        return self._tables


class LocalBounded(BoundedDriver):
    """`Flow.compute` on the local engine."""

    def _compute(self, given: Mapping[str, list[Row]]) -> Any:
        from tidegate.local_engine.compute import compute
        from tidegate.testing.local import session

        return compute(self._plan, session(), {n: table_of(r, self._plan[n].schema.columns) for n, r in given.items()})

    def _rows(self, found: Any, schema: Schema) -> list[Row]:
        from tidegate.testing.local import rows_of

        return rows_of(found, schema)

    def _rejected(self, found: Any) -> list[Row]:
        from tidegate.testing.local import plain

        names = [*found.columns[:-1], "reason"]
        return [dict(zip(names, map(plain, row), strict=True)) for row in found.fetchall()]


class SparkBounded(BoundedDriver):
    """`Flow.compute` on Spark."""

    def __init__(self, setting: Setting, spark: SparkSession) -> None:
        super().__init__(setting)
        self._spark = spark

    def _compute(self, given: Mapping[str, list[Row]]) -> Any:
        from tidegate.spark import compute
        from tidegate.testing.on_spark import frame

        return compute(
            self._plan, self._spark, {n: frame(self._spark, self._plan[n].schema, r) for n, r in given.items()}
        )

    def _rows(self, found: Any, schema: Schema) -> list[Row]:
        from tidegate.testing.on_spark import rows_of

        return rows_of(found, schema)

    def _rejected(self, found: Any) -> list[Row]:
        from tidegate.spark.wire import python_rows

        return [{**dict(list(row.items())[:-1]), "reason": list(row.values())[-1]} for row in python_rows(found)]
