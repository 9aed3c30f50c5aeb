"""Times as whole units δ since the epoch, and the one place where the paper's watermarks become ours and back.

The paper's watermark W is the earliest time that may still come. Ours, `WM`, is the latest that may not: ``WM(W - δ)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

from tidegate.errors import BadValue
from tidegate.spec.events import WM
from tidegate.time import BOTTOM, TOP, EventTime, Int, Order

__all__ = ["Tick", "Ticks"]

#: A number of units; infinite only in watermarks.
Tick: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Ticks:
    """The times of a discrete total order, counted in its unit δ: 1 for numbers, else a microsecond or a day.

    >>> from tidegate.time import Nat
    >>> Ticks(Nat()).W(WM(4)), Ticks(Nat()).WM(5), Ticks(Nat()).WM(0)
    (5, [WM(4)], [])
    """

    order: Order[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.order, Int | EventTime):
            raise BadValue(
                f"expected a total order with a unit of time for windows, got {self.order!r}",
                hint="use Nat(), Int() or EventTime(); on a product, window one component and group by the others",
            )

    def of(self, t: Any) -> int:
        """Return how many units ``t`` lies after the epoch."""
        if isinstance(self.order, EventTime):
            return int((t - self._epoch()) // EventTime.UNITS[self.order.unit])
        return int(t)

    def time(self, n: int) -> Any:
        """Return the time that lies ``n`` units after the epoch; the reverse of `of`."""
        if isinstance(self.order, EventTime):
            return self._epoch() + n * EventTime.UNITS[self.order.unit]
        return n

    def has(self, n: int) -> bool:
        """Return whether there is a time ``n`` units after the epoch."""
        try:
            return self.order.contains(self.time(n))
        except OverflowError:
            return False

    def W(self, watermark: WM[Any]) -> Tick:
        """Return the paper's watermark: the earliest tick that may still come."""
        if watermark.t is TOP:
            return math.inf
        return -math.inf if watermark.t is BOTTOM else self.of(watermark.t) + 1

    def WM(self, W: Tick) -> list[WM[Any]]:
        """Return our watermark for the paper's ``W``; none if ``W`` is the least time or below, and so says nothing."""
        if math.inf == W:
            return [WM(TOP)]
        return [WM(self.time(int(W) - 1))] if -math.inf < W and self.has(int(W) - 1) else []

    def _epoch(self) -> Any:
        assert isinstance(self.order, EventTime)
        return date(1970, 1, 1) if self.order.unit == "day" else datetime(1970, 1, 1)
