"""C1 to C3 as operators on a stream: `c1_op` guards the bound d, `c2_op` (Listing 4) and `c3_op` (Listing 5) hold back.

Streams with a loop need them. What comes round is late. It must not be discarded (C2), and must not make the input of
others late (C3). Both listings are corrected; docs/errata.md says where.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.errors import BadValue, TidegateError
from tidegate.spec.aggregate.embed import Embedded
from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.spec.properties import NotMonotone
from tidegate.time import Order

__all__ = ["NotBounded", "c1_op", "c2_op", "c3_op", "check_bound"]


class NotBounded(TidegateError, ValueError):
    """A watermark is further from the one before than the bound d of C1 allows."""


def check_bound(d: Any, *, most: int | None = None, lateness: int | None = None) -> int:
    """Return the bound d of C1, or raise `BadValue`."""
    if not isinstance(d, int) or isinstance(d, bool) or d < 1:
        raise BadValue(
            f"expected a bound d on the distance of watermarks (C1), of at least 1 unit, got {d!r}",
            hint="give d=…; without a bound use A_plus, which needs no loop",
        )
    if most is not None and d > most:
        raise BadValue(
            f"expected a bound d of at most the period {most}, got {d}: an instance could end before its state comes",
            hint="let watermarks come at least once a period",
        )
    if lateness is not None and lateness < d:
        raise BadValue(
            f"expected an allowed lateness of at least d = {d} in a loop, got {lateness}: the first watermark above a "
            "tuple could wait for that tuple for ever",
            hint="leave lateness out: it is d then",
        )
    return d


@dataclass(frozen=True, slots=True)
class _C1(Operator[Event, Event]):
    ticks: Ticks
    d: int
    W: Tick = -math.inf
    least: Tick = math.inf
    number: int = 0

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_event(self.ticks.order, event)
        after = replace(self, number=self.number + 1)
        if isinstance(event, DT):
            n = self.ticks.of(event.t)
            if n < self.W:
                raise NotMonotone(event, self.ticks.WM(self.W)[0].t, self.number)
            return replace(after, least=min(self.least, n)), [event]
        W = self.ticks.W(event)
        # Before the first watermark every tuple counts, not only the first as C1 is printed.
        since = self.W if -math.inf < self.W else self.least
        if W - since > self.d:
            start = "the watermark before it" if -math.inf < self.W else "the least time of data before it"
            raise NotBounded(
                f"expected a watermark at most d = {self.d} units above {start}, got {event!r}, {W - since} above",
                hint="send watermarks more often, or give the loop a larger d; end the stream to complete everything",
            )
        return replace(after, W=max(self.W, W)), [event]


def c1_op(order: Order[Any], d: int) -> Operator[Event, Event]:
    """Build the guard that passes a stream through and raises `NotBounded` if C1 does not hold with the bound ``d``.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> list(produce(c1_op(Nat(), 2), [DT(0, "a"), WM(1), WM(4)]))
    Traceback (most recent call last):
    tidegate.spec.aggregate.watermarks.NotBounded: expected a watermark at most d = 2 units above the watermark ...
    """
    return _C1(Ticks(order), check_bound(d))


def _counted(counts: Mapping[int, int], n: int, change: int) -> dict[int, int]:
    # Remove zeros at once, in both branches of both listings: an entry that stays would hold watermarks back for ever.
    changed = {**counts, n: counts.get(n, 0) + change}
    return {k: v for k, v in changed.items() if v}


@dataclass(frozen=True, slots=True)
class _C2(Operator[Event, Event]):
    ticks: Ticks
    lateness: int
    succ: dict[int, int] = field(default_factory=dict)
    pending: tuple[Tick, ...] = ()

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        return self.processW(event) if isinstance(event, WM) else self.processT(event)

    @property
    def B(self) -> Tick:
        """The highest watermark that may pass."""
        return min(self.succ) + self.lateness if self.succ else math.inf

    def processT(self, event: DT[Any, Embedded]) -> tuple[Operator[Event, Event], list[Event]]:
        change = len(event.d.data) if event.d.index == -1 else -1
        after = replace(self, succ=_counted(self.succ, self.ticks.of(event.t), change))
        ready = [W for W in self.pending if W <= after.B]
        after = replace(after, pending=self.pending[len(ready) :])
        return after, [event, *(self.ticks.WM(ready[-1]) if ready else [])]

    def processW(self, event: WM[Any]) -> tuple[Operator[Event, Event], list[Event]]:
        W = self.ticks.W(event)
        if W <= self.B:
            return self, [event]
        if self.pending and self.pending[-1] >= W:
            # It says less than one that waits already.
            return self, []
        return replace(self, pending=(*self.pending, W)), []


def c2_op(order: Order[Any], lateness: int) -> Operator[Event, Event]:
    """Build Listing 4 for the stream into a loop: a watermark waits until it makes nothing in the loop too late.

    >>> from tidegate.spec import fproduce
    >>> from tidegate.time import Nat
    >>> fproduce(c2_op(Nat(), 2), [DT(0, Embedded(("x",))), WM(1), WM(2), DT(0, Embedded(("x",), 0))])[1][1:]
    [WM(1), DT(0, Embedded(data=('x',), index=0, copies=1)), WM(2)]
    """
    return _C2(Ticks(order), lateness)


@dataclass(frozen=True, slots=True)
class _C3(Operator[Event, Event]):
    ticks: Ticks
    succ: dict[int, int] = field(default_factory=dict)
    latest: Tick = -math.inf
    greatest: Tick = -math.inf

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        return self.processW(event) if isinstance(event, WM) else self.processT(event)

    def processT(self, event: DT[Any, Embedded]) -> tuple[Operator[Event, Event], list[Event]]:
        n = self.ticks.of(event.t)
        change = event.d.total - 1 if event.d.index == 0 else -1
        after = replace(self, succ=_counted(self.succ, n, change))
        after, out = after._forward(max(n, self.greatest))
        return after, [event, *out]

    def processW(self, event: WM[Any]) -> tuple[Operator[Event, Event], list[Event]]:
        # What arrives while successors are pending is kept, and passes when all of them have come.
        after = replace(self, greatest=max(self.greatest, self.ticks.W(event)))
        return after._forward(after.greatest)

    def _forward(self, free: Tick) -> tuple[_C3, list[Event]]:
        W = min(self.succ) - 1 if self.succ else free
        return (replace(self, latest=W), list(self.ticks.WM(W))) if self.latest < W else (self, [])


def c3_op(order: Order[Any]) -> Operator[Event, Event]:
    """Build Listing 5 for the stream out of a loop: a watermark waits for the successors of what it triggered.

    >>> from tidegate.spec import fproduce
    >>> from tidegate.time import Nat
    >>> out = [DT(1, Embedded(("x", "y"), 0)), WM(1), DT(1, Embedded(("x", "y"), 1))]
    >>> [e for e in fproduce(c3_op(Nat()), out)[1] if isinstance(e, WM)]
    [WM(1)]
    """
    return _C3(Ticks(order))
