"""Discrete total orders: natural numbers, integers, and instants of event time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, TypeVar, cast

from tidegate.time.order import BOTTOM, TOP, Bound, Order
from tidegate.time.summary import Spans, Steps, Summaries

__all__ = ["EventTime", "Int", "Nat"]

V = TypeVar("V", int, date)


class Discrete(Order[V]):
    """A total order whose times have a next and a previous one; Python's own comparison is the order."""

    __slots__ = ()
    total: bool = True
    #: The classes of values that need no further check to be compared.
    CLASSES: ClassVar[tuple[type, ...]]

    @abstractmethod
    def next(self, t: V) -> V:
        """Return the time directly above ``t``; `TOP` if the values end there."""

    @abstractmethod
    def previous(self, t: V) -> V | None:
        """Return the time directly below ``t``, or None if ``t`` is the least."""

    @property
    @abstractmethod
    def bottom(self) -> V:
        """The least time, or `BOTTOM` where there is none."""

    def le(self, a: V, b: V) -> bool:
        if a.__class__ in self.CLASSES and b.__class__ in self.CLASSES:
            return a <= b
        for t in (a, b):
            self.check(t, extended=True)
        return a <= b

    def key(self, t: V) -> Any:
        return t

    def tops(self) -> list[V]:
        return [cast(V, TOP)]

    def bottoms(self) -> list[V]:
        return [self.bottom]

    def not_above(self, f: V) -> list[V]:
        if f is BOTTOM:
            return []
        if f is TOP:
            return self.tops()
        previous = self.previous(f)
        return [] if previous is None else [previous]

    def not_below(self, c: V) -> list[V]:
        if c is TOP:
            return []
        return [self.bottom if c is BOTTOM else self.next(c)]

    def lower_bounds(self, a: V, b: V) -> list[V]:
        return [a if self.le(a, b) else b]

    def upper_bounds(self, a: V, b: V) -> list[V]:
        return [b if self.le(a, b) else a]

    def _extremal(self, xs: list[V], *, greatest: bool) -> list[V]:
        try:
            return [max(xs) if greatest else min(xs)]
        except TypeError:
            raise next(self.not_a_time(x) for x in xs if not self.contains(x, extended=True)) from None


@dataclass(frozen=True, slots=True)
class Int(Discrete[int]):
    """The integers.

    >>> Int().le(-3, 2), Int().successors(-3)
    (True, [-2])
    """

    CLASSES: ClassVar[tuple[type, ...]] = (int,)

    def contains(self, t: object, *, extended: bool = False) -> bool:
        return (isinstance(t, int) and not isinstance(t, bool)) or (extended and isinstance(t, Bound))

    def next(self, t: int) -> int:
        return t + 1

    def previous(self, t: int) -> int | None:
        return t - 1

    @property
    def bottom(self) -> int:
        return cast(int, BOTTOM)

    @property
    def summaries(self) -> Summaries[int, Any]:
        return Steps()

    def _hint(self) -> str:
        return "an integer"


@dataclass(frozen=True, slots=True)
class Nat(Int):
    """The natural numbers.

    >>> Nat().le(2, 3), Nat().least(), Nat().predecessors(0)
    (True, 0, [])
    """

    def contains(self, t: object, *, extended: bool = False) -> bool:
        return (isinstance(t, int) and not isinstance(t, bool) and t >= 0) or (extended and isinstance(t, Bound))

    def previous(self, t: int) -> int | None:
        return t - 1 if t > 0 else None

    @property
    def bottom(self) -> int:
        return 0

    def _hint(self) -> str:
        return "a natural number: 0, 1, 2, …"


@dataclass(frozen=True, slots=True)
class EventTime(Discrete[date]):
    """Instants, as naive `datetime` values in UTC with a resolution of one microsecond; or days, as `date` values.

    >>> EventTime().le(datetime(2026, 1, 1), datetime(2026, 1, 1, 12))
    True
    >>> EventTime("day").successors(date(2026, 2, 28))
    [datetime.date(2026, 3, 1)]
    """

    unit: str = "microsecond"

    CLASSES: ClassVar[tuple[type, ...]] = ()
    UNITS: ClassVar[dict[str, timedelta]] = {"microsecond": timedelta(microseconds=1), "day": timedelta(days=1)}

    def __repr__(self) -> str:
        return "EventTime()" if self.unit == "microsecond" else f"EventTime({self.unit!r})"

    def __post_init__(self) -> None:
        if self.unit not in self.UNITS:
            raise ValueError(f"expected a unit of EventTime out of {', '.join(self.UNITS)}, got {self.unit!r}")

    def contains(self, t: object, *, extended: bool = False) -> bool:
        if isinstance(t, Bound):
            return extended
        if self.unit == "day":
            return isinstance(t, date) and not isinstance(t, datetime)
        return isinstance(t, datetime) and t.tzinfo is None

    def next(self, t: date) -> date:
        try:
            return t + self.UNITS[self.unit]
        except OverflowError:
            return cast(date, TOP)

    def previous(self, t: date) -> date | None:
        try:
            return t - self.UNITS[self.unit]
        except OverflowError:
            return None

    @property
    def bottom(self) -> date:
        return datetime.min if self.unit == "microsecond" else date.min

    @property
    def summaries(self) -> Summaries[date, Any]:
        return Spans(self.UNITS[self.unit])

    def _hint(self) -> str:
        if self.unit == "day":
            return "a datetime.date without a time of day"
        return "a naive datetime in UTC; convert an aware one with t.astimezone(UTC).replace(tzinfo=None)"
