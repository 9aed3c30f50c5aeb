"""Antichains: sets of times of which none is below another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations
from typing import Generic, Self, TypeVar

from tidegate.errors import BadValue
from tidegate.time.order import Order, maximal, minimal

__all__ = ["Antichain", "complete_times", "frontier_times"]

T = TypeVar("T", bound=Hashable)


class Antichain(Generic[T]):
    """A finite set of times (or extended times) of an order, no two of which are comparable.

    It can be read in two ways: as a frontier, the least times that may still appear (`reaches`), or as the greatest
    complete times (`covers`).

    >>> from tidegate.time import Nat, Product
    >>> frontier = Antichain.minimal(Product(Nat(), Nat()), [(0, 2), (1, 1), (1, 3)])
    >>> sorted(frontier)
    [(0, 2), (1, 1)]
    >>> frontier.reaches((5, 5)), frontier.reaches((0, 1))
    (True, False)
    """

    __slots__ = ("order", "times")

    def __init__(self, order: Order[T], times: Iterable[T] = ()) -> None:
        self.order = order
        self.times: frozenset[T] = frozenset(times)
        for t in self.times:
            order.check(t, extended=True)
        if len(minimal(order, self.times)) != len(self.times):
            a, b = next((a, b) for a, b in combinations(self.times, 2) if order.comparable(a, b))
            raise BadValue(
                f"expected times of which none is below another, got {a!r} and {b!r}",
                hint="keep the least with Antichain.minimal(…) or the greatest with Antichain.maximal(…)",
            )

    @classmethod
    def minimal(cls, order: Order[T], times: Iterable[T]) -> Self:
        """Build the antichain of the minimal elements of ``times``."""
        return cls(order, minimal(order, times))

    @classmethod
    def maximal(cls, order: Order[T], times: Iterable[T]) -> Self:
        """Build the antichain of the maximal elements of ``times``."""
        return cls(order, maximal(order, times))

    def reaches(self, t: T) -> bool:
        """Return whether some element is at or below ``t``: if this is a frontier, ``t`` may still appear."""
        return any(self.order.le(f, t) for f in self.times)

    def covers(self, t: T) -> bool:
        """Return whether some element is at or above ``t``: if these are complete times, ``t`` is complete."""
        return any(self.order.le(t, c) for c in self.times)

    def __iter__(self) -> Iterator[T]:
        return iter(self.times)

    def __len__(self) -> int:
        return len(self.times)

    def __contains__(self, t: object) -> bool:
        return t in self.times

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Antichain) and self.order == other.order and self.times == other.times

    def __hash__(self) -> int:
        return hash((self.order, self.times))

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, sorted(self.times, key=self.order.key))) + "}"


def complete_times(order: Order[T], frontier: Iterable[T]) -> Antichain[T]:
    """Return the greatest complete times, given the least times that may still appear.

    A time is complete if no element of the frontier is at or below it. `frontier_times` does the reverse.

    >>> from tidegate.time import Nat, Product
    >>> complete_times(Product(Nat(), Nat()), [(3, 2)])
    {(2, TOP), (TOP, 1)}
    >>> complete_times(Nat(), [])
    {TOP}
    """
    found = order.tops()
    for f in frontier:
        order.check(f, extended=True)
        found = maximal(order, [x for c in found for g in order.not_above(f) for x in order.lower_bounds(c, g)])
    return Antichain(order, found)


def frontier_times(order: Order[T], complete: Iterable[T]) -> Antichain[T]:
    """Return the least times that may still appear, given complete times such as watermarks.

    >>> from tidegate.time import TOP, Nat, Product
    >>> frontier_times(Product(Nat(), Nat()), [(2, TOP), (TOP, 1)])
    {(3, 2)}
    >>> frontier_times(Nat(), [])
    {0}
    """
    found = order.bottoms()
    for c in complete:
        order.check(c, extended=True)
        found = minimal(order, [x for f in found for g in order.not_below(c) for x in order.upper_bounds(f, g)])
    return Antichain(order, found)
