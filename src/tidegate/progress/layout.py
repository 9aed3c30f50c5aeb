"""The graph laid out for the tracker: its regions in order, what each location keeps, and edges as functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tidegate.progress.graph import Graph, Location
from tidegate.progress.regions import regions
from tidegate.progress.scope import AnyOrder, drop, inner, outer, split
from tidegate.progress.settle import Counted, Least, Loop, Member, Place, Region, Step
from tidegate.progress.summary import Summary
from tidegate.time import EventTime, Int, Lexicographic, Product, Sum
from tidegate.time.total import Discrete

__all__ = ["FAN_IN", "lay_out"]

#: Up to how many edges into a location are looked at anew when one of them changes; with more, counts are kept.
FAN_IN = 4


class _Edge(NamedTuple):
    source: Location
    target: Location
    summary: Summary


def lay_out(graph: Graph) -> tuple[dict[Location, Place], list[Region]]:
    """Answer what is kept at each location, and the regions by rank."""
    edges = [_Edge(l, m, s) for l in graph.locations for m, found in graph.successors(l).items() for s in found]
    into: dict[Location, list[_Edge]] = defaultdict(list)
    for edge in edges:
        into[edge.target].append(edge)
    places: dict[Location, Place] = {}
    ranked: list[Region] = []
    for rank, members in enumerate(_regions(graph.locations, edges)):
        if len(members) == 1:
            location = members[0]
            order = graph.order(location)
            few = len(into[location]) <= FAN_IN
            reads = _native(order) and few and all(_native(graph.order(e.source)) for e in into[location])
            places[location] = place = Least(location, order, rank) if reads else Counted(location, order, rank)
            ranked.append(place)
        else:
            loop = Loop(rank)
            inside = set(members)
            keys = _keys(members, [e for e in edges if e.source in inside and e.target in inside], graph.order)
            for location in members:
                places[location] = Member(location, graph.order(location), loop, keys[location])
            ranked.append(loop)
    for edge in edges:
        _connect(places[edge.source], places[edge.target], _step(edge.summary), neutral=edge.summary.neutral)
    return places, ranked


def _connect(source: Place, target: Place, step: Step, *, neutral: bool) -> None:
    if isinstance(target, Least):
        target.sources.append((source, None if neutral else step))
        if target not in source.readers:
            source.readers.append(target)
    elif isinstance(target, Member) and isinstance(source, Member) and source.loop is target.loop:
        source.inner.append((target, step))
    else:
        assert isinstance(target, Counted | Member)
        source.counters.append((target, step))


def _step(summary: Summary) -> Step:
    stays = not summary.leaves and not summary.enters
    if stays and isinstance(summary.base, Int):
        change: int = summary.change
        return change.__add__
    results_in = summary.results_in
    if not _ends(summary.target) or summary.neutral:
        return results_in
    contains = summary.target.contains

    def within(t: Any) -> Any:
        u = results_in(t)
        return u if contains(u) else None

    return within


def _native(order: AnyOrder) -> bool:
    """Answer whether the order is total and is what Python's ``<`` says."""
    if isinstance(order, Lexicographic):
        return all(map(_native, order.parts))
    if isinstance(order, Product):
        return len(order.parts) == 1 and _native(order.parts[0])
    return isinstance(order, Discrete)


def _ends(order: AnyOrder) -> bool:
    """Answer whether a summary can lead past the last time: there `TOP` results, which no cycle advances."""
    if isinstance(order, Product | Lexicographic):
        return any(map(_ends, order.parts))
    if isinstance(order, Sum):
        return _ends(order.left) or _ends(order.right)
    return isinstance(order, EventTime)


def _regions(locations: Iterable[Location], edges: Iterable[_Edge]) -> list[list[Location]]:
    following: dict[Location, list[Location]] = {location: [] for location in locations}
    for edge in edges:
        following[edge.source].append(edge.target)
    return regions(following)


# Within a loop, changes are applied in a linear extension of could-result-in. Along an edge the outermost component of
# a time never decreases; where it stays, the edge is one of those that need not advance it, and these have regions of
# their own, in which the next component never decreases; and so on. So (rank, component, rank, component, …) never
# decreases along an edge, also where leaving a scope and entering it again takes (0, 5) to (1, 0).


def _keys(
    members: list[Location], edges: list[_Edge], order: Callable[[Location], AnyOrder], depth: int = 0
) -> dict[Location, Callable[[Any], Any]]:
    found: dict[Location, Callable[[Any], Any]] = {}
    staying = [e for e in edges if not _advances(e.summary, depth)]
    for rank, part in enumerate(_regions(members, staying)):
        inside = set(part)
        deeper: dict[Location, Callable[[Any], Any]] = {}
        if len(part) > 1 and all(depth + 1 < _depth(order(x)) for x in part):
            within = [e for e in staying if e.source in inside and e.target in inside]
            deeper = _keys(part, within, order, depth + 1)
        for location in part:
            found[location] = _key(order(location), depth, rank, deeper.get(location))
    return found


def _key(order: AnyOrder, depth: int, rank: int, deeper: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    component, key = _component(order, depth)
    if deeper is None:
        if _depth(order) == 1:
            return lambda t: (key(t), rank)
        whole = order.key
        return lambda t: (key(component(t)), rank, whole(t))
    return lambda t: (key(component(t)), rank, deeper(t))


def _depth(order: AnyOrder) -> int:
    around = outer(order)
    return 1 if around is None else 1 + _depth(around)


def _component(order: AnyOrder, depth: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Answer how to take a component out of a time, counted from the outermost, and how to sort by it."""
    around = outer(order)
    if around is None:
        return (lambda t: t), order.key
    if _depth(around) <= depth:
        return (lambda t: t[-1]), inner(order).key
    component, key = _component(around, depth)
    return (lambda t: component(drop(order, t))), key


def _advances(summary: Summary, depth: int) -> bool:
    """Answer whether the component at ``depth``, counted from the outermost, strictly increases whatever the time."""
    order, change = summary.base, summary.change
    if _depth(order) <= depth:
        return False
    while _depth(order) > depth + 1:
        change, _ = split(order, change)
        order = outer(order) or order
    if outer(order) is not None:
        _, change = split(order, change)
        order = inner(order)
    return order.summaries.advances(change)
