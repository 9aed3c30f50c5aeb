"""Why a time is not complete: the pointstamps that could still reach it, each with the path that it would take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tidegate.progress.graph import Graph, Location, Pointstamp

__all__ = ["Reason", "reasons"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A pointstamp that could still reach a location, how many there are of it, and a shortest path that it would take.

    ``path`` begins with the pointstamp and holds, for each location on the way, the time that it would have there.
    """

    path: tuple[Pointstamp, ...]
    count: int = 1

    @property
    def location(self) -> Location:
        """The location of the pointstamp."""
        return self.path[0][0]

    @property
    def time(self) -> Any:
        """The time of the pointstamp."""
        return self.path[0][1]

    @property
    def arrives(self) -> Any:
        """The least time at which it would arrive."""
        return self.path[-1][1]

    def __str__(self) -> str:
        times = f"{self.count} × " if self.count > 1 else ""
        return times + " -> ".join(f"{l} at {t}" for l, t in self.path)


def reasons(
    graph: Graph, points: Callable[[Location], Iterable[tuple[Any, int]]], location: Location, t: Any
) -> list[Reason]:
    """Return the pointstamps that could result in ``(location, t)``, those with the shortest paths first.

    >>> from tidegate.time import Nat
    >>> graph = Graph(Nat(), {("a", "b"): 1, ("b", "c"): 0, ("a", "c"): 5})
    >>> [str(r) for r in reasons(graph, {"a": [(3, 2)], "b": [], "c": [(9, 1)]}.get, "c", 6)]
    ['2 × a at 3 -> b at 4 -> c at 4']
    """
    graph.check(location, t, extended=True)
    upstream = _upstream(graph, location)
    found = [
        Reason(path, count)
        for l in upstream
        for u, count in points(l)
        if count > 0 and (path := _path(graph, upstream, (l, u), (location, t)))
    ]
    return sorted(found, key=lambda reason: len(reason.path))


def _upstream(graph: Graph, location: Location) -> dict[Location, None]:
    found = {location: None}
    queue = deque([location])
    while queue:
        for l in graph.predecessors(queue.popleft()):
            if l not in found:
                found[l] = None
                queue.append(l)
    return found


def _path(
    graph: Graph, upstream: dict[Location, None], start: Pointstamp, end: Pointstamp
) -> tuple[Pointstamp, ...] | None:
    """Search breadth first; at each location only the least times are followed."""
    location, t = end
    before: dict[Pointstamp, Pointstamp | None] = {start: None}
    least: dict[Location, list[Any]] = {start[0]: [start[1]]}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        l, u = here
        if l == location and graph.order(l).le(u, t):
            return _back(before, here)
        for m, summaries in graph.successors(l).items():
            if m not in upstream:
                continue
            le, known = graph.order(m).le, least.setdefault(m, [])
            for summary in summaries:
                v = summary.results_in(u)
                if not any(le(k, v) for k in known):
                    known.append(v)
                    before[m, v] = here
                    queue.append((m, v))
    return None


def _back(before: dict[Pointstamp, Pointstamp | None], end: Pointstamp) -> tuple[Pointstamp, ...]:
    path: list[Pointstamp] = []
    here: Pointstamp | None = end
    while here is not None:
        path.append(here)
        here = before[here]
    return tuple(reversed(path))
