"""The engine of a run on Spark: each batch of its query is a step."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.engine.commits.commit import Commit, Origin
from tidegate.engine.outputs import Output
from tidegate.engine.steps.metrics import StepMetrics
from tidegate.engine.steps.prepared import Prepared, Probe
from tidegate.engine.steps.publishing import publish
from tidegate.engine.steps.resuming import resumed
from tidegate.engine.steps.running import Running
from tidegate.engine.steps.step import Batch
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import Log
from tidegate.engine.storage.state import Part, fold_from
from tidegate.flow.plan import Plan
from tidegate.flow.watermarks import Ticking
from tidegate.spark.backend import SparkBackend
from tidegate.spark.jvm import partitions_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.attempt import SparkAttempt
from tidegate.spark.streaming.heartbeat import delete_beats
from tidegate.spark.streaming.host import SparkHost
from tidegate.spark.streaming.parts import PartCache
from tidegate.spark.streaming.sources import beats_of, split_by_source
from tidegate.spark.streaming.spark_records import query_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkEngine", "resume"]


def resume(
    flow: Plan,
    runtime: Runtime,
    files: Files,
    tables: Mapping[str, DataFrame],
    outputs: Mapping[str, Output],
    *,
    lock: Lock | None = None,
    allow_pickle: bool = False,
    fold_from: Callable[[Sequence[Part]], int] = fold_from,
    probe: Probe = lambda point, step: None,  # noqa: ARG005
    report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
    clock: Callable[[], float] = time.time,
) -> SparkEngine:
    """Return an engine that continues from the last commit of a checkpoint, or starts if there is none."""
    host = SparkHost(runtime, tables)
    options: dict[str, Any] = {"allow_pickle": allow_pickle, "fold_from": fold_from, "probe": probe}
    run, log, last = resumed(flow, host, files, outputs, lock=lock, **options)
    return SparkEngine(run, host, log, last, lock=lock, report=report, clock=clock)


class SparkEngine(Running):
    """A run of a flow on Spark."""

    def __init__(
        self,
        run: Prepared,
        host: SparkHost,
        log: Log,
        last: Commit | None,
        *,
        lock: Lock | None = None,
        report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(run, log, last, lock=lock, report=report, clock=clock)
        self._host = host
        self._runtime = host.runtime
        #: The runtime of the session that Spark has for batches.
        self._batches: Runtime | None = None
        self._cache = PartCache()

    @property
    def beat(self) -> int:
        """The number of the last beat of the clock that a step has received."""
        return self.last_beat.number if self.last_beat else -1

    def step(self, batch: DataFrame, number: int) -> None:
        """Run the batch with this number as a step, unless it is committed already."""
        query, offsets = self._origin(number)
        last = self.last.origin if self.last else Origin()
        due = 0 if last.batch is None else last.batch + 1
        if last.batch is not None and number <= last.batch:
            # Spark starts a batch when both it and we have committed the one before, so only the last can come again.
            if number < last.batch or query != last.query or offsets != last.offsets:
                raise self._mismatch(f"batch {last.batch} is committed, and Spark gives batch {number} with other rows")
            return
        if number != due or (self.last is not None and query != last.query):
            known = last.query if self.last else query
            raise self._mismatch(f"batch {due} of query {known} is due, Spark gives batch {number}")
        self._batches = self._batches or replace(self._runtime, session=batch.sparkSession, made={})
        runtime, several = self._batches, self.run.entries.passes > 1
        with self.in_step(), self.replaceable(), self._settings(runtime):
            # Rows that are read only once need not be cached.
            rows = batch.persist() if several else _in_one_partition(batch)
            backend = SparkBackend(runtime)
            try:
                taken = split_by_source(
                    self.flow, backend, rows, self.marks, self.run.entries.sources, self.arrival_time()
                )
                origin = Origin("spark", number, query, offsets)
                self.run_batch(self._attempt(runtime), Batch(taken, origin, beats_of(self.flow, backend, rows)))
            finally:
                if several:
                    rows.unpersist()

    def finish(self) -> None:
        """Make all times complete. The end of the input is a step of its own, and closes the checkpoint."""
        last = self.last
        with self.in_step(), self.replaceable(), self._settings(self._runtime):
            if last is not None:
                # The query may have been stopped during a step that was committed and not published yet.
                publish(self.run, last)
            origin = replace(last.origin, offsets="") if last else Origin()
            self.run_batch(self._attempt(self._runtime), Batch({}, origin, ended=True))

    def step_failed(self) -> None:
        """Release all cached parts."""
        self._cache.forget()

    def committed(self, before: Commit | None, commit: Commit) -> None:
        """Release cached parts that are not needed any more, and delete beats that were received."""
        self._cache.forget(commit.paths)
        if before is None:
            return
        if beat := self.last_beat_of_all(before.marks):
            delete_beats(self.files, beat.number)
        for source in self.flow.sources:
            if isinstance(source.watermark, Ticking) and (tick := before.marks[source.id].memory) is not None:
                delete_beats(self.files, tick, self.run.origins[source.id])

    def _attempt(self, runtime: Runtime) -> SparkAttempt:
        return SparkAttempt(
            self.next,
            self.attempt,
            self.flow,
            self.files,
            runtime,
            self.run.shapes,
            self._host.frames,
            cache=self._cache,
            watch=self.round_began,
        )

    def _settings(self, runtime: Runtime) -> Any:
        return runtime.in_steps(spark__sql__session__timeZone=self.flow.timezone)

    def _origin(self, number: int) -> tuple[str, str]:
        """Return Spark's id of the query, and a hash of the offsets at which a batch begins and ends."""
        query = query_id(self.files)
        name = f"spark/offsets/{number}"
        if not self.files.exists(name):
            return query, ""
        # The first two lines have a version, the time and settings.
        places = self.files.text(name).splitlines()[2:]
        return query, hashlib.sha256("\n".join(places).encode()).hexdigest()[:16]

    def _mismatch(self, what: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"the two halves of the checkpoint {self.files.root} do not belong together: {what}",
            hint="was one of its directories, spark or commits, deleted, or restored from an older copy? "
            "restore both from the same time, or begin with a new checkpoint and other outputs",
        ).at(f"flow {self.flow.name!r}")


def _in_one_partition(batch: DataFrame) -> DataFrame:
    """Return a batch. If it has one partition, Spark gets to know that, and need not shuffle it."""
    return batch.coalesce(1) if partitions_of(batch) == 1 else batch
