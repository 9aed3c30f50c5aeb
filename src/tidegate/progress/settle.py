"""How the tracker applies changes: what it keeps at each location, and how it passes on changes of the frontier.

A region is a strongly connected component of the graph. In a batch of changes, each region settles once, after those
before it: it applies the changes that have arrived. There are three kinds, because most locations need little:

- `LeastLocation`: no cycle, a total order that Python compares, few predecessors. The frontier is one time, the least
  found.
- `CountedLocation`: no cycle. It keeps a `Frontier` with counts, which changes by what arrives.
- `LoopRegion`: one or more cycles. Its members (`LoopMember`) keep the same counts, but the least changes are applied
  first. Otherwise a time that is implied only by itself, round by round, would be followed for ever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol, TypeAlias

from tidegate.progress.graph import Location
from tidegate.time import Frontier, Order

__all__ = [
    "Agenda",
    "CountedLocation",
    "EdgeFunction",
    "LeastLocation",
    "LoopMember",
    "LoopRegion",
    "Region",
    "TrackedLocation",
]

#: What a time becomes along an edge; None if it would be past the end of the order.
EdgeFunction: TypeAlias = Callable[[Any], Any]

#: The ranks of the regions that have something to settle, as a heap.
Agenda: TypeAlias = list[int]


class Region(Protocol):
    """One or more locations that settle together."""

    rank: int
    queued: bool

    def settle(self, agenda: Agenda, changed: list[Location]) -> None:
        """Apply what has arrived, pass on what changed, and add the locations whose frontier changed."""


class TrackedLocation(ABC):
    """What the tracker keeps at one location."""

    __slots__ = ("accepts", "counters", "least", "location", "order", "readers", "region")

    region: Region

    def __init__(self, location: Location, order: Order[Any]) -> None:
        self.location = location
        self.order = order
        #: Whether a pointstamp may be at a time.
        self.accepts: Callable[[Any], bool] = order.contains
        #: The only time of the frontier, or None if it is empty; kept if the order is total.
        self.least: Any = None
        #: Successors in other regions: those that read `least`, and those that count what they are sent.
        self.readers: dict[LeastLocation, None] = {}
        self.counters: list[tuple[CountedLocation | LoopMember, EdgeFunction]] = []

    @abstractmethod
    def count(self, t: Any) -> int:
        """Return how many pointstamps there are at ``t``."""

    @abstractmethod
    def points(self) -> Iterable[tuple[Any, int]]:
        """Return the times of the pointstamps with their counts."""

    @abstractmethod
    def point(self, t: Any, n: int, agenda: Agenda) -> None:
        """Add ``n`` pointstamps at ``t``."""

    @abstractmethod
    def frontier(self) -> Iterable[Any]:
        """Return the times of the implied frontier."""

    def send(self, changes: Iterable[tuple[Any, int]], agenda: Agenda) -> None:
        """Tell the other regions how the frontier changed."""
        for reader in self.readers:
            if not reader.queued:
                reader.queued = True
                heappush(agenda, reader.rank)
        for target, step in self.counters:
            for t, n in changes:
                u = step(t)
                if u is not None:
                    target.receive(u, n)
            region = target.region
            if not region.queued:
                region.queued = True
                heappush(agenda, region.rank)


class LeastLocation(TrackedLocation):
    """A location outside cycles whose frontier is at most one time: the least that is there or comes along an edge."""

    __slots__ = ("counts", "heap", "queued", "rank", "sources")

    def __init__(self, location: Location, order: Order[Any], rank: int) -> None:
        super().__init__(location, order)
        self.region = self
        self.rank = rank
        self.queued = False
        self.sources: list[tuple[TrackedLocation, EdgeFunction | None]] = []
        self.counts: dict[Any, int] = {}
        # The times with a positive count, and some that had one: these are removed when they reach the top of the
        # heap, or when there are many.
        self.heap: list[Any] = []

    def count(self, t: Any) -> int:
        return self.counts.get(t, 0)

    def points(self) -> Iterable[tuple[Any, int]]:
        return self.counts.items()

    def point(self, t: Any, n: int, agenda: Agenda) -> None:
        counts, heap = self.counts, self.heap
        before = counts.get(t, 0)
        after = before + n
        if after:
            counts[t] = after
        else:
            del counts[t]
        if before <= 0 < after:
            heappush(heap, t)
            if len(heap) > 2 * len(counts) + 8:
                heap[:] = [u for u, m in counts.items() if m > 0]
                heapify(heap)
        if not self.queued:
            self.queued = True
            heappush(agenda, self.rank)

    def frontier(self) -> Iterable[Any]:
        return () if self.least is None else (self.least,)

    def settle(self, agenda: Agenda, changed: list[Location]) -> None:
        least = None
        heap = self.heap
        if heap:
            counts = self.counts
            while heap and counts.get(heap[0], 0) <= 0:
                heappop(heap)
            if heap:
                least = heap[0]
        for source, step in self.sources:
            t = source.least
            if t is not None:
                if step is not None:
                    t = step(t)
                    if t is None:
                        continue
                if least is None or t < least:
                    least = t
        before = self.least
        if least == before:
            return
        self.least = least
        changed.append(self.location)
        for reader in self.readers:
            if not reader.queued:
                reader.queued = True
                heappush(agenda, reader.rank)
        if self.counters:
            # The readers are queued already.
            changes = [] if before is None else [(before, -1)]
            if least is not None:
                changes.append((least, 1))
            self.send(changes, agenda)


class _Counting(TrackedLocation):
    """A location that counts the times that its own pointstamps and its predecessors' frontiers imply."""

    __slots__ = ("implied", "own")

    def __init__(self, location: Location, order: Order[Any]) -> None:
        super().__init__(location, order)
        self.own: Frontier[Any] = Frontier(order)
        self.implied: Frontier[Any] = Frontier(order)

    def count(self, t: Any) -> int:
        return self.own.count(t)

    def points(self) -> Iterable[tuple[Any, int]]:
        return self.own.counts().items()

    def point(self, t: Any, n: int, agenda: Agenda) -> None:
        changes = self.own.update(t, n)
        if changes:
            for u, m in changes:
                self.receive(u, m)
            region = self.region
            if not region.queued:
                region.queued = True
                heappush(agenda, region.rank)

    def frontier(self) -> Iterable[Any]:
        return self.implied

    @abstractmethod
    def receive(self, t: Any, n: int) -> None:
        """Record that ``t`` is implied ``n`` more times."""

    def tell(self, changes: list[tuple[Any, int]], agenda: Agenda, changed: list[Location]) -> None:
        """Tell the other regions how the frontier changed, and record that it did."""
        if self.order.total:
            self.least = next(iter(self.implied), None)
        changed.append(self.location)
        self.send(changes, agenda)


