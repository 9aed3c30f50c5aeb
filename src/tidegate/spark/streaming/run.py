"""A run on Spark: a streaming query, whose batches are steps."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Thread
from typing import TYPE_CHECKING

from tidegate.engine.runs import Run
from tidegate.engine.steps.failures import between_steps
from tidegate.engine.storage.lock import Lock
from tidegate.flow.schema import Column
from tidegate.spark.arrow import struct_type
from tidegate.spark.error_messages import describe_error
from tidegate.spark.jvm import nothing_left
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.batch_runner import BatchRunner
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.heartbeat import Heartbeat
from tidegate.spark.streaming.parts import READ
from tidegate.spark.streaming.spark_records import explain_conflict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["SparkRun"]

_OUTSIDE = "it was not in a step: see that Spark can read the sources, and start again from this checkpoint"

_LOG = logging.getLogger("tidegate")


class SparkRun(Run):
    """A run on Spark. It has one streaming query."""

    def __init__(
        self,
        spark: SparkSession,
        engine: SparkEngine,
        query: StreamingQuery,
        batch_runner: BatchRunner,
        lock: Lock,
        *,
        ends: bool,
        once: bool = False,
        heartbeats: Sequence[Heartbeat] = (),
    ) -> None:
        super().__init__(engine)
        self._spark = spark
        self._engine = engine
        self._batch_runner = batch_runner
        self._lock = lock
        self._ends = ends
        self._once = once
        #: Whether `finish` has waited until everything in the sources was read.
        self._all_read = False
        #: Spark's own query, for its progress and its listeners.
        self.query = query
        self._heartbeats = heartbeats
        for heartbeat in heartbeats:
            heartbeat.start()
        Thread(target=self._watch, name=f"tidegate {engine.flow.name}", daemon=True).start()

    def _watch(self) -> None:
        try:
            with spark_runtime(self._spark).quiet():
                while not self.query.awaitTermination(1):
                    if self._lock.lost:
                        self._batch_runner.stop(self.query, 0)
                        raise self._lock.lost
                    if self._engine.complete:
                        # No more rows can come: the flows that this one follows have ended.
                        self._batch_runner.stop(self.query, None)
                if self._batch_runner.failure is not None:
                    # If a step fails while its query is being stopped, Spark treats it as interrupted.
                    raise self._batch_runner.failure
                if self._engine.complete or (self._ends and self._has_read_all()):
                    self._engine.finish()
        except BaseException as error:
            failed = between_steps(
                self._engine.flow, explain_conflict(self._engine.files, error), describe_error, hint=_OUTSIDE
            )
            self._failure = self._batch_runner.failure or failed
        finally:
            self._stop_clocks()
            try:
                self._end_trace()
                self._lock.release()
            except Exception as error:  # the session is gone, and the lock stays until the next run
                self._failure = self._failure or error
            self._done.set()

    def _has_read_all(self) -> bool:
        """Whether the query has ended because everything was read, by itself or for `finish`, and was not stopped."""
        if self._all_read or nothing_left(self.query) or (self._once and self._batch_runner.done):
            return True
        name = self._engine.flow.name
        _LOG.warning("flow %r: Spark's query was stopped before it had read all: the input has not ended", name)
        return False

    def stop(self, timeout: float | None = 20) -> bool:
        """Stop the run. Return whether the running step ended, or none was running. The next start continues after it.

        A step that does not end within ``timeout`` seconds is cancelled, and the next start runs it again. If
        ``timeout`` is None, or the step is the one that ends the input, it is never cancelled.
        """
        self._ends = False
        ended = self._batch_runner.stop(self.query, timeout)
        self._done.wait()
        if not ended:
            self._log_cancelled(timeout)
        return ended

    def finish(self) -> None:
        """Read all that the sources have now, and end the input. All times become complete, and the run is over.

        The end of the input is a step of its own. It closes the checkpoint: no run can continue from it.
        """
        # The clock never ends: there would always be one more beat.
        self._stop_clocks()
        # This is set before we wait for Spark, because the query may end by itself meanwhile.
        self._ends = True
        try:
            with spark_runtime(self._spark).quiet():
                self.query.processAllAvailable()
        except Exception:
            # Spark passes on only the text of a step's error; `await_termination` raises the error itself.
            self.await_termination()
            raise
        # If it was stopped in the meantime, there may be more rows.
        self._all_read = self.query.isActive or nothing_left(self.query)
        self._batch_runner.stop(self.query, None)
        self.await_termination()
        self._check_ended()

    def _stop_clocks(self) -> None:
        for heartbeat in self._heartbeats:
            heartbeat.stop()

    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> DataFrame:
        schema = struct_type(columns)
        if not paths:
            return self._spark.createDataFrame([], schema)
        return self._spark.read.options(**READ).schema(schema).parquet(*paths).where(condition)
