"""The rule for cycles: no time may come back at or below itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

from tidegate.progress.errors import BadGraph
from tidegate.progress.scope import AnyOrder, depth, drop, outer
from tidegate.progress.summary import Summary

__all__ = ["check_cycles", "strongly_connected"]

Location: TypeAlias = Hashable
Successors: TypeAlias = Mapping[Location, Mapping[Location, tuple[Summary, ...]]]
# An edge as its effect on the outermost part of the time: changes of one and the same order.
Changes: TypeAlias = dict[Location, dict[Location, tuple[Any, ...]]]


def check_cycles(orders: Mapping[Location, AnyOrder], successors: Successors) -> None:
    """Raise `BadGraph`, naming the cycle, unless every cycle advances the part of the time that it keeps.

    The cost grows with the number of edges, and not with the number of cycles: an edge that advances time makes every
    cycle through it advance. So only cycles without such edges are searched, and usually there are none.
    """
    depths = {l: depth(orders[l]) for l in orders}
    # Components are sets. Go through them in the graph's order, so that the same graph gives the same message.
    position = {l: i for i, l in enumerate(orders)}.__getitem__
    pending = strongly_connected(orders, successors)
    while pending:
        members = sorted(pending.pop(), key=position)
        outermost = min(depths[l] for l in members)
        changes = _outermost_changes(members, depths, outermost, successors)
        order = next(orders[l] for l in members if depths[l] == outermost)
        advances = order.summaries.advances
        slow: Changes = {
            l: {m: left for m, by in edges.items() if (left := tuple(c for c in by if not advances(c)))}
            for l, edges in changes.items()
        }
        for part in strongly_connected(slow, slow):
            for l in sorted(part, key=position):
                if depths[l] == outermost:
                    _check_from(l, order, {m: slow[m] for m in part})
        # Cycles that stay in inner scopes keep more components of the time. They are checked separately.
        inside = {l: None for l in members if depths[l] > outermost}
        pending += strongly_connected(inside, {l: [m for m in successors[l] if m in inside] for l in inside})


def strongly_connected(
    nodes: Iterable[Location], successors: Mapping[Location, Iterable[Location]]
) -> list[set[Location]]:
    """Return the strongly connected components of more than one node: Tarjan's algorithm, without recursion.

    >>> strongly_connected("abc", {"a": "b", "b": "ac", "c": ""}) == [{"a", "b"}]
    True
    """
    index: dict[Location, int] = {}
    low: dict[Location, int] = {}
    on_stack: set[Location] = set()
    stack: list[Location] = []
    found: list[set[Location]] = []
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        path = [(root, iter(successors[root]))]
        while path:
            l, rest = path[-1]
            for m in rest:
                if m not in index:
                    index[m] = low[m] = len(index)
                    stack.append(m)
                    on_stack.add(m)
                    path.append((m, iter(successors[m])))
                    break
                if m in on_stack:
                    low[l] = min(low[l], index[m])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[l])
                if low[l] == index[l]:
                    members: set[Location] = set()
                    while l not in members:
                        members.add(stack.pop())
                    on_stack -= members
                    # There are no edges from a location to itself, so a cycle has at least two.
                    if len(members) > 1:
                        found.append(members)
    return found


def _outermost_changes(
    members: Collection[Location],
    depths: Mapping[Location, int],
    outermost: int,
    successors: Successors,
) -> Changes:
    """Return what each edge does to the part of the time that the outermost members have."""
    changes: Changes = {l: {} for l in members}
    for l in members:
        for m, edge in successors[l].items():
            if m in changes:
                changes[l][m] = tuple(_project(s, depths[l] - s.leaves - outermost) for s in edge)
    return changes


def _project(s: Summary, levels: int) -> Any:
    change, order = s.change, s.base
    for _ in range(levels):
        change = drop(order, change)
        around = outer(order)
        assert around is not None
        order = around
    return change


def _check_from(l: Location, order: AnyOrder, changes: Changes) -> None:
    """Raise unless all paths from ``l`` back to ``l`` advance. Only the minimal ones are searched; that is enough."""
    summaries = order.summaries
    found: dict[Location, list[Any]] = {}
    queue: deque[tuple[Location, Any, tuple[Location, ...]]] = deque([(l, summaries.neutral, (l,))])
    while queue:
        at, change, path = queue.popleft()
        for m, edge in changes[at].items():
            if m not in changes:
                continue
            known = found.setdefault(m, [])
            for c in edge:
                longer = summaries.followed_by(change, c)
                if any(summaries.le(k, longer) for k in known):
                    continue
                if m == l and not summaries.advances(longer):
                    raise _does_not_advance(order, (*path, l), longer)
                known.append(longer)
                if m != l:
                    queue.append((m, longer, (*path, m)))


def _does_not_advance(order: AnyOrder, path: tuple[Location, ...], change: Any) -> BadGraph:
    return BadGraph(
        f"expected every cycle to advance time, got one whose summary {change!r} of {order!r} does not",
        hint="give the edge that closes the loop a summary that advances, such as (0, 1)",
    ).at("the cycle " + " → ".join(map(repr, path)))
