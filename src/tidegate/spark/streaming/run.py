"""`Run`: a flow that is running, and what can be asked of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from tidegate.engine.commits.by_step import checked_steps, directory_of
from tidegate.engine.frontiers import COMPLETE, Frontier, shown
from tidegate.engine.storage.errors import RunStopped
from tidegate.engine.storage.lock import Lock
from tidegate.engine.times import parse_time
from tidegate.flow.errors import BadArgument, nearest
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Schema
from tidegate.printable import printable
from tidegate.progress import Reason
from tidegate.spark.arrow import struct_type
from tidegate.spark.jvm import nothing_left
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import Engine
from tidegate.spark.streaming.failures import between_steps, in_a_line
from tidegate.spark.streaming.halves import explained
from tidegate.spark.streaming.heartbeat import Heart
from tidegate.spark.streaming.parts import READ
from tidegate.spark.streaming.turns import Turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Run", "Status"]

_LOG = logging.getLogger("tidegate")


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run is: ``running``, ``stopped``, ``ended`` or ``failed``; the last step; rows so far, by source.

    ``failure`` is what it failed with, in one line; else empty.
    """

    flow: str
    state: str
    step: int | None
    frontiers: Mapping[str, str]
    rows: Mapping[str, int]
    late: Mapping[str, int]
    rejected: Mapping[str, int]
    failure: str = ""

    def __str__(self) -> str:
        lines = [f"flow {self.flow}: {self.state}, {'no step yet' if self.step is None else f'step {self.step}'}"]
        lines += [f"  {self.failure}"] if self.failure else []
        lines += [
            f"  {sink}: {frontier if frontier == COMPLETE else f'not complete from {frontier} on'}"
            for sink, frontier in self.frontiers.items()
        ]
        lines += [
            f"  {source}: {rows:,} rows, {self.late[source]:,} late, {self.rejected[source]:,} rejected"
            for source, rows in self.rows.items()
        ]
        return printable("\n".join(lines), lines=True)


