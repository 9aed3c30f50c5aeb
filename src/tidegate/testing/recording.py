"""What a test did with a trial, call by call: to do it again otherwise, and to write it down as a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.testing.engines import Driver, Engine, Given, Setting

if TYPE_CHECKING:
    from tidegate.flow.flow import Flow

__all__ = ["Asked", "Clocked", "Finished", "Op", "Recording", "Restarted", "Stepped", "recorded", "recordings"]


@dataclass(frozen=True, slots=True)
class Op:
    """A call of a test that an engine is told of."""

    def on(self, driver: Driver) -> None:
        """Do it on an engine."""


@dataclass(frozen=True, slots=True)
class Stepped(Op):
    """A step."""

    given: Mapping[str, Given]
    partitions: int = 1

    def on(self, driver: Driver) -> None:
        """Make the step."""
        driver.step(self.given, partitions=self.partitions)


@dataclass(frozen=True, slots=True)
class Clocked(Op):
    """The clock was set."""

    now: datetime

    def on(self, driver: Driver) -> None:
        """Set it."""
        driver.set_clock(self.now)


@dataclass(frozen=True, slots=True)
class Restarted(Op):
    """The engine went on from its checkpoint."""

    def on(self, driver: Driver) -> None:
        """Restart it."""
        driver.restart()


@dataclass(frozen=True, slots=True)
class Finished(Op):
    """The input ended."""

    def on(self, driver: Driver) -> None:
        """End it."""
        driver.finish()


@dataclass(frozen=True, slots=True)
class Asked(Op):
    """Something was asked: ``rows`` or ``expect`` of a sink, ``late`` or ``rejected`` of a source.

    ``answer`` is all that was there to be read by then; ``wanted`` is what the test expected to be new.
    """

    what: str
    name: str
    answer: list[dict[str, Any]]
    wanted: list[dict[str, Any]] | None = None

    def again(self, driver: Driver) -> list[dict[str, Any]]:
        """Return what another run answers."""
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
    #: What built the flow, if a test gave that.
    factory: Callable[[], Flow] | None = None
    ops: list[Op] = field(default_factory=list)


_OPEN: ContextVar[tuple[list[Recording], ...]] = ContextVar("recordings", default=())


@contextmanager
def recorded() -> Iterator[list[Recording]]:
    """Yield a list that gets what is recorded of all trials that are made meanwhile."""
    found: list[Recording] = []
    token = _OPEN.set((*_OPEN.get(), found))
    try:
        yield found
    finally:
        _OPEN.reset(token)


def recordings() -> tuple[list[Recording], ...]:
    """Return the lists that a new trial is noted in."""
    return _OPEN.get()
