"""The engine of a running flow: steps, each of which is committed whole or not at all."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidegate.engine.commits.commit import Commit, write_commit
from tidegate.engine.frontiers import time_of
from tidegate.engine.loops.rounds import Least
from tidegate.engine.marks import Marks
from tidegate.engine.partitions import Partitions
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import NOBODY, Log, read_log
from tidegate.engine.storage.state import Part, fold_from
from tidegate.engine.tracking import Tracking
from tidegate.flow.plan import Iterate, Plan
from tidegate.spark.jvm import partitions_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.attempt import SparkAttempt
from tidegate.spark.streaming.cleaning import clean
from tidegate.spark.streaming.failures import in_step
from tidegate.spark.streaming.halves import query_id
from tidegate.spark.streaming.heartbeat import forget
from tidegate.spark.streaming.metrics import StepMetrics, metrics_of
from tidegate.spark.streaming.outputs import Output
from tidegate.spark.streaming.parts import Warm
from tidegate.spark.streaming.prepared import Prepared, Probe, prepared
from tidegate.spark.streaming.publishing import publish
from tidegate.spark.streaming.recovery import recover
from tidegate.spark.streaming.sources import take
from tidegate.spark.streaming.step import Batch, run_step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Engine", "resume"]


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
) -> Engine:
    """Return an engine that goes on from the last commit of a checkpoint, or begins if there is none."""
    log = read_log(files)
    if lock and log.token.lock > lock.token.lock:
        lock.check()
    found = log.commit
    options: dict[str, Any] = {"allow_pickle": allow_pickle, "fold_from": fold_from, "probe": probe}
    run = prepared(flow, runtime, files, tables, outputs, found["flow"] if found else None, **options)
    with _told_if_replaced(lock):
        last = recover(run, runtime, found, lock) if found else None
    return Engine(run, runtime, log, last, lock=lock, report=report)


class Engine:
    """A run of a flow: its last commit, where its sources are, and how far everything is complete."""

    def __init__(
        self,
        run: Prepared,
        runtime: Runtime,
        log: Log,
        last: Commit | None,
        *,
        lock: Lock | None = None,
        report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
    ) -> None:
        self.run = run
        self.flow = run.flow
        self.files = run.files
        self.last = last
        self.metrics: list[StepMetrics] = []
        self._runtime = runtime
        #: The runtime of batches, which Spark gives a session of their own.
        self._batches: Runtime | None = None
        self._report = report
        self._warm = Warm()
        self._lock = lock
        self._token = lock.token if lock else NOBODY
        #: What the names of all that this run writes end with: the number of its lock, and an id.
        self.attempt = f"{self._token.lock}.{uuid4().hex[:8]}"
        #: The number of the last record in the log.
        self._number = log.number
        #: State that the commit before the last one names.
        self._older: set[str] = last.paths if last else set()
        self.marks = dict(last.marks) if last else {s.id: Marks.start(s) for s in run.flow.sources}
        self.tracking = Tracking(run.flow, {source: marks.frontier for source, marks in self.marks.items()})

    @property
    def beat(self) -> int:
        """The number of the last beat of the clock that a step has heard."""
        return _beat(self.marks)

    @property
    def complete(self) -> bool:
        """Whether no source can give rows any more."""
        return not any(mark.frontier for mark in self.marks.values())

    def step(self, batch: DataFrame, number: int) -> None:
        """Run Spark's batch of that number as a step, unless it is committed already."""
        query, offsets = self._origin(number)
        last = self.last
        due = 0 if last is None or last.batch is None else last.batch + 1
        if last is not None and last.batch is not None and number <= last.batch:
            # Spark goes on to the next batch only when this one is committed on both sides: no earlier one comes again.
            if number < last.batch or query != last.query or offsets != last.offsets:
                raise self._torn(f"batch {last.batch} is committed, and Spark gives batch {number} with other rows")
            return
        if number != due or (last is not None and query != last.query):
            raise self._torn(f"batch {due} of query {last.query if last else query} is due, Spark gives batch {number}")
        self._batches = self._batches or replace(self._runtime, session=batch.sparkSession, made={})
        runtime, several = self._batches, self.run.entries.passes > 1
        with self._in_step(), self._replaceable(), self._settings(runtime):
            # What is read once only is not worth keeping.
            rows = batch.persist() if several else _alone(batch)
            try:
                taken = take(self.flow, runtime, rows, self.marks, self.run.entries.sources)
                self._run(runtime, Batch(rows, taken, number, query, offsets))
            finally:
                if several:
                    rows.unpersist()

    def finish(self) -> None:
        """Complete everything: the end of the input is a step of its own, and closes the checkpoint."""
        last = self.last
        with self._in_step(), self._replaceable(), self._settings(self._runtime):
            if last is not None:
                # Whoever stopped the query may have stopped a step that was committed and not yet published.
                publish(self.run, self._runtime, last)
            number, query = (last.batch, last.query) if last else (None, "")
            self._run(self._runtime, Batch(None, {}, number, query, "", ended=True))

    def _in_step(self) -> AbstractContextManager[None]:
        """Name the step that comes next in what fails inside, in our words."""
        number = self._next
        return in_step(self.flow, number, lambda: self.last is not None and self.last.step == number)

    @property
    def _next(self) -> int:
        """The number of the next step."""
        return self.last.step + 1 if self.last else 0

    def _settings(self, runtime: Runtime) -> Any:
        return runtime.in_steps(spark__sql__session__timeZone=self.flow.timezone)

    def _run(self, runtime: Runtime, batch: Batch) -> None:
        """Run a step, commit it, publish its results, and delete what is not needed any more."""
        started, number, probe = time.monotonic(), self._next, self.run.probe
        probe("begin", number)
        shared = (self.flow, self.files, runtime, self.run.shapes)
        step = SparkAttempt(number, self.attempt, *shared, warm=self._warm, watch=self._turn)
        try:
            done = run_step(
                self.run,
                step,
                batch,
                self.last,
                self.marks,
                self.tracking,
                number=self._number + 1,
                token=self._token,
            )
            commit = self._commit(done.commit)
        except BaseException:
            self._warm.forget()
            self.tracking.move({source: mark.frontier for source, mark in self.marks.items()})
            raise
        before, self.last, self.marks = self.last, commit, dict(commit.marks)
        probe("after commit", number)
        publish(self.run, self._runtime, commit, probe=lambda point: probe(point, number))
        probe("published", number)
        probe("cleaning", number)
        self._clean(before, commit, step)
        self.metrics.append(metrics_of(self.flow, commit, done.seen, time.monotonic() - started, datetime.now(UTC)))
        self._report(self.metrics[-1])
        del self.metrics[:-1000]

    def _commit(self, commit: Commit) -> Commit:
        """Write a commit, while this run holds its lock; return it with its number in the log."""
        with self._lock.committing() if self._lock else nullcontext():
            written = write_commit(
                self.files,
                self.flow,
                commit,
                before=self.last.number if self.last else -1,
                midway=lambda: self.run.probe("during commit", commit.step),
            )
        self._number = written.number
        return written

    def _clean(self, before: Commit | None, commit: Commit, step: SparkAttempt) -> None:
        """Delete what the last two commits do not name, and beats that were heard before."""
        unneeded = self._older | step.made
        self._older = before.paths if before else set()
        self._warm.forget(commit.paths)
        clean(self.files, before, commit, unneeded)
        if before and _beat(before.marks) >= 0:
            forget(self.files, _beat(before.marks))

    @contextmanager
    def _replaceable(self) -> Iterator[None]:
        """Raise if another run has replaced this one, before and after what is done inside."""
        with _told_if_replaced(self._lock):
            if self._lock:
                self._lock.check()
            yield
            # Before Spark notes that the batch is done, and begins the next.
            if self._lock:
                self._lock.check()

    def _turn(self, loop: Iterate, number: int, least: Least | None) -> None:
        """Let the tracker know where a loop is."""
        self.tracking.turn(loop, least and time_of(loop.schema, least), number)
        if least is not None:
            self.run.probe("round", self._next)

    def _origin(self, number: int) -> tuple[str, str]:
        """Answer Spark's id of the query, and a hash of where a batch begins and ends in the sources."""
        query = query_id(self.files)
        name = f"spark/offsets/{number}"
        if not self.files.exists(name):
            return query, ""
        # The first lines hold a version, the clock and settings.
        places = self.files.text(name).splitlines()[2:]
        return query, hashlib.sha256("\n".join(places).encode()).hexdigest()[:16]

    def _torn(self, what: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"the two halves of the checkpoint {self.files.root} do not belong together: {what}",
            hint="was one of its directories, spark or commits, deleted, or put back from another day? "
            "restore both of the same moment, or begin with a new checkpoint and other outputs",
        ).at(f"flow {self.flow.name!r}")


@contextmanager
def _told_if_replaced(lock: Lock | None) -> Iterator[None]:
    """Say that another run has replaced this one, if it has, instead of what comes of that."""
    try:
        yield
    except Exception as error:
        if lock and (lost := lock.lost_by_now()):
            raise lost from error
        raise


def _alone(batch: DataFrame) -> DataFrame:
    """Let Spark know if all rows are in one partition: then it need not move them to bring them together."""
    return batch.coalesce(1) if partitions_of(batch) == 1 else batch


def _beat(marks: Mapping[str, Marks]) -> int:
    memories = [m.memory for m in marks.values() if isinstance(m.memory, Partitions)]
    heard = [memory.beat.number for memory in memories if memory.beat]
    return min(heard, default=-1)