class Run:
    """A running flow: one streaming query of Spark, whose batches are the steps."""

    def __init__(
        self,
        spark: SparkSession,
        engine: Engine,
        query: StreamingQuery,
        turns: Turns,
        lock: Lock,
        *,
        ends: bool,
        once: bool = False,
        heart: Heart | None = None,
    ) -> None:
        self._spark = spark
        self._engine = engine
        self._turns = turns
        self._lock = lock
        self._ends = ends
        self._once = once
        #: Whether `finish` has waited for all that the sources have.
        self._all_read = False
        self._done = Event()
        self._failure: BaseException | None = None
        #: Spark's own query, for its progress and its listeners.
        self.query = query
        self._heart = heart
        if heart:
            heart.start()
        Thread(target=self._watch, name=f"tidegate {engine.flow.name}", daemon=True).start()

    def __repr__(self) -> str:
        status = self.status()
        return f"<Run of {status.flow}: {status.state}, step {status.step}>"

    def _watch(self) -> None:
        try:
            with spark_runtime(self._spark).quiet():
                while not self.query.awaitTermination(1):
                    if self._lock.lost:
                        self._turns.stop(self.query, 0)
                        raise self._lock.lost
                    if self._engine.complete:
                        # Nothing can come any more: the flows that this one follows have ended.
                        self._turns.stop(self.query, None)
                if self._turns.failure is not None:
                    # Spark takes a step that failed while its query was stopped for one that was interrupted.
                    raise self._turns.failure
                if self._engine.complete or (self._ends and self._has_read_all()):
                    self._engine.finish()
        except BaseException as error:
            told = between_steps(self._engine.flow, explained(self._engine.files, error))
            self._failure = self._turns.failure or told
        finally:
            if self._heart:
                self._heart.stop()
            try:
                self._lock.release()
            except Exception as error:  # the session is gone, and the lock is left to be found dead
                self._failure = self._failure or error
            self._done.set()

    def _has_read_all(self) -> bool:
        """Whether the query has ended because there is no more, or `finish` has; else it was stopped from outside."""
        if self._all_read or nothing_left(self.query) or (self._once and self._turns.done):
            return True
        name = self._engine.flow.name
        _LOG.warning("flow %r: Spark's query was stopped before it had read all: the input has not ended", name)
        return False

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended or was stopped; raise what it failed with. Answer whether it is over."""
        over = self._done.wait(timeout)
        if self._failure is not None:
            raise self._failure
        return over

    def stop(self, timeout: float | None = 20) -> bool:
        """Stop. Return whether the step that was running ended, or none was; the next start goes on after it.

        A step that does not end within ``timeout`` seconds is cancelled, and the next start runs it again. None waits
        for it as long as it takes. The step that ends the input is always waited for.
        """
        self._ends = False
        ended = self._turns.stop(self.query, timeout)
        self._done.wait()
        if not ended:
            name = self._engine.flow.name
            _LOG.warning("flow %r: the step that ran was cancelled after %s s; the next start runs it", name, timeout)
        return ended

    def finish(self) -> None:
        """Take what the sources have now as the end of the input: everything becomes complete, and the run is over.

        The end is a step of its own. It closes the checkpoint: no run can go on from it.
        """
        if self._heart:
            # The clock never ends: there would always be one more beat to hear.
            self._heart.stop()
        # Before Spark is waited for: a query may end by itself.
        self._ends = True
        try:
            with spark_runtime(self._spark).quiet():
                self.query.processAllAvailable()
        except Exception:
            # Spark passes on the text of what a step failed with; `await_termination` has it as it is.
            self.await_termination()
            raise
        # If it was stopped from outside meanwhile, there may be more.
        self._all_read = self.query.isActive or nothing_left(self.query)
        self._turns.stop(self.query, None)
        self.await_termination()
        if self.status().state != "ended":
            raise RunStopped(
                "expected a run that goes on, whose input can end, got one that was stopped",
                hint="start the flow again from its checkpoint, and call finish() on that run",
            ).at(f"flow {self._engine.flow.name!r}")

    def status(self) -> Status:
        """Answer where the run is."""
        engine = self._engine
        last = engine.last
        over = "ended" if last is not None and last.ended else "stopped"
        state = "running" if not self._done.is_set() else "failed" if self._failure else over
        marks = engine.marks
        return Status(
            engine.flow.name,
            state,
            None if last is None else last.step,
            {name: shown(self._schema(name), frontier) for name, frontier in self.frontiers().items()},
            {source: mark.rows for source, mark in marks.items()},
            {source: mark.late for source, mark in marks.items()},
            {source: mark.rejected for source, mark in marks.items()},
            in_a_line(self._failure) if state == "failed" and self._failure else "",
        )

    def frontiers(self) -> dict[str, Frontier]:
        """Answer, for each sink, the least times that may still come out; none when everything is complete."""
        return {sink.name: self._engine.tracking.of_sink(sink.name) for sink in self._engine.flow.sinks}

    def why(self, time: Any, sink: str = "") -> list[Reason]:
        """Answer what holds a time back: the sources that may still give rows that reach it; none if it is complete.

        ``time`` is a value, a text in the form of Spark SQL, or with several time columns a tuple of those.
        """
        names = [s.name for s in self._engine.flow.sinks]
        if sink and sink not in names:
            near = nearest(sink, names)
            raise BadArgument(
                f"expected the name of a sink ({', '.join(names)}), got {sink!r}",
                hint=f"did you mean {near!r}?" if near else "",
            )
        found: dict[Reason, None] = {}
        for name in [sink] if sink else names:
            t = parse_time(self._schema(name), time)
            found |= dict.fromkeys(self._engine.tracking.why(name, t))
        return list(found)

    def metrics(self) -> list[dict[str, Any]]:
        """Answer what each of the last steps of this run took in and gave out, and how long it took."""
        return [asdict(metrics) for metrics in self._engine.metrics]

    def late(self, source: str) -> DataFrame:
        """Answer the rows of a source that came too late: time, source, step, reason, the bound, and the row."""
        return self._diverted(source).where("reason = 'late'")

    def rejected(self, source: str) -> DataFrame:
        """Answer the rows of a source that could not take part: time, source, step, reason, and the row."""
        return self._diverted(source).where("reason != 'late'")

    def _diverted(self, source: str) -> DataFrame:
        from pyspark.sql.types import StructType

        files, flow = self._engine.files, self._engine.flow
        names = [s.id for s in flow.sources]
        if source not in names:
            near = nearest(str(source), names)
            raise BadArgument(
                f"expected the name of a source ({', '.join(names)}), got {source!r}",
                hint=f"did you mean {near!r}?" if near else "",
            )
        schema = flow[source].schema
        columns = StructType().add("time", struct_type(schema.times)).add("source", "string").add("step", "long")
        columns = columns.add("reason", "string").add("bound", "string").add("row", struct_type(schema.columns))
        directory, last = self._engine.run.late_rows(source), self._engine.last
        found: list[str] = []
        if last is not None:
            pending = {p.name: p for p in last.publish if directory_of(p) == directory}
            found = checked_steps(files, directory, last.step, pending, last.aside.get(directory, 0))
        if not found:
            return self._spark.createDataFrame([], columns)
        return self._spark.read.options(**READ).schema(columns).parquet(*found)

    def _schema(self, sink: str) -> Schema:
        flow: Plan = self._engine.flow
        return flow[next(s.input for s in flow.sinks if s.name == sink)].schema
