"""Records the calls of a test on a trial, to run them again with variations or to write them as a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.testing.engines import Driver, Engine, Setting, SourceInput

if TYPE_CHECKING:
    from tidegate.flow.flow import Flow

__all__ = ["Asked", "Clocked", "Finished", "Op", "Recording", "Restarted", "Stepped", "recorded", "recordings"]


@dataclass(frozen=True, slots=True)
class Op:
    """A call of a test."""

    def on(self, driver: Driver) -> None:
        """Make the call on an engine."""


@dataclass(frozen=True, slots=True)
class Stepped(Op):
    """A step was made."""

    given: Mapping[str, SourceInput]
    partitions: int = 1

    def on(self, driver: Driver) -> None:
        """Make the step."""
        driver.step(self.given, partitions=self.partitions)


@dataclass(frozen=True, slots=True)
class Clocked(Op):
    """The clock was set."""

    now: datetime

    def on(self, driver: Driver) -> None:
        """Set the clock."""
        driver.set_clock(self.now)


@dataclass(frozen=True, slots=True)
class Restarted(Op):
    """The engine was restarted from its checkpoint."""

    def on(self, driver: Driver) -> None:
        """Restart the engine."""
        driver.restart()


@dataclass(frozen=True, slots=True)
class Finished(Op):
    """The input ended."""

    def on(self, driver: Driver) -> None:
        """End the input."""
        driver.finish()


@dataclass(frozen=True, slots=True)
class Asked(Op):
    """Rows were read: ``what`` is ``rows`` or ``expect`` (of a sink), ``late`` or ``rejected`` (of a source).

    ``answer`` has all rows so far; ``wanted`` has the new rows that the test expected.
    """

    what: str
    name: str
    answer: list[dict[str, Any]]
    wanted: list[dict[str, Any]] | None = None

    def again(self, driver: Driver) -> list[dict[str, Any]]:
        """Return the rows that another run has for this question."""
        match self.what:
            case "late":
                return driver.late(self.name)
            case "rejected":
                return driver.rejected(self.name)
        return driver.rows(self.name)


@dataclass(slots=True)
class Recording:
    """A flow, an engine, and the calls of a test."""

    setting: Setting
    engine: Engine
    #: The function that built the flow, if the test passed one.
    factory: Callable[[], Flow] | None = None
    ops: list[Op] = field(default_factory=list)


_OPEN: ContextVar[tuple[list[Recording], ...]] = ContextVar("recordings", default=())


@contextmanager
def recorded() -> Iterator[list[Recording]]:
    """Yield a list. The recordings of all trials that are made in this context are added to it."""
    found: list[Recording] = []
    token = _OPEN.set((*_OPEN.get(), found))
    try:
        yield found
    finally:
        _OPEN.reset(token)


def recordings() -> tuple[list[Recording], ...]:
    """Return the lists to which a new trial adds its recording."""
    return _OPEN.get()
