"""Events: data at a time, `DT`, and watermarks, `WM`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tidegate.errors import TidegateError, WrongType
from tidegate.time import Order

__all__ = ["DT", "WM", "Event", "NotAnEvent", "check_event", "check_shape"]

T = TypeVar("T", bound=Hashable)
D = TypeVar("D")


class NotAnEvent(TidegateError, TypeError):
    """Something other than `DT` or `WM` came where an event was expected."""


@dataclass(frozen=True, slots=True)
class DT(Generic[T, D]):
    """The data ``d`` at the time ``t``."""

    t: T
    d: D

    def __repr__(self) -> str:
        return f"DT({self.t!r}, {self.d!r})"


@dataclass(frozen=True, slots=True)
class WM(Generic[T]):
    """A watermark: no more data at any time at or below ``t``."""

    t: T

    def __repr__(self) -> str:
        return f"WM({self.t!r})"


Event: TypeAlias = DT[Any, Any] | WM[Any]


def check_shape(event: object) -> None:
    """Raise unless ``event`` is an event, and its data is not one."""
    if not isinstance(event, DT | WM):
        raise NotAnEvent(
            f"expected DT(t, d) or WM(t), got {event!r} ({type(event).__name__})",
            hint="wrap data as DT(time, data) and watermarks as WM(time)",
        )
    if isinstance(event, DT) and isinstance(event.d, DT | WM):
        raise WrongType(
            f"expected data in DT(t, d), got the event {event.d!r} as data of time {event.t!r}",
            hint="put events into the stream one after the other, not into each other",
        )


def check_event(order: Order[Any], event: object) -> None:
    """Raise unless ``event`` is an event at a time of ``order``; the time of a watermark may be extended."""
    check_shape(event)
    assert isinstance(event, DT | WM)
    order.check(event.t, extended=isinstance(event, WM))
