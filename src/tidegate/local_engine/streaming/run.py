"""A run in this process: a thread that runs one step after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event, Thread, current_thread

import duckdb

from tidegate.engine.runs import Run
from tidegate.engine.steps.failures import between_steps
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.lock import Lock
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.error_messages import describe_error
from tidegate.local_engine.session import cursor_of
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.parts import file_rows
from tidegate.local_engine.streaming.reading import data_files

__all__ = ["LocalRun", "Pace"]

_OUTSIDE = "it was not in a step: see that the sources can be read, and start again from this checkpoint"


#: How long a run waits for new rows before it checks whether it should stop, in seconds.
_LONGEST = 0.05


@dataclass(frozen=True, slots=True)
class Pace:
    """When steps are run: at once, at an interval, or only for what is available."""

    seconds: float = 0.0
    #: Whether the run ends when everything that was available at its start is read.
    available: bool = False


class LocalRun(Run):
    """A running flow in this process."""

    def __init__(
        self, session: duckdb.DuckDBPyConnection, engine: LocalEngine, lock: Lock, pace: Pace, *, ends: bool
    ) -> None:
        super().__init__(engine)
        self._session = session
        self._engine = engine
        self._lock = lock
        self._pace = pace
        #: Whether the input ends when everything available is read.
        self._ends = ends
        self._stopping = Event()
        self._finishing = Event()
        self._ending = Event()
        self._cancelled = False
        self._thread = Thread(target=self._go, name=f"tidegate {engine.flow.name}", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = 20) -> bool:
        """Stop. Return whether the running step ended, or none was running.

        The next start continues after the last step that ended.
        """
        self._stopping.set()
        if current_thread() is self._thread:
            # Called by a user's function inside of a step, which is the last one then.
            return True
        if self._done.wait(timeout):
            return True
        while not self._done.wait(0.05):
            # The step that ends the input is not interrupted.
            if not self._ending.is_set():
                self._engine.interrupt()
        if self._cancelled:
            self._log_cancelled(timeout)
        return not self._cancelled

    def finish(self) -> None:
        """Take what the sources have now as the end of the input: everything becomes complete, and the run is over."""
        self._finishing.set()
        self.await_termination()
        self._check_ended()

    def _go(self) -> None:
        try:
            self._steps()
        except BaseException as error:
            self._cancelled = self._stopping.is_set() and _is_interrupt(error)
            if not self._cancelled:
                self._failure = between_steps(self._engine.flow, error, describe_error, hint=_OUTSIDE)
        finally:
            try:
                try:
                    self._engine.close()
                finally:
                    self._end_trace()
                    self._lock.release()
            except Exception as error:
                self._failure = self._failure or error
            self._done.set()

    def _steps(self) -> None:
        """Run steps until the run is stopped, or nothing more can come."""
        engine, pace = self._engine, self._pace
        if pace.available:
            engine.bound()
        while not self._stopping.is_set():
            began = time.monotonic()
            if self._lock.lost:
                raise self._lock.lost
            finishing = self._finishing.is_set()
            if finishing:
                # Endless sources are limited, as there would always be one more tick.
                engine.bound(endless=True)
            moved = engine.step()
            if self._stopping.is_set():
                # A user's function in that step may have stopped it. The end of the input would be another step.
                return None
            nothing_left = not moved and engine.caught_up
            # If all sources have ended, the run is over, unless only what is available now was requested.
            if engine.complete or (nothing_left and finishing) or (engine.ended and not pace.available):
                return self._end()
            if nothing_left and pace.available:
                return self._end() if self._ends else None
            if not moved or pace.seconds:
                self._wait(pace.seconds - (time.monotonic() - began) if pace.seconds else _LONGEST)
        return None

    def _end(self) -> None:
        """Make all times complete, which ends the input."""
        self._ending.set()
        self._engine.finish()

    def _wait(self, seconds: float) -> None:
        """Wait for new rows or for the next step; return soon if the run is stopped."""
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
        found = data_files(paths)
        if found is None:
            raise BadCheckpoint("rows that were set aside are moved while they are read", hint="read them again")
        rows = file_rows(backend, found, columns) if found else backend.nothing(tuple(columns))
        return rows.where(condition).result()


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error comes from an interrupted query."""
    while error is not None and not isinstance(error, duckdb.InterruptException):
        error = error.__cause__
    return error is not None
