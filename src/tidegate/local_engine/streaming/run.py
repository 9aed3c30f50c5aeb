"""A run in this process: a thread that makes one step after the other."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Event, Thread

import duckdb

from tidegate.engine.runs import Run
from tidegate.engine.steps.failures import between_steps
from tidegate.engine.storage.errors import RunStopped
from tidegate.engine.storage.lock import Lock
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.session import cursor_of
from tidegate.local_engine.streaming.engine import Engine
from tidegate.local_engine.streaming.parts import file_rows

__all__ = ["LocalRun", "Pace"]

_LOG = logging.getLogger("tidegate")
_OUTSIDE = "it was not in a step: see that the sources can be read, and start again from this checkpoint"


class Pace:
    """When steps are made: at once, every so many seconds, or only of what there is."""

    def __init__(self, *, seconds: float = 0.0, available: bool = False, once: bool = False) -> None:
        self.seconds = seconds
        #: Whether the run is over when there is nothing new; with ``once``, after one step.
        self.available = available
        self.once = once


class LocalRun(Run):
    """A running flow in this process."""

    def __init__(
        self, session: duckdb.DuckDBPyConnection, engine: Engine, lock: Lock, pace: Pace, *, ends: bool
    ) -> None:
        super().__init__(engine)
        self._session = session
        self._engine = engine
        self._lock = lock
        self._pace = pace
        #: Whether the end of what there is is the end of the input.
        self._ends = ends
        self._stopping = Event()
        self._finishing = Event()
        self._cancelled = False
        self._thread = Thread(target=self._go, name=f"tidegate {engine.flow.name}", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = 20) -> bool:
        """Stop. Return whether the step that was running ended, or none was; the next start goes on after it."""
        self._stopping.set()
        if not self._done.wait(timeout):
            self._cancelled = True
            while not self._done.wait(0.05):
                self._engine.interrupt()
            _LOG.warning(
                "flow %r: the step that ran was cancelled after %s s; the next start runs it",
                self._engine.flow.name,
                timeout,
            )
            return False
        return True

    def finish(self) -> None:
        """Take what the sources have now as the end of the input: everything becomes complete, and the run is over."""
        self._finishing.set()
        self.await_termination()
        if self.status().state != "ended":
            raise RunStopped(
                "expected a run that goes on, whose input can end, got one that was stopped",
                hint="start the flow again from its checkpoint, and call finish() on that run",
            ).at(f"flow {self._engine.flow.name!r}")

    def _go(self) -> None:
        try:
            self._steps()
        except BaseException as error:
            if not self._cancelled:
                self._failure = between_steps(self._engine.flow, error, self._engine.run.host.said, hint=_OUTSIDE)
        finally:
            try:
                self._engine.close()
                self._lock.release()
            except Exception as error:
                self._failure = self._failure or error
            self._done.set()

    def _steps(self) -> None:
        """Make steps until the run is stopped, or there is nothing more."""
        engine, pace = self._engine, self._pace
        while not self._stopping.is_set():
            began = time.monotonic()
            if self._lock.lost:
                raise self._lock.lost
            finishing = self._finishing.is_set()
            moved = engine.step()
            if engine.complete or engine.ended or (finishing and not moved):
                engine.finish()
                return
            if pace.available and (pace.once or (not moved and engine.resting)):
                if self._ends:
                    engine.finish()
                return
            if not moved or pace.seconds:
                self._wait(pace.seconds - (time.monotonic() - began) if pace.seconds else _LONGEST)

    def _wait(self, seconds: float) -> None:
        """Wait for what is new, or for the next turn; not longer than it takes to see that the run is stopped."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._pace.seconds:
                self._stopping.wait(min(left, 0.05))
                if self._finishing.is_set():
                    return
            else:
                self._engine.wait(min(left, 0.05))
                return
            if self._stopping.is_set():
                return

    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> duckdb.DuckDBPyRelation:
        backend = LocalBackend(cursor_of(self._session))
        found = [file for path in paths for file in sorted(Path(path.removeprefix("file:")).glob("[!._]*"))]
        rows = file_rows(backend, found, columns) if found else backend.nothing(tuple(columns))
        return rows.where(condition).result()


#: How long a run waits for something new before it looks around, in seconds.
_LONGEST = 0.05
