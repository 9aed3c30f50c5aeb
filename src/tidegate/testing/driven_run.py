"""What can be asked of a flow that a trial drives: the questions are those of `Run`, and so are the answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tidegate.engine.runs import Run
from tidegate.engine.steps.running import Running
from tidegate.flow.schema import Column

__all__ = ["DrivenRun", "ManualClock"]


class DrivenRun(Run):
    """A run that nobody but a trial moves; ``read`` returns rows that were set aside."""

    def __init__(self, running: Running, read: Callable[[list[str], list[Column], str], Any]) -> None:
        super().__init__(running)
        self._read = read

    def stop(self, timeout: float | None = 20) -> bool:  # noqa: ARG002
        """Nothing runs by itself."""
        return True

    def finish(self) -> None:
        """Leave it to the trial."""

    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> Any:
        return self._read(paths, columns, condition)


class ManualClock:
    """A clock that shows what it was set to.

    >>> ManualClock(datetime(1970, 1, 1, 0, 1))()
    60.0
    """

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now.replace(tzinfo=UTC).timestamp()

    @property
    def micros(self) -> int:
        """What it shows in microseconds since the epoch, as engines read it."""
        return int(self() * 1_000_000)
