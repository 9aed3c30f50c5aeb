"""The Spark engine for trials. It gets batches as from a streaming query, but no query runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.engine.inputs import STEP
from tidegate.engine.outputs import parquet
from tidegate.engine.policies import CLOCK, policy_of, signals_of
from tidegate.flow.clocks import given_schema
from tidegate.flow.plan import Source
from tidegate.flow.reading import read
from tidegate.flow.schema import Column, Schema
from tidegate.progress import Reason
from tidegate.spark.arrow import struct_type
from tidegate.spark.hadoop import files_at
from tidegate.spark.rows import columns_of
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.parts import READ
from tidegate.spark.streaming.sources import united
from tidegate.spark.streaming.start import prepare
from tidegate.spark.wire import python_rows
from tidegate.testing.driven_run import DrivenRun, ManualClock
from tidegate.testing.engines import Driver, Row, Setting, SourceInput
from tidegate.testing.local import place_for, timed_lines
from tidegate.testing.plans import driven
from tidegate.testing.strategies import due_beat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkDriver", "frame", "rows_of"]


class SparkDriver(Driver):
    """A flow on the Spark engine, with a checkpoint and outputs in a directory of its own."""

    def __init__(self, setting: Setting, spark: SparkSession, directory: Path | None, **options: Any) -> None:
        self._plan = driven(setting)
        self._spark = spark
        self._setting = setting
        self._clock = ManualClock(setting.now)
        self._options = options
        self._place = place_for(self, directory)
        self._batch = 0
        self._ticks: dict[str, int] = {}
        self._engine = self._begin()

    def _begin(self) -> SparkEngine:
        spark = self._spark
        frames = {t.id: frame(spark, t.schema, self._setting.tables[t.id]) for t in self._plan.tables}
        outputs = {sink.name: parquet(str(self._place / sink.name)) for sink in self._plan.sinks}
        files = files_at(spark, str(self._place / "checkpoint"))
        return prepare(self._plan, spark, frames, outputs, files, clock=self._clock, **self._options)

    def step(self, given: Mapping[str, SourceInput], *, partitions: int = 1) -> None:
        """Make a step with a batch of the rows and times."""
        runtime = spark_runtime(self._spark)
        inputs = {s.id: self._frame(s, given.get(s.id, SourceInput()).rows) for s in self._plan.sources}
        batch = united(self._plan, runtime, inputs, self._signals(given))
        with runtime.settings(spark__sql__shuffle__partitions=str(partitions)):
            self._engine.step(batch.repartition(partitions) if partitions > 1 else batch, self._batch)
        self._batch += 1

    def _frame(self, source: Source, rows: Sequence[Row]) -> DataFrame:
        schema, rows = given_schema(source), list(rows)
        if clock := self._setting.clocks.get(source.id):
            tick = self._clock.micros - self._clock.micros % clock.every
            if tick > self._ticks.get(source.id, tick - 1):
                self._ticks[source.id] = tick
                rows.append({schema.names[0]: datetime.fromtimestamp(tick / 1_000_000, UTC).replace(tzinfo=None)})
        if policy_of(source).reads_lines:
            # A source with signals may follow another flow. Then its rows have the number of that flow's step.
            schema = schema.of((*schema.columns, Column(STEP, "BIGINT")))
            rows = [{**row, STEP: None} for row in rows]
        return frame(self._spark, schema, rows)

    def _signals(self, given: Mapping[str, SourceInput]) -> dict[str, DataFrame]:
        found = {}
        for name in signals_of(self._plan):
            if name == CLOCK:
                beat = due_beat(self._engine, self._clock.micros)
                lines = [beat.line] if beat else []
            else:
                lines = timed_lines(self._engine.flow, name, given.get(name, SourceInput()).complete)
            found[name] = frame(self._spark, Schema((Column("value", "STRING"),)), [{"value": line} for line in lines])
        return found

    def set_clock(self, now: datetime) -> None:
        """Set the clock, and make a step with its ticks and beats."""
        self._clock.now = now
        self.step({})

    def restart(self) -> None:
        """Start a new engine, which continues from the checkpoint."""
        self._engine = self._begin()

    def finish(self) -> None:
        """End the input."""
        self._engine.finish()

    def rows(self, sink: str) -> list[Row]:
        """Return the rows of committed steps."""
        schema = self._plan[next(s.input for s in self._plan.sinks if s.name == sink)].schema
        return rows_of(read(self._spark, str(self._place / sink)), schema)

    def late(self, source: str) -> list[Row]:
        """Return the late rows of a source."""
        return [aside["row"] for aside in python_rows(self._run.late(source))]

    def rejected(self, name: str) -> list[Row]:
        """Return the rows that a source or an operator rejected, with the reason."""
        return [{**aside["row"], "reason": aside["reason"]} for aside in python_rows(self._run.rejected(name))]

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what holds a time back at a sink."""
        return self._run.why(t, sink)

    def open_from(self, sink: str) -> list[Any]:
        """Return the least times of a sink that are not complete."""
        return list(self._run.frontiers()[sink])

    @property
    def _run(self) -> DrivenRun:
        return DrivenRun(self._engine, self._read_aside)

    def _read_aside(self, paths: list[str], columns: list[Column], condition: str) -> DataFrame:
        schema = struct_type(columns)
        if not paths:
            return self._spark.createDataFrame([], schema)
        return self._spark.read.options(**READ).schema(schema).parquet(*paths).where(condition)

    def close(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self._place, ignore_errors=True)


def frame(spark: SparkSession, schema: Schema, rows: Sequence[Row]) -> DataFrame:
    """Return rows as a DataFrame in one partition, as tests have few rows."""
    data = [tuple(_zoned(row[c.name], c) for c in schema.columns) for row in rows]
    return spark.createDataFrame(data, struct_type(schema.columns), verifySchema=False).coalesce(1)


def rows_of(found: DataFrame, schema: Schema) -> list[Row]:
    """Return the rows of a result. Raise if its columns are not those of ``schema``, which the flow derived."""
    settled = columns_of(found.schema)
    derived = [Column(c.name, c.type or s.type) for c, s in zip(schema.columns, settled, strict=True)]
    assert derived == list(settled), f"{list(map(str, derived))} were derived, {list(map(str, settled))} came out"
    return python_rows(found)


def _zoned(value: Any, column: Column) -> Any:
    """Return an instant with the zone UTC. Without one, PySpark would take it for the local time of the machine."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and column.type == "TIMESTAMP" else value