class CountedLocation(_Counting):
    """A location outside of cycles that keeps counts."""

    __slots__ = ("arrived", "queued", "rank")

    def __init__(self, location: Location, order: Order[Any], rank: int) -> None:
        super().__init__(location, order)
        self.region = self
        self.rank = rank
        self.queued = False
        self.arrived: list[tuple[Any, int]] = []

    def receive(self, t: Any, n: int) -> None:
        self.arrived.append((t, n))

    def settle(self, agenda: Agenda, changed: list[Location]) -> None:
        arrived, self.arrived = self.arrived, []
        changes = self.implied.update_all(arrived)
        if changes:
            self.tell(changes, agenda, changed)


class LoopRegion:
    """The locations of a cycle, or of several that share locations."""

    __slots__ = ("members", "queued", "rank", "work")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.queued = False
        self.members: list[LoopMember] = []
        #: What has arrived and is not applied, least first; the change itself is at the member.
        self.work: list[tuple[Any, int, Any]] = []

    def settle(self, agenda: Agenda, changed: list[Location]) -> None:
        work, members = self.work, self.members
        moved: dict[int, dict[Any, int]] = {}
        while work:
            _, i, t = heappop(work)
            member = members[i]
            n = member.arrived.pop(t)
            changes = member.implied.update(t, n) if n else None
            if not changes:
                continue
            net = moved.setdefault(i, {})
            for u, m in changes:
                net[u] = net.get(u, 0) + m
            for target, step in member.inner:
                for u, m in changes:
                    v = step(u)
                    if v is not None:
                        target.receive(v, m)
        for i, net in moved.items():
            changes = [(u, m) for u, m in net.items() if m]
            if changes:
                members[i].tell(changes, agenda, changed)


class LoopMember(_Counting):
    """A location in a cycle."""

    __slots__ = ("arrived", "inner", "key", "loop", "number")

    def __init__(self, location: Location, order: Order[Any], loop: LoopRegion, key: Callable[[Any], Any]) -> None:
        super().__init__(location, order)
        self.region = self.loop = loop
        self.number = len(loop.members)
        loop.members.append(self)
        #: Sorts times in the loop: a change comes before all changes that it could result in.
        self.key = key
        self.inner: list[tuple[LoopMember, EdgeFunction]] = []
        self.arrived: dict[Any, int] = {}

    def receive(self, t: Any, n: int) -> None:
        before = self.arrived.get(t)
        if before is None:
            self.arrived[t] = n
            heappush(self.loop.work, (self.key(t), self.number, t))
        else:
            self.arrived[t] = before + n
