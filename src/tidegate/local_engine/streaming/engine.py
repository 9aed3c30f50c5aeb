"""The engine of a running flow in this process: it asks the feeds for new rows, and runs steps on them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from tidegate.engine.attempt import Attempt
from tidegate.engine.commits.commit import Commit, Origin
from tidegate.engine.partitions import Beat
from tidegate.engine.policies import policy_of
from tidegate.engine.policies.lines import SIGNAL_LINE
from tidegate.engine.relation import Relation
from tidegate.engine.steps.metrics import StepMetrics
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.steps.publishing import publish
from tidegate.engine.steps.running import Running
from tidegate.engine.steps.source_rows import source_rows
from tidegate.engine.steps.step import Batch
from tidegate.engine.storage.errors import FlowChanged
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import Log
from tidegate.engine.storage.state import State
from tidegate.flow.agreed.zones import in_zone
from tidegate.flow.limits import limits
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.streaming.feeds import Feed, NewRows
from tidegate.local_engine.streaming.host import LocalHost, at_source
from tidegate.local_engine.streaming.parts import LocalParts

__all__ = ["LocalEngine"]

_LOG = logging.getLogger("tidegate")
#: How long a run sleeps before it looks for new files again, in seconds.
_POLL = 0.005


class LocalEngine(Running):
    """A run of a flow in this process."""

    def __init__(
        self,
        run: Prepared,
        host: LocalHost,
        feeds: Mapping[str, Feed],
        log: Log,
        last: Commit | None,
        *,
        lock: Lock | None = None,
        report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(run, log, last, lock=lock, report=report, clock=clock)
        self._host = host
        self._backend: LocalBackend = host.backend
        self._feeds = dict(feeds)
        self._parts = LocalParts(run.files, host.backend, host.written)
        self._bounds = limits(run.flow)
        #: How often, in microseconds, a step is run without rows to give a beat to the sources; None if none needs it.
        self._pulse = min(
            (p for source in run.flow.sources if (p := policy_of(source).clock_period) is not None), default=None
        )
        #: The new rows that the running step reads, by source.
        self._uncommitted: dict[str, NewRows] = {}
        #: How many seconds it took to look for new rows the last time.
        self._look_seconds = 0.0
        #: When the last step ended, by the monotonic clock.
        self._last_new = time.monotonic()
        positions = last.origin.positions if last else {}
        for name, feed in self._feeds.items():
            with at_source(name):
                self._resume(feed, positions.get(run.origins[name]), name)

    def _resume(self, feed: Feed, found: Any, name: str) -> None:
        """Let a feed continue after the position ``found`` that the last commit has for it."""
        if found is not None and found["kind"] != feed.kind:
            raise FlowChanged(
                f"the checkpoint has read from {found['kind']}, and got {feed.kind}, which cannot go on from there",
                hint="go on with what it was; or begin with a new checkpoint and other outputs",
            )
        feed.resume(found["at"] if found else None, self._read_notes(name))

    @property
    def ended(self) -> bool:
        """Whether no source will ever have more rows."""
        return any(not feed.endless for feed in self._feeds.values()) and all(
            feed.ended or feed.endless for feed in self._feeds.values()
        )

    @property
    def caught_up(self) -> bool:
        """Whether everything that is available now was read, if a step has just found nothing."""
        return all(feed.caught_up for feed in self._feeds.values())

    def bound(self, *, endless: bool = False) -> None:
        """Limit the sources to what they have now. With ``endless``, only sources that never end are limited."""
        for name, feed in self._feeds.items():
            if feed.endless or not endless:
                with at_source(name):
                    feed.bound()

    def wait(self, seconds: float) -> None:
        """Wait until there may be something new, at most for the given time."""
        until = time.monotonic() + seconds
        if len(self._feeds) == 1:
            next(iter(self._feeds.values())).wait(seconds)
        left = until - time.monotonic()
        if left > 0 and not self.ended:
            # If looking takes long, or nothing was new for a while, the pauses are longer.
            silence = time.monotonic() - self._last_new
            time.sleep(min(left, max(_POLL, 2 * self._look_seconds, silence / 20)))

    def step(self) -> bool:
        """Run a step on new rows or on a beat of the clock. Return whether a feed had new rows."""
        began = time.monotonic()
        with self.in_step(), in_zone(self.flow.timezone):
            new_by_source = {}
            for name, feed in self._feeds.items():
                with at_source(name):
                    new_rows = feed.read_new()
                if new_rows is not None:
                    new_by_source[name] = new_rows
            beat = self._beat()
            self._look_seconds = time.monotonic() - began
            if not new_by_source and beat is None:
                return False
            with self.replaceable():
                self._step(new_by_source, beat, began)
            self._last_new = time.monotonic()
        return bool(new_by_source)

    def finish(self) -> None:
        """Make all times complete. The end of the input is a step of its own, and closes the checkpoint."""
        with self.in_step(), in_zone(self.flow.timezone), self.replaceable():
            if self.last is not None:
                publish(self.run, self.last)
            origin = self._origin({})
            self._parts.new = sum(part.rows for part in self.last.parts) if self.last is not None else 0
            try:
                self.run_batch(self._attempt(), Batch({}, origin, ended=True))
            finally:
                self._backend.release_all()

    def close(self) -> None:
        """Release everything that is held."""
        for feed in self._feeds.values():
            try:
                feed.close()
            except Exception as error:
                # The run is over, even if a reader fails to close.
                _LOG.warning("source %r could not be closed: %s", feed.source.id, error)
        self._backend.connection.close()

    def forget(self) -> None:
        """Drop the tables that cache state. The next step reads the parts that the last commit names."""
        self._parts.forget()

    def interrupt(self) -> None:
        """Interrupt the running query."""
        self._backend.interrupt()

    def step_failed(self) -> None:
        """Forget the tables of a step that was not committed, and what it read from feeds."""
        self._parts.forget(self.last.paths if self.last else ())
        self._uncommitted = {}

    def committed(self, before: Commit | None, commit: Commit) -> None:  # noqa: ARG002
        """Tell the feeds that the step is committed, before anything is published."""
        self._parts.forget(commit.paths)
        new_by_source, self._uncommitted = self._uncommitted, {}
        for name, new_rows in new_by_source.items():
            with at_source(name):
                self._feeds[name].committed(new_rows)

    def _step(self, new_by_source: Mapping[str, NewRows], beat: Beat | None, began: float) -> None:
        attempt, held, rows_taken = self._attempt(), list[str](), 0
        rows = {name: new_rows.rows for name, new_rows in new_by_source.items()}
        try:
            for name, new_rows in new_by_source.items():
                count = new_rows.count
                if count is None:
                    with at_source(name):
                        table, count = self._backend.held_rows(new_rows.rows)
                        held.append(table)
                        self._feeds[name].check_read(new_rows)
                    rows[name] = self._backend.table_rows(table, new_rows.rows.columns)
                rows_taken += count
            self._uncommitted = dict(new_by_source)
            self._parts.new = rows_taken
            arrived = self.arrival_time()
            batch = Batch(
                {
                    name: self._source_rows(name, rows.get(name), arrived)
                    for name in self._sources_with_input(rows, beat)
                },
                self._origin(new_by_source),
                None if beat is None else self._beat_rows(beat),
                self._write_notes(attempt, new_by_source),
            )
            self.run_batch(attempt, batch, began=began)
        finally:
            for table in held:
                self._backend.drop(table)
            self._backend.release_all()

    def _sources_with_input(self, rows: Mapping[str, Relation], beat: Beat | None) -> list[str]:
        """Return the sources that get something in this step: rows, or a beat of the clock."""
        timed = {s.id for s in self.flow.sources if beat is not None and policy_of(s).clock_period is not None}
        return [s.id for s in self.flow.sources if s.id in rows or s.id in timed]

    def _source_rows(self, name: str, rows: Relation | None, arrived: int) -> Any:
        source = next(s for s in self.flow.sources if s.id == name)
        given = self._backend.nothing(source.schema.columns) if rows is None else rows
        frontier, seen = self.marks[name].frontier, name in self.run.entries.sources
        return source_rows(self._backend, source, self._bounds[name], given, frontier, observed=seen, arrived=arrived)

    def _origin(self, new_by_source: Mapping[str, NewRows]) -> Origin:
        positions = {
            self.run.origins[name]: {
                "kind": feed.kind,
                "at": new_by_source[name].position if name in new_by_source else feed.position,
            }
            for name, feed in self._feeds.items()
        }
        return Origin("local", positions=positions)

    # Notes: parts of positions that are too large for a commit.

    def _key(self, name: str) -> str:
        return f"taken-{self.run.origins[name]}"

    def _columns(self, name: str) -> tuple[Column, ...]:
        return tuple(Column(column, type_) for column, type_ in self._feeds[name].notes.items())

    def _read_notes(self, name: str) -> pa.Table | None:
        (state,) = self.last.state.get(self._key(name), (State(),)) if self.last else (State(),)
        return self._parts.read(state.parts, self._columns(name)).fetch() if state.parts else None

    def _write_notes(self, attempt: Attempt, new_by_source: Mapping[str, NewRows]) -> dict[str, tuple[State, ...]]:
        found: dict[str, tuple[State, ...]] = {}
        for name, feed in self._feeds.items():
            if not feed.notes:
                continue
            key, columns = self._key(name), self._columns(name)
            (state,) = self.last.state.get(key, (State(),)) if self.last else (State(),)
            noted = new_by_source[name].noted if name in new_by_source else None
            if noted is not None:
                rows = self._backend.rows(noted.to_batches(), columns)
                state = state.grown(attempt.write(key, 0, "new", rows))
                first = self.run.fold_from(state.parts)
                if first < len(state.parts):
                    folded = attempt.read(state.parts[first:], columns)
                    state = State(state.parts[:first]).grown(attempt.write(key, 0, "fold", folded))
            found[key] = (state,)
        return found

    # The clock.

    def _beat(self) -> Beat | None:
        """Return a beat of the clock, if one is due."""
        if self._pulse is None:
            return None
        now, last = int(self.clock() * 1_000_000), self.last_beat
        if last is None:
            return Beat(0, now)
        return Beat(last.number + 1, now) if abs(now - last.at) >= self._pulse else None

    def _beat_rows(self, beat: Beat) -> Relation:
        batch = pa.RecordBatch.from_pydict({SIGNAL_LINE: pa.array([beat.line], pa.string())})
        return self._backend.rows([batch], [Column(SIGNAL_LINE, "STRING")])

    def _attempt(self) -> Attempt:
        self._host.written.clear()
        return Attempt(
            self.next,
            self.attempt,
            self.flow,
            self.files,
            self._backend,
            self.run.shapes,
            self._parts,
            self._host.tables,
            watch=self.round_began,
        )
