"""A flow in steps that a test makes, on the local engine or on Spark's, which is handed the batches of a query."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.local_engine import steps as local_steps
from tests.local_engine.engine import rows_of
from tests.spark import steps as spark_steps
from tidegate.engine.frontiers import of_user, shown
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.sources import united
from tidegate.spark.wire import python_rows
from tidegate.testing.local import plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["IN_FEW_STEPS", "IN_MANY_STEPS", "LocalStreams", "SparkStreams", "Streams", "answers", "frontier", "stepped"]

#: The rows of a step: those of the source ``s``, or of each source.
Given = Sequence[tuple[Any, ...]] | Mapping[str, Sequence[tuple[Any, ...]]]

#: An engine between two steps.
Stepped = LocalEngine | SparkEngine

#: Stories of up to three steps, on both engines; and longer ones, or of whole runs, left to `make check` on Spark.
IN_FEW_STEPS, IN_MANY_STEPS = (
    pytest.mark.parametrize("streams", ["local", pytest.param("spark", marks=marks)], indirect=True)
    for marks in ([pytest.mark.spark], [pytest.mark.spark, pytest.mark.slow])
)


class Streams(ABC):
    """An engine, and a directory for a checkpoint, outputs and files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    @abstractmethod
    def session(self) -> Any:
        """What `Flow.start` and `tg.read` are given."""

    @abstractmethod
    def in_directory(self, name: str) -> Streams:
        """The same engine in a directory of this one."""

    @abstractmethod
    def stepped(self, flow: tg.Flow, cuts: Sequence[Given], *, begin: int = 0, **options: Any) -> Stepped:
        """An engine that knows nothing but the checkpoint, and has taken these rows, from the step ``begin`` on."""

    @abstractmethod
    def answers(self, flow: tg.Flow, sink: str = "out") -> list[tuple[Any, ...]]:
        """The rows of a sink so far."""

    @abstractmethod
    def files(self, columns: str) -> Any:
        """A stream of the files that were written, one in each step."""

    @abstractmethod
    def dicts(self, found: Any) -> list[dict[str, Any]]:
        """The rows that a run returns."""

    def write_file(self, number: int, **columns: list[Any]) -> None:
        """Write a file that `files` reads, in the order of the numbers."""
        place = self.directory / "in"
        place.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), place / f".{number}")
        os.utime(place / f".{number}", (1_000_000 + number, 1_000_000 + number))
        (place / f".{number}").rename(place / f"{number}.parquet")

    def start(self, flow: tg.Flow, inputs: Mapping[str, Any], **options: Any) -> tg.Run:
        """Start a flow whose checkpoint and outputs are in this directory."""
        outputs = {sink.name: tg.parquet(str(self.directory / sink.name)) for sink in flow.plan.sinks}
        return flow.start(self.session, inputs, outputs, str(self.directory / "checkpoint"), **options)


class LocalStreams(Streams):
    """The local engine."""

    @property
    def session(self) -> Any:
        return tg.local()

    def in_directory(self, name: str) -> LocalStreams:
        return LocalStreams(self.directory / name)

    def stepped(self, flow: tg.Flow, cuts: Sequence[Given], *, begin: int = 0, **options: Any) -> LocalEngine:
        plan, given = flow.plan, [_by_source(cut) for cut in cuts]
        readers = {s.id: local_steps.Cut(s.schema, [cut[s.id] for cut in given]) for s in plan.sources}
        for reader in readers.values():
            reader.released = begin
        engine = local_steps.engine_in(plan, readers, {}, self.directory, **options)
        for number in range(begin, len(cuts)):
            for reader in readers.values():
                reader.released = number + 1
            engine.step()
        return engine

    def answers(self, flow: tg.Flow, sink: str = "out") -> list[tuple[Any, ...]]:
        plan = flow.plan
        schema = plan[next(s.input for s in plan.sinks if s.name == sink)].schema
        return rows_of(schema, tg.read(tg.local(), str(self.directory / sink)))

    def files(self, columns: str) -> Any:
        del columns
        return tg.files(self.directory / "in" / "*.parquet", per_step=1)

    def dicts(self, found: Any) -> list[dict[str, Any]]:
        return [dict(zip(found.columns, map(plain, row), strict=True)) for row in found.fetchall()]


class SparkStreams(Streams):
    """Spark's engine. Steps are made without a query around them; a flow that is started has one."""

    def __init__(self, directory: Path, spark: SparkSession) -> None:
        super().__init__(directory)
        self._spark = spark

    @property
    def session(self) -> Any:
        return self._spark

    def in_directory(self, name: str) -> SparkStreams:
        return SparkStreams(self.directory / name, self._spark)

    def stepped(self, flow: tg.Flow, cuts: Sequence[Given], *, begin: int = 0, **options: Any) -> SparkEngine:
        plan, runtime = flow.plan, spark_runtime(self._spark)
        engine = spark_steps.engine_in(self._spark, plan, {}, self.directory, **options)
        for number in range(begin, len(cuts)):
            given = _by_source(cuts[number])
            inputs = {s.id: spark_steps.frame(self._spark, s.schema, given[s.id]) for s in plan.sources}
            with runtime.settings(spark__sql__shuffle__partitions="1"):
                engine.step(united(plan, runtime, inputs), number)
        return engine

    def answers(self, flow: tg.Flow, sink: str = "out") -> list[tuple[Any, ...]]:
        found = spark_steps.rows(tg.read(self._spark, str(self.directory / sink)))
        plan = flow.plan
        width = len(plan[next(s.input for s in plan.sinks if s.name == sink)].schema.names)
        assert all(len(row) == width for row in found)
        return found

    def files(self, columns: str) -> Any:
        reader = self._spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.directory / "in"))

    def dicts(self, found: Any) -> list[dict[str, Any]]:
        return python_rows(found)


def _by_source(cut: Given) -> Mapping[str, Sequence[tuple[Any, ...]]]:
    return cut if isinstance(cut, Mapping) else {"s": cut}


def stepped(flow: tg.Flow, cuts: Sequence[Given], directory: Path, *, begin: int = 0, **options: Any) -> LocalEngine:
    """A local engine that has taken these rows, a list in each step, from the step ``begin`` on."""
    return LocalStreams(directory).stepped(flow, cuts, begin=begin, **options)


def answers(flow: tg.Flow, directory: Path) -> list[tuple[Any, ...]]:
    """The rows of the sink so far, of a local engine."""
    return LocalStreams(directory).answers(flow)


def frontier(engine: Stepped) -> str:
    """The frontier of the sink, as it is shown."""
    flow = engine.flow
    schema = flow[flow.sinks[0].input].schema
    found = engine.tracking.of_sink(flow.sinks[0].name)
    assert set(of_user(schema, found)) <= set(getattr(schema.coordinates.order, "elements", of_user(schema, found)))  # type: ignore[union-attr]
    return shown(schema, found)
