"""What streams must satisfy: monotone, strictly monotone, productive; and monitors for live streams."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

from tidegate.errors import TidegateError
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.streams import Lasso
from tidegate.time import Order, maximal

__all__ = ["Monitor", "NotMonotone", "is_monotone", "is_productive", "is_strictly_monotone", "monitored", "owed"]

T = TypeVar("T", bound=Hashable)


class NotMonotone(TidegateError, ValueError):
    """A stream broke the promise of one of its watermarks."""

    def __init__(self, event: Event, watermark: Any, number: int) -> None:
        kind = "data" if isinstance(event, DT) else "a watermark"
        super().__init__(
            f"expected {kind} at a time that is not at or below the watermark {watermark!r}, got {event!r}",
            hint="hold watermarks back until no such event can follow, or divert what is late",
        )
        self.event = event
        self.watermark = watermark
        self.number = number
        self.at(f"event {number} of the stream (counted from 0)")


class Monitor:
    """A check of a live stream, event by event; it raises `NotMonotone`, and knows which data is not covered yet.

    >>> from tidegate.time import Nat
    >>> monitor = Monitor(Nat())
    >>> for event in [DT(3, "a"), WM(2)]:
    ...     monitor.see(event)
    >>> monitor.owed
    [DT(3, 'a')]
    >>> monitor.see(DT(1, "late"))
    Traceback (most recent call last):
    ...
    tidegate.spec.properties.NotMonotone: expected data at a time that is not at or below the watermark 2, got ...
      at: event 2 of the stream (counted from 0)
      hint: hold watermarks back until no such event can follow, or divert what is late
    """

    __slots__ = ("_owed", "_seen", "_strict", "number", "order")

    def __init__(self, order: Order[Any], *, strict: bool = False, seen: Iterable[Any] = ()) -> None:
        self.order = order
        #: How many events were seen, those that broke a watermark included.
        self.number = 0
        self._strict = strict
        self._seen: list[Any] = maximal(order, seen)
        self._owed: dict[Any, list[tuple[int, DT[Any, Any]]]] = {}

    def see(self, event: Event) -> None:
        """Check the next event; if it breaks a watermark, raise `NotMonotone` and ignore the event."""
        order, number = self.order, self.number
        self.number += 1
        try:
            check_event(order, event)
        except TidegateError as error:
            raise error.at(f"event {number} of the stream (counted from 0)") from None
        broken = self.breaks(event)
        if broken:
            raise NotMonotone(event, broken[0], number)
        if isinstance(event, DT):
            self._owed.setdefault(event.t, []).append((number, event))
        else:
            self._seen = [w for w in self._seen if not order.le(w, event.t)]
            self._seen.append(event.t)
            self._owed = {t: es for t, es in self._owed.items() if not order.le(t, event.t)}

    def breaks(self, event: Event) -> list[Any]:
        """Return the watermarks whose promise ``event`` would break."""
        if isinstance(event, WM) and not self._strict:
            # A watermark that another one covers says nothing new. Only the strict variant forbids it.
            return []
        return [w for w in self._seen if self.order.le(event.t, w)]

    @property
    def owed(self) -> list[DT[Any, Any]]:
        """The data that no watermark has covered yet, in the order of its arrival."""
        return [event for _, event in sorted(chain(*self._owed.values()), key=itemgetter(0))]


def monitored(order: Order[Any], events: Iterable[Event], *, strict: bool = False) -> Iterator[Event]:
    """Pass a stream through, and raise `NotMonotone` at the first event that breaks a watermark."""
    monitor = Monitor(order, strict=strict)
    for event in events:
        monitor.see(event)
        yield event


def is_monotone(order: Order[Any], events: Iterable[Event], seen: Iterable[Any] = ()) -> bool:
    """Return whether no data comes after a watermark that covers it; ``seen`` are watermarks from before.

    The stream is finite, or a `Lasso`.

    >>> from tidegate.time import Nat
    >>> is_monotone(Nat(), [DT(1, "a"), WM(1), DT(2, "b")]), is_monotone(Nat(), [WM(1), DT(1, "a")])
    (True, False)
    """
    return _keeps_promises(Monitor(order, seen=seen), events)


def is_strictly_monotone(order: Order[Any], events: Iterable[Event], seen: Iterable[Any] = ()) -> bool:
    """Return whether, in addition, no watermark comes after one that covers it: the slides' variant.

    >>> from tidegate.time import Nat
    >>> is_strictly_monotone(Nat(), [WM(1), WM(2)]), is_strictly_monotone(Nat(), [WM(2), WM(1)])
    (True, False)
    """
    return _keeps_promises(Monitor(order, strict=True, seen=seen), events)


def _keeps_promises(monitor: Monitor, events: Iterable[Event]) -> bool:
    # After one round of a lasso all its watermarks are known, so the second round decides.
    try:
        for event in events.unroll(2) if isinstance(events, Lasso) else events:
            monitor.see(event)
    except NotMonotone:
        return False
    return True


def owed(order: Order[Any], events: Iterable[Event]) -> list[DT[Any, Any]]:
    """Return the data that no later watermark covers; on a `Lasso`, that none ever will.

    >>> from tidegate.time import Nat
    >>> owed(Nat(), [DT(1, "a"), DT(3, "b"), WM(2)])
    [DT(3, 'b')]
    """
    listed = events.unroll(1) if isinstance(events, Lasso) else list(events)
    for number, event in enumerate(listed):
        try:
            check_event(order, event)
        except TidegateError as error:
            raise error.at(f"event {number} of the stream (counted from 0)") from None
    # Read from the end, with the watermarks that come later; on a lasso those of the cycle always do.
    later = maximal(order, [e.t for e in events.cycle if isinstance(e, WM)]) if isinstance(events, Lasso) else []
    found: list[DT[Any, Any]] = []
    for event in reversed(listed):
        if isinstance(event, WM):
            later = maximal(order, [event.t, *later])
        elif not any(order.le(event.t, w) for w in later):
            found.append(event)
    return found[::-1]


def is_productive(order: Order[Any], events: Iterable[Event]) -> bool:
    """Return whether all data is covered by a watermark sooner or later; for a stream that ends, this is always true.

    This can be decided for a `Lasso` only; any other iterable is assumed to end.

    >>> from tidegate.time import Nat
    >>> is_productive(Nat(), Lasso([], [DT(1, "a"), WM(0)])), is_productive(Nat(), [DT(1, "a")])
    (False, True)
    """
    return not owed(order, events) if isinstance(events, Lasso) else True
