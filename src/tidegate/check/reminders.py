"""Operators with timers, to draw for `process`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from tidegate.flow import Timer
from tidegate.spec import DT, Event, Operator

__all__ = ["Remembered", "Reminders"]


@dataclass(frozen=True)
class Reminders(Operator[Event, Any]):
    """The number of rows of a key at or below each of its times, and again some time after each row.

    Its answers do not depend on which of two times that do not compare comes first. Its rows are kept, and given again.
    """

    timers = True

    after: int = 1
    seen: tuple[Any, ...] = ()

    def apply(self, event: Event) -> tuple[Reminders, list[Any]]:
        if isinstance(event, DT):
            return replace(self, seen=(*self.seen, event.t)), [Timer(_after(event.t, self.after))]
        return self, [DT(event.t, {"n": sum(_below(t, event.t) for t in self.seen)})]


@dataclass(frozen=True)
class Remembered(Reminders):
    """The same operator with `state` and `resume`."""

    def state(self) -> Any:
        return list(self.seen)

    def resume(self, state: Any) -> Remembered:
        return replace(self, seen=tuple(state))


def _after(t: Any, n: int) -> Any:
    """Return a time so many units, or minutes, later: of a pair, in the second column."""
    if isinstance(t, tuple):
        return (t[0], t[1] + n)
    if isinstance(t, date):
        return t + (timedelta(minutes=n) if isinstance(t, datetime) else timedelta(days=n))
    return t + n


def _below(a: Any, b: Any) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else bool(a <= b)
