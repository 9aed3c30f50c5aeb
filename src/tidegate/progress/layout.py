"""Prepares a graph for the tracker: its regions in order, what is kept at each location, and edges as functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from tidegate.progress.graph import Graph, Location
from tidegate.progress.regions import regions
from tidegate.progress.scope import AnyOrder, inner, outer, split
from tidegate.progress.settle import (
    CountedLocation,
    EdgeFunction,
    LeastLocation,
    LoopMember,
    LoopRegion,
    Region,
    TrackedLocation,
)
from tidegate.progress.summary import Summary
from tidegate.time import BOTTOM, EventTime, Inl, Inr, Int, Lexicographic, Nat, Product, Sum
from tidegate.time.total import Discrete

__all__ = ["FAN_IN", "accepts", "lay_out"]

#: A location with at most this many edges into it reads all of them again when one changes. Others keep counts.
FAN_IN = 4


class _Edge(NamedTuple):
    source: Location
    target: Location
    summary: Summary


def lay_out(graph: Graph) -> tuple[dict[Location, TrackedLocation], list[Region]]:
    """Return what is kept at each location, and the regions by rank."""
    edges = [_Edge(l, m, s) for l in graph.locations for m, found in graph.successors(l).items() for s in found]
    into: dict[Location, list[_Edge]] = defaultdict(list)
    for edge in edges:
        into[edge.target].append(edge)
    places: dict[Location, TrackedLocation] = {}
    ranked: list[Region] = []
    for rank, members in enumerate(_regions(graph.locations, edges)):
        if len(members) == 1:
            (l,) = members
            order = graph.order(l)
            few = len(into[l]) <= FAN_IN
            reads = few and _native(order) and all(_native(graph.order(e.source)) for e in into[l])
            alone = LeastLocation(l, order, rank) if reads else CountedLocation(l, order, rank)
            places[l] = alone
            ranked.append(alone)
        else:
            loop = LoopRegion(rank)
            inside = set(members)
            within = [e for m in members for e in into[m] if e.source in inside]
            ranks = _ranks(members, within, {l: len(list(_components(graph.order(l)))) for l in members})
            for l in members:
                order = graph.order(l)
                places[l] = LoopMember(l, order, loop, _key(order, ranks[l]))
            ranked.append(loop)
    # No summary advances `BOTTOM`. In a loop that advances nothing else, it would never go away.
    if not any(len(region) > 1 for region in _regions(graph.locations, [e for e in edges if not _grounded(e.summary)])):
        for place in places.values():
            place.accepts = accepts(place.order)
    for edge in edges:
        source, target = places[edge.source], places[edge.target]
        _connect(source, target, _step(edge.summary, target.accepts), neutral=edge.summary.neutral)
    return places, ranked


def accepts(order: AnyOrder) -> Callable[[Any], bool]:
    """Return a function that says whether a pointstamp may be at a time.

    It may be at each time of the order, and at `BOTTOM` if the order has no least time.

    >>> from tidegate.time import BOTTOM, TOP, Nat
    >>> may = accepts(Product(Int(), Nat()))
    >>> may((-3, 1)), may((BOTTOM, 1)), may((1, BOTTOM)), may((TOP, 1))
    (True, True, False, False)
    """
    return partial(_accepts, order) if _bottomless(order) else order.contains


def _accepts(order: AnyOrder, t: Any) -> bool:
    if isinstance(order, Product | Lexicographic):
        return isinstance(t, tuple) and len(t) == len(order.parts) and all(map(_accepts, order.parts, t))
    if isinstance(order, Sum):
        return isinstance(t, Inl | Inr) and _accepts(order.left if t.is_left else order.right, t.t)
    return order.contains(t) or (t is BOTTOM and _bottomless(order))


def _connect(source: TrackedLocation, target: TrackedLocation, step: EdgeFunction, *, neutral: bool) -> None:
    if isinstance(target, LeastLocation):
        target.sources.append((source, None if neutral else step))
        source.readers[target] = None
    elif isinstance(target, LoopMember) and isinstance(source, LoopMember) and source.loop is target.loop:
        source.inner.append((target, step))
    else:
        assert isinstance(target, CountedLocation | LoopMember)
        source.counters.append((target, step))


def _step(summary: Summary, accepted: Callable[[Any], bool]) -> EdgeFunction:
    order, change = summary.base, summary.change
    if not summary.leaves and not summary.enters:
        # The usual cases have functions of their own, which are faster.
        if isinstance(order, Nat):
            add: int = change
            return add.__add__
        if isinstance(order, Product) and len(order.parts) == 2 and all(isinstance(part, Nat) for part in order.parts):
            x, y = change
            return lambda t: (t[0] + x, t[1] + y)
    results_in = summary.results_in
    if not _ends(summary.target) or summary.neutral:
        return results_in

    def within(t: Any) -> Any:
        u = results_in(t)
        return u if accepted(u) else None

    return within


def _native(order: AnyOrder) -> bool:
    """Whether the order is total and is what Python's ``<`` says."""
    if isinstance(order, Lexicographic):
        return all(map(_native, order.parts))
    if isinstance(order, Product):
        return len(order.parts) == 1 and _native(order.parts[0])
    return isinstance(order, Discrete)


