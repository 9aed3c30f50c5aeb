"""P1 and P2: streams of one type merged into one, two streams side by side, and one stream that feeds two operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator, step
from tidegate.time import Bound, Inl, Inr, Order, Sum

__all__ = ["both_op", "merge_op", "on_stream", "sides_op", "stream_of", "sum_of"]


@dataclass(frozen=True, slots=True)
class _Merge(Operator[Event, Event]):
    ticks: Ticks
    Ws: tuple[Tick, ...]
    # The watermarks of all streams that the merged stream has not reached yet.
    ahead: frozenset[Tick] = frozenset()

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        whole = sum_of(self.ticks.order, len(self.Ws))
        check_event(whole, event)
        nth, t = stream_of(event.t, len(self.Ws))
        if isinstance(t, Bound):
            raise whole.not_a_time(event.t)
        if isinstance(event, DT):
            return self, [DT(t, event.d)]
        W = self.ticks.W(WM(t))
        Ws = tuple(max(old, W) if i == nth else old for i, old in enumerate(self.Ws))
        seen = self.ahead | {W}
        reached = sorted(W for W in seen if min(self.Ws) < W <= min(Ws))
        after = replace(self, Ws=Ws, ahead=frozenset(W for W in seen if min(Ws) < W))
        return after, [wm for W in reached for wm in self.ticks.WM(W)]


def sum_of(order: Order[Any], streams: int) -> Order[Any]:
    """Return the order of several streams of one order, side by side: sums, of which the last stream is on the right.

    >>> from tidegate.time import Nat
    >>> sum_of(Nat(), 3)
    Sum(Sum(Nat(), Nat()), Nat())
    """
    if not isinstance(streams, int) or streams < 1:
        raise ValueError(f"expected a number of streams, at least 1, got {streams!r}")
    return order if streams == 1 else Sum(sum_of(order, streams - 1), order)


def on_stream(nth: int, streams: int, t: Any) -> Any:
    """Return a time of one of several streams, counted from 0, as a time of `sum_of` all.

    >>> [on_stream(nth, 3, 7) for nth in range(3)]
    [Inl(Inl(7)), Inl(Inr(7)), Inr(7)]
    """
    if streams == 1:
        return t
    return Inr(t) if nth == streams - 1 else Inl(on_stream(nth, streams - 1, t))


def stream_of(t: Any, streams: int) -> tuple[int, Any]:
    """Return which stream a time of `sum_of` several is on, and the time there."""
    while streams > 1 and isinstance(t, Inl | Inr):
        streams -= 1
        if isinstance(t, Inr):
            return streams, t.t
        t = t.t
    return 0, t


def merge_op(order: Order[Any], streams: int = 2) -> Operator[Event, Event]:
    """Build the operator that merges streams into one; its watermark is the least of theirs.

    Two streams have times ``Inl(t)`` and ``Inr(t)``, more have those of `sum_of`. When the watermark grows, all
    watermarks on the way are passed, in ascending order, and not only the last as in section 2.2. Otherwise a stream
    that begins late would make the merged one leap, and C1 would be lost.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> stream = [DT(Inl(0), "a"), WM(Inl(0)), WM(Inl(1)), DT(Inr(5), "b"), WM(Inr(4))]
    >>> list(produce(merge_op(Nat()), stream))
    [DT(0, 'a'), DT(5, 'b'), WM(0), WM(1)]
    """
    sum_of(order, streams)
    return _Merge(Ticks(order), (-math.inf,) * streams)


@dataclass(frozen=True, slots=True)
class _Sides(Operator[Event, Event]):
    left: Operator[Event, Event]
    right: Operator[Event, Event]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        side = type(event.t)
        inner: Event = DT(event.t.t, event.d) if isinstance(event, DT) else WM(event.t.t)
        op, outputs = step(self.left if side is Inl else self.right, inner)
        after = replace(self, left=op) if side is Inl else replace(self, right=op)
        return after, list(_sided(side, outputs))

    def exit(self) -> Iterable[Event]:
        return [*_sided(Inl, self.left.exit()), *_sided(Inr, self.right.exit())]


def _sided(side: Any, events: Iterable[Event]) -> Iterator[Event]:
    return (DT(side(e.t), e.d) if isinstance(e, DT) else WM(side(e.t)) for e in events)


def sides_op(left: Operator[Event, Event], right: Operator[Event, Event]) -> Operator[Event, Event]:
    """Build the operator that feeds ``left`` with one side of its input and ``right`` with the other.

    >>> from tidegate.spec import map_op, produce
    >>> op = sides_op(map_op(lambda t, d: d.upper()), map_op(lambda t, d: d))
    >>> list(produce(op, [DT(Inl(0), "a"), DT(Inr(0), "a")]))
    [DT(Inl(0), 'A'), DT(Inr(0), 'a')]
    """
    return _Sides(left, right)


@dataclass(frozen=True, slots=True)
class _Both(Operator[Event, Event]):
    left: Operator[Event, Event]
    right: Operator[Event, Event]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        left, lefts = step(self.left, event)
        right, rights = step(self.right, event)
        return _Both(left, right), [*_sided(Inl, lefts), *_sided(Inr, rights)]

    def exit(self) -> Iterable[Event]:
        return [*_sided(Inl, self.left.exit()), *_sided(Inr, self.right.exit())]


def both_op(left: Operator[Event, Event], right: Operator[Event, Event]) -> Operator[Event, Event]:
    """Build the operator that feeds one stream to two operators: the same tuples and watermarks, in the same order.

    >>> from tidegate.spec import map_op, produce
    >>> list(produce(both_op(map_op(lambda t, d: d + 1), map_op(lambda t, d: -d)), [DT(0, 1)]))
    [DT(Inl(0), 2), DT(Inr(0), -1)]
    """
    return _Both(left, right)
