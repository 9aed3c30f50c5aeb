"""The disjoint sum of two orders: times of two independent sources, never comparable across."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from tidegate.time.order import BOTTOM, TOP, Bound, Order, le_bound
from tidegate.time.summary import Summaries, SumSummaries

__all__ = ["Inl", "Inr", "Sum"]

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Inl(Generic[T]):
    """A time of the left side."""

    t: T
    is_left: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"Inl({self.t!r})"


@dataclass(frozen=True, slots=True)
class Inr(Generic[T]):
    """A time of the right side."""

    t: T
    is_left: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"Inr({self.t!r})"


Side: TypeAlias = Inl[Any] | Inr[Any]


@dataclass(frozen=True, slots=True)
class Sum(Order[Side]):
    """Two orders side by side.

    >>> from tidegate.time import Nat
    >>> order = Sum(Nat(), Nat())
    >>> order.le(Inl(1), Inl(2)), order.comparable(Inl(1), Inr(1))
    (True, False)
    """

    left: Order[Any]
    right: Order[Any]

    def __post_init__(self) -> None:
        for part in (self.left, self.right):
            if not isinstance(part, Order):
                got = f"{part!r} ({type(part).__name__})"
                raise TypeError(f"expected an order in Sum(…), got {got}; write Nat(), not Nat")

    def __repr__(self) -> str:
        return f"Sum({self.left!r}, {self.right!r})"

    def _part(self, t: Side) -> Order[Any]:
        if isinstance(t, Inl):
            return self.left
        if isinstance(t, Inr):
            return self.right
        raise self.not_a_time(t)

    def le(self, a: Side, b: Side) -> bool:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return le_bound(a, b)
        part, other = self._part(a), self._part(b)
        return a.is_left == b.is_left and part is other and part.le(a.t, b.t)

    def contains(self, t: object, *, extended: bool = False) -> bool:
        if isinstance(t, Bound):
            return extended
        return isinstance(t, Inl | Inr) and self._part(t).contains(t.t, extended=extended)

    def key(self, t: Side) -> Any:
        if isinstance(t, Bound):
            return (t, t)
        return (0 if t.is_left else 1, self._part(t).key(t.t))

    @property
    def summaries(self) -> Summaries[Side, Any]:
        return SumSummaries(self.left.summaries, self.right.summaries)

    def tops(self) -> list[Side]:
        return [*map(Inl, self.left.tops()), *map(Inr, self.right.tops())]

    def bottoms(self) -> list[Side]:
        return [*map(Inl, self.left.bottoms()), *map(Inr, self.right.bottoms())]

    def not_above(self, f: Side) -> list[Side]:
        if isinstance(f, Bound):
            return self.tops() if f is TOP else []
        return self._but(f, self._part(f).not_above(f.t), self.tops())

    def not_below(self, c: Side) -> list[Side]:
        if isinstance(c, Bound):
            return self.bottoms() if c is BOTTOM else []
        return self._but(c, self._part(c).not_below(c.t), self.bottoms())

    def _but(self, t: Side, here: list[Any], ends: list[Side]) -> list[Side]:
        there = [e for e in ends if e.is_left != t.is_left]
        mine: list[Side] = [type(t)(x) for x in here]
        return mine + there if t.is_left else there + mine

    def lower_bounds(self, a: Side, b: Side) -> list[Side]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [a if self.le(a, b) else b]
        return [type(a)(x) for x in self._part(a).lower_bounds(a.t, b.t)] if a.is_left == b.is_left else []

    def upper_bounds(self, a: Side, b: Side) -> list[Side]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [b if self.le(a, b) else a]
        return [type(a)(x) for x in self._part(a).upper_bounds(a.t, b.t)] if a.is_left == b.is_left else []

    def _hint(self) -> str:
        return f"Inl(t) with a time of {self.left!r}, or Inr(t) with a time of {self.right!r}"