def _ends(order: AnyOrder) -> bool:
    """Whether a summary can lead past the last time. The result is then `TOP`, which no cycle advances."""
    return any(isinstance(part, EventTime) for part in _parts(order))


def _bottomless(order: AnyOrder) -> bool:
    """Whether some component has no least time."""
    return any(isinstance(part, Int) and not isinstance(part, Nat) for part in _parts(order))


def _parts(order: AnyOrder) -> Iterator[AnyOrder]:
    if isinstance(order, Product | Lexicographic):
        for part in order.parts:
            yield from _parts(part)
    elif isinstance(order, Sum):
        yield from _parts(order.left)
        yield from _parts(order.right)
    else:
        yield order


def _regions(locations: Iterable[Location], edges: Iterable[_Edge]) -> list[list[Location]]:
    following: dict[Location, list[Location]] = {location: [] for location in locations}
    for edge in edges:
        following[edge.source].append(edge.target)
    return regions(following)


# Within a loop, changes are applied in an order in which a change comes before all changes that it could result in. The
# key of that order is made as follows. Along an edge, the outermost component of a time never decreases. Take only the
# edges that need not increase it: they make smaller regions, each with a rank, in which the next component never
# decreases; and so on. So the key (rank, component, rank, component, …) never decreases along an edge, even if leaving
# a scope and entering it again takes the time from (0, 5) to (1, 0).


def _ranks(
    members: list[Location], edges: list[_Edge], depths: Mapping[Location, int], depth: int = 0
) -> dict[Location, tuple[int, ...]]:
    """Return, for each location of a loop, its rank among the regions of each component, outermost first."""
    found: dict[Location, tuple[int, ...]] = {}
    staying = [e for e in edges if not _advances(e.summary, depth)]
    for rank, part in enumerate(_regions(members, staying)):
        deeper: dict[Location, tuple[int, ...]] = {}
        if len(part) > 1 and all(depth + 1 < depths[l] for l in part):
            inside = set(part)
            within = [e for e in staying if e.source in inside and e.target in inside]
            deeper = _ranks(part, within, depths, depth + 1)
        found.update((l, (rank, *deeper.get(l, ()))) for l in part)
    return found


def _key(order: AnyOrder, ranks: tuple[int, ...]) -> Callable[[Any], Any]:
    """Return the function that gives the key of a time at a location: each component with its rank, then the rest."""
    components = list(_components(order))
    if all(isinstance(part, Discrete) for _, part in components) and len(ranks) == len(components):
        # These times can be sorted as they are.
        if len(ranks) == 1:
            (r,) = ranks
            return lambda t: (t, r)
        if len(ranks) == 2:
            r, q = ranks
            return lambda t: (t[0], r, t[1], q)
    paired = [(_getter(path), part.key, rank) for (path, part), rank in zip(components, ranks, strict=False)]
    whole = order.key if len(ranks) < len(components) else None

    def key(t: Any) -> Any:
        pairs = [x for get, sort, rank in paired for x in (sort(get(t)), rank)]
        return (*pairs, whole(t)) if whole else tuple(pairs)

    return key


def _components(order: AnyOrder) -> Iterator[tuple[tuple[int, ...], AnyOrder]]:
    """Return the components of times, outermost first, and where they are in a time: in a pair of a pair, and so on."""
    around = outer(order)
    if around is None:
        yield (), order
    elif len(order.parts) == 2:  # type: ignore[attr-defined]
        for path, part in _components(around):
            yield (0, *path), part
        yield (1,), inner(order)
    else:
        yield from _components(around)
        yield (len(order.parts) - 1,), inner(order)  # type: ignore[attr-defined]


def _getter(path: tuple[int, ...]) -> Callable[[Any], Any]:
    def get(t: Any) -> Any:
        for i in path:
            t = t[i]
        return t

    return itemgetter(*path) if len(path) == 1 else get


def _advances(summary: Summary, depth: int) -> bool:
    """Whether the component at ``depth``, counted from the outermost, strictly increases for every time."""
    changes = _changes(summary)
    return depth < len(changes) and changes[depth][0].summaries.advances(changes[depth][1])


def _grounded(summary: Summary) -> bool:
    """Whether a component that has a least time strictly increases."""
    return any(not _bottomless(order) and order.summaries.advances(change) for order, change in _changes(summary))


def _changes(summary: Summary) -> list[tuple[AnyOrder, Any]]:
    """Return the components that a summary keeps, outermost first, with what it does to each."""
    order, change = summary.base, summary.change
    found: list[tuple[AnyOrder, Any]] = []
    while (around := outer(order)) is not None:
        change, by = split(order, change)
        found.append((inner(order), by))
        order = around
    return [(order, change), *reversed(found)]
