"""The tracker of the engines: the implied frontier of every location, kept up to date as pointstamps come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop
from typing import Any

from tidegate.progress.errors import Forbidden
from tidegate.progress.graph import Graph, Location
from tidegate.progress.layout import lay_out
from tidegate.progress.pointstamp import is_count, not_a_count
from tidegate.progress.settle import Agenda, TrackedLocation
from tidegate.progress.why import Reason, reasons
from tidegate.time import Antichain, ZMultiset

__all__ = ["Progress"]


class Progress:
    """The implied frontier of every location of a graph, kept up to date.

    An update costs as much as it changes: a change is passed on only as far as it changes frontiers. After each update
    `frontier` is the paper's ``implied_frontier``, at which `Propagation` arrives step by step.

    >>> from tidegate.time import Nat
    >>> graph = Graph(Nat(), {("in", "loop"): 0, ("loop", "back"): 0, ("back", "loop"): 1, ("loop", "out"): 0})
    >>> progress = Progress(graph, {"in": {3: 1}})
    >>> progress.frontier("back")
    {3}
    >>> progress.update([("in", 3, -1), ("back", 5, 1)])
    ['in', 'loop', 'back', 'out']
    >>> progress.frontier("out"), progress.complete("out", 5)
    ({6}, True)
    >>> print(*progress.why("out", 7))
    back at 5 -> loop at 6 -> out at 6
    """

    __slots__ = ("_places", "_regions", "graph", "signed")

    def __init__(
        self, graph: Graph, pointstamps: Mapping[Location, Mapping[Any, int]] | None = None, *, signed: bool = False
    ) -> None:
        self.graph = graph
        #: Whether counts may be negative for a while, as in one worker's view of what all workers hold.
        self.signed = signed
        self._places, self._regions = lay_out(graph)
        for l, counts in (pointstamps or {}).items():
            self.update((l, t, n) for t, n in counts.items())

    def update(self, changes: Iterable[tuple[Location, Any, int]]) -> list[Location]:
        """Add ``n`` pointstamps for each ``(location, time, n)``; return the locations whose frontier changed.

        All changes are made at once; their order does not matter. If one is refused, none is made.
        """
        net: dict[tuple[Location, Any], int] = {}
        for l, t, n in changes:
            pointstamp = (l, t)
            if n.__class__ is not int and not is_count(n):
                raise not_a_count(n).at(f"location {l!r}, time {t!r}")
            try:
                net[pointstamp] = net.get(pointstamp, 0) + n
            except TypeError:
                self.graph.check(l, t)  # what cannot be hashed is not a time of any order
                raise
        checked = [self._checked(l, t, n) for (l, t), n in net.items()]
        agenda: Agenda = []
        for place, t, n in checked:
            if n:
                place.point(t, n, agenda)
        changed: list[Location] = []
        regions = self._regions
        while agenda:
            region = regions[heappop(agenda)]
            region.queued = False
            region.settle(agenda, changed)
        return changed

    def add(self, location: Location, t: Any, n: int = 1) -> list[Location]:
        """Add pointstamps at one location and time; return the locations whose frontier changed."""
        return self.update([(location, t, n)])

    def drop(self, location: Location, t: Any, n: int = 1) -> list[Location]:
        """Drop pointstamps at one location and time; return the locations whose frontier changed."""
        if not is_count(n):  # check before it is negated: -True is -1
            raise not_a_count(n).at(f"location {location!r}, time {t!r}")
        return self.update([(location, t, -n)])

    def frontier(self, location: Location) -> Antichain[Any]:
        """Return the least times that may still appear at ``location``, from what is there and what can reach it."""
        place = self._place(location)
        return Antichain(place.order, place.frontier())

    def complete(self, location: Location, t: Any) -> bool:
        """Whether nothing can appear any more at ``location`` at ``t`` or below."""
        place = self._place(location)
        if not place.order.contains(t, extended=True):
            raise place.order.not_a_time(t).at(f"location {location!r}")
        le = place.order.le
        return not any(le(f, t) for f in place.frontier())

    def why(self, location: Location, t: Any) -> list[Reason]:
        """Return the pointstamps that could still reach ``location`` at ``t`` or below: none if ``t`` is complete."""
        return reasons(self.graph, lambda l: self._places[l].points(), location, t)

    def pointstamps(self, location: Location) -> ZMultiset[Any]:
        """Return the times of the pointstamps at ``location`` itself, with their counts."""
        return ZMultiset(dict(self._place(location).points()))

    def __repr__(self) -> str:
        held = sum(1 for place in self._places.values() for _ in place.points())
        return f"<Progress of {held} pointstamps on {self.graph!r}>"

    def _place(self, location: Location) -> TrackedLocation:
        try:
            return self._places[location]
        except KeyError:
            self.graph.check_location(location)
            raise

    def _place_at(self, location: Location, t: Any) -> TrackedLocation:
        self.graph.check(location, t)
        return self._places[location]

    def _checked(self, l: Location, t: Any, n: int) -> tuple[TrackedLocation, Any, int]:
        place = self._places.get(l) or self._place_at(l, t)
        count = place.count(t)
        if not count and not place.accepts(t):
            raise place.order.not_a_time(t).at(f"location {l!r}")
        if count + n < 0 and not self.signed:
            raise Forbidden(
                "counts stay at least 0",
                f"expected the number of pointstamps to stay at least 0, got {count} and a change of {n:+d}",
                hint="drop only what was added, or allow it with signed=True",
            ).at(f"location {l!r}, time {t!r}")
        return place, t, n
