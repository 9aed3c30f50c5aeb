"""Frontiers with counts: the least times among those that are counted, kept up to date as counts change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

from tidegate.time.antichain import Antichain
from tidegate.time.order import Order, minimal
from tidegate.time.zmultiset import ZMultiset

__all__ = ["Frontier"]

T = TypeVar("T", bound=Hashable)


class Frontier(Generic[T]):
    """The minimal elements of the times that have a positive count.

    It iterates over its times. `update` returns how it changed, so that a change can be passed on.

    >>> from tidegate.time import Nat
    >>> frontier = Frontier(Nat(), {3: 1, 5: 2})
    >>> list(frontier)
    [3]
    >>> frontier.update(3, -1)
    [(3, -1), (5, 1)]
    >>> frontier.update(7, 1)
    []
    """

    __slots__ = ("_counts", "_heap", "_times", "order")

    def __init__(self, order: Order[T], counts: Mapping[T, int] | Iterable[T] = ()) -> None:
        self.order = order
        self._counts: dict[T, int] = dict(ZMultiset(counts).items())
        for t in self._counts:
            order.check(t, extended=True)
        positive = [t for t, n in self._counts.items() if n > 0]
        # On a total order the least time is at the top of a heap. Entries that lost their count are dropped later.
        self._heap: list[tuple[Any, T]] | None = [(order.key(t), t) for t in positive] if order.total else None
        if self._heap is not None:
            heapify(self._heap)
        self._times: dict[T, None] = dict.fromkeys(minimal(order, positive))

    def update(self, t: T, n: int) -> list[tuple[T, int]]:
        """Add ``n`` to the count of ``t``; return the times that left (-1) and entered (+1) the frontier."""
        counts = self._counts
        before = counts.get(t, 0)
        after = before + n
        if after:
            counts[t] = after
        else:
            counts.pop(t, None)
        if before <= 0 < after:
            return self._appear(t)
        if after <= 0 < before and t in self._times:
            return self._vanish(t)
        return []

    def update_all(self, changes: Iterable[tuple[T, int]]) -> list[tuple[T, int]]:
        """Apply several changes; return their net effect on the frontier, with what cancels left out.

        >>> from tidegate.time import Nat
        >>> Frontier(Nat(), [1]).update_all([(1, -1), (2, 1), (1, 1)])
        []
        """
        net: dict[T, int] = {}
        for t, n in changes:
            for u, m in self.update(t, n):
                net[u] = net.get(u, 0) + m
        return [(t, n) for t, n in net.items() if n]

    def count(self, t: T) -> int:
        """Return the count of ``t``."""
        return self._counts.get(t, 0)

    def counts(self) -> ZMultiset[T]:
        """Return all counts."""
        return ZMultiset(self._counts)

    def reaches(self, t: T) -> bool:
        """Return whether some time of the frontier is at or below ``t``."""
        le = self.order.le
        return any(le(f, t) for f in self._times)

    def antichain(self) -> Antichain[T]:
        """Return the frontier as it is now."""
        return Antichain(self.order, self._times)

    def __iter__(self) -> Iterator[T]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, t: object) -> bool:
        return t in self._times

    def __repr__(self) -> str:
        return f"Frontier({self.antichain()!r})"

    def _appear(self, t: T) -> list[tuple[T, int]]:
        if self._heap is not None:
            return self._appear_total(self._heap, t)
        le = self.order.le
        gone = []
        for f in self._times:
            if le(f, t):
                return []
            if le(t, f):
                gone.append(f)
        for f in gone:
            del self._times[f]
        self._times[t] = None
        return [(f, -1) for f in gone] + [(t, 1)]

    def _appear_total(self, heap: list[tuple[Any, T]], t: T) -> list[tuple[T, int]]:
        key = self.order.key
        heappush(heap, (key(t), t))
        if len(heap) > 2 * len(self._counts) + 8:
            # Most entries have lost their count. Remove them, or times that come and go would make the heap grow.
            heap[:] = [(key(u), u) for u, n in self._counts.items() if n > 0]
            heapify(heap)
        # The time of the frontier, if there is one, was at the top.
        if heap[0][1] != t:
            return []
        changes = [(f, -1) for f in self._times]
        changes.append((t, 1))
        self._times = {t: None}
        return changes

    def _vanish(self, t: T) -> list[tuple[T, int]]:
        del self._times[t]
        entered = self._next_least() if self._heap is not None else self._uncovered(t)
        self._times.update(dict.fromkeys(entered))
        return [(t, -1)] + [(u, 1) for u in entered]

    def _next_least(self) -> list[T]:
        assert self._heap is not None
        while self._heap and self._counts.get(self._heap[0][1], 0) <= 0:
            heappop(self._heap)
        return [self._heap[0][1]] if self._heap else []

    def _uncovered(self, t: T) -> list[T]:
        if not self._counts:
            return []
        le = self.order.le
        above = [u for u, n in self._counts.items() if n > 0 and le(t, u) and not any(le(f, u) for f in self._times)]
        return minimal(self.order, above)
