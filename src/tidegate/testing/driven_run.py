"""A flow that a trial drives, with the methods of `Run`; and a clock that a test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tidegate.engine.runs import Run
from tidegate.engine.steps.running import Running
from tidegate.flow.schema import Column

__all__ = ["DrivenRun", "ManualClock"]


class DrivenRun(Run):
    """A run that does only the steps that a trial makes. ``read`` returns rows that were set aside."""

    def __init__(self, running: Running, read: Callable[[list[str], list[Column], str], Any]) -> None:
        super().__init__(running)
        self._read = read

    def stop(self, timeout: float | None = 20) -> bool:  # noqa: ARG002
        """Do nothing, as no step is running, and return True."""
        return True

    def finish(self) -> None:
        """Do nothing: the trial ends the input."""

    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> Any:
        return self._read(paths, columns, condition)


class ManualClock:
    """A clock that shows the time that it was set to.

    >>> ManualClock(datetime(1970, 1, 1, 0, 1))()
    60.0
    """

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now.replace(tzinfo=UTC).timestamp()

    @property
    def micros(self) -> int:
        """The time in microseconds since the epoch."""
        return int(self() * 1_000_000)
