"""A run of a flow: a series of steps, each committed whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from uuid import uuid4

from tidegate.engine.attempt import Attempt
from tidegate.engine.commits.commit import Commit, write_commit
from tidegate.engine.frontiers import frontier_to_json, time_from_json
from tidegate.engine.loops.rounds import Least
from tidegate.engine.marks import Marks
from tidegate.engine.partitions import Beat
from tidegate.engine.policies import policy_of
from tidegate.engine.policies.clocked import ClockReading
from tidegate.engine.steps.cleaning import clean
from tidegate.engine.steps.failures import in_step
from tidegate.engine.steps.metrics import StepMetrics, metrics_of, state_sizes
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.steps.publishing import publish
from tidegate.engine.steps.step import Batch, run_step
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import NOBODY, Log
from tidegate.engine.trace import Trace
from tidegate.engine.tracking import Tracking
from tidegate.flow.orders import PosetCoordinates
from tidegate.flow.plan import Iterate
from tidegate.flow.watermarks import Arriving

__all__ = ["Running", "error_if_replaced"]


class Running:
    """A run of a flow: its last commit, the marks of its sources, and its frontiers.

    Engines inherit from this class. How rows come in, and what an attempt is, differs between them.
    """

    def __init__(
        self,
        run: Prepared,
        log: Log,
        last: Commit | None,
        *,
        lock: Lock | None = None,
        report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.run = run
        #: Returns the time by the clock of this machine, in seconds since 1970.
        self.clock = clock
        self.flow = run.flow
        self.files = run.files
        self.last = last
        self.metrics: list[StepMetrics] = []
        self._report = report
        self._lock = lock
        self._token = lock.token if lock else NOBODY
        #: The record of this run's progress, for tools that show it.
        self.trace = Trace(run.files, self._token, every=0.5 if lock else 0.0)
        #: The suffix of the names of everything that this run writes: the number of its lock, and a random id.
        self.attempt = f"{self._token.lock}.{uuid4().hex[:8]}"
        #: The number of the last record in the log.
        self._number = log.number
        #: The paths of the state that the commit before the last one names.
        self._older: set[str] = last.paths if last else set()
        self.marks = dict(last.marks) if last else {s.id: Marks.start(s) for s in run.flow.sources}
        frontiers = {source: marks.frontier for source, marks in self.marks.items()}
        #: The frontiers that the running step has reached. The rows that it completes may not be published yet.
        self.tracking = Tracking(run.flow, frontiers)
        #: The frontiers of what is published: rows at all times that are complete by these can be read.
        self.published_tracking = Tracking(run.flow, frontiers)

    @property
    def complete(self) -> bool:
        """Whether no source can have more rows.

        False for a finite order, which may have more elements in the next run.
        """
        open_ended = any(isinstance(s.schema.coordinates, PosetCoordinates) for s in self.flow.sources)
        return not open_ended and not any(mark.frontier for mark in self.marks.values())

    @property
    def last_beat(self) -> Beat | None:
        """The last beat of the clock that any source has received; the next beat gets the next number."""
        return max(self._beats(self.marks), default=None)

    def last_beat_of_all(self, marks: Mapping[str, Marks]) -> Beat | None:
        """Return the last beat that all sources with a clock have received, by these marks.

        It is None if one of them has received none.
        """
        known = self._beats(marks)
        return (
            min(known)
            if known and len(known) == sum(policy_of(s).clock_period is not None for s in self.flow.sources)
            else None
        )

    def _beats(self, marks: Mapping[str, Marks]) -> list[Beat]:
        found = [policy_of(s).last_beat(marks[s.id].memory) for s in self.flow.sources if s.id in marks]
        return [beat for beat in found if beat is not None]

    def arrival_time(self) -> int:
        """Return the arrival time of the rows of a step that begins now, in microseconds since 1970.

        It is the time by the clock, or a later one if that time is complete, or if an earlier step had it already.
        """
        sources = [s for s in self.flow.sources if isinstance(s.watermark, Arriving)]
        clocks = [memory for s in sources if isinstance(memory := self.marks[s.id].memory, ClockReading)]
        before = [clock.latest for clock in clocks if clock.latest is not None]
        # The source may have had another strategy before, which has completed later times.
        open_from = [
            n for s in sources for (n,) in frontier_to_json(s.schema, self.marks[s.id].frontier) if isinstance(n, int)
        ]
        return max([int(self.clock() * 1_000_000), *(latest + 1 for latest in before), *open_from])

    @property
    def next(self) -> int:
        """The number of the next step."""
        return self.last.step + 1 if self.last else 0

    def in_step(self) -> AbstractContextManager[None]:
        """Add the next step and the flow to errors that are raised in the block; see `failures.in_step`."""
        number = self.next
        return in_step(
            self.flow, number, self.run.host.describe_error, lambda: self.last is not None and self.last.step == number
        )

    @contextmanager
    def replaceable(self) -> Iterator[None]:
        """Raise if another run has replaced this one. This is checked before and after the block."""
        with error_if_replaced(self._lock):
            if self._lock:
                self._lock.check()
            yield
            # This comes before the engine records that the batch is done and starts the next one.
            if self._lock:
                self._lock.check()

    def run_batch(self, step: Attempt, batch: Batch, *, began: float | None = None) -> None:
        """Run a batch as a step, commit it, publish its results, and delete what is not needed any more.

        ``step`` is how this attempt reads and writes. ``began`` is the value of `time.monotonic` when the step began,
        if that was before this call; metrics count from there.
        """
        started = time.monotonic() if began is None else began
        number, probe = self.next, self.run.probe
        probe("begin", number)
        self.trace.begin_step(number)
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
            self.step_failed()
            self.tracking.move({source: mark.frontier for source, mark in self.marks.items()})
            raise
        before, self.last, self.marks = self.last, commit, dict(commit.marks)
        probe("after commit", number)
        self.committed(before, commit)
        publish(self.run, commit, probe=lambda point: probe(point, number))
        self.published_tracking.move({source: mark.frontier for source, mark in self.marks.items()})
        probe("published", number)
        probe("cleaning", number)
        unneeded = self._older | step.made
        self._older = before.paths if before else set()
        clean(self.files, before, commit, unneeded)
        self.metrics.append(metrics_of(self.run, commit, done.seen, time.monotonic() - started, datetime.now(UTC)))
        self.trace.end_step(asdict(self.metrics[-1]), state_sizes(commit))
        self._report(self.metrics[-1])
        del self.metrics[:-1000]

    def step_failed(self) -> None:
        """Free what a step has left in memory. Called if the step fails before its commit."""

    def committed(self, before: Commit | None, commit: Commit) -> None:
        """Do what the engine has to do between a commit and its publication. ``before`` is the commit before it."""

    def round_began(self, loop: Iterate, number: int, least: Least | None) -> None:
        """Record in the tracker and in the trace that a loop begins a round. If ``least`` is None, it is done."""
        self.tracking.begin_round(loop, least and time_from_json(loop.schema, least), number)
        self.trace.begin_round(self.next, loop.id, number, least)
        if least is not None:
            self.run.probe("round", self.next)

    def _commit(self, commit: Commit) -> Commit:
        """Write a commit while this run holds its lock; return the commit with its number in the log."""
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


@contextmanager
def error_if_replaced(lock: Lock | None) -> Iterator[None]:
    """Replace errors of the block if another run has replaced this one: raise an error that says so.

    Such a run causes all kinds of errors here, which would only mislead.
    """
    try:
        yield
    except Exception as error:
        if lock and (lost := lock.lost_by_now()):
            raise lost from error
        raise
