"""Regions: the strongly connected components of a graph, in an order in which a change is passed on once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import TypeAlias

from tidegate.progress.cycles import strongly_connected

__all__ = ["regions"]

Location: TypeAlias = Hashable


def regions(successors: Mapping[Location, Iterable[Location]]) -> list[list[Location]]:
    """Return the strongly connected components, sources first: no edge leads from a region to an earlier one.

    >>> regions({"a": "b", "b": "c", "c": "bd", "d": ""})
    [['a'], ['b', 'c'], ['d']]
    """
    home = {l: l for l in successors}
    for loop in strongly_connected(successors, successors):
        home.update(dict.fromkeys(loop, next(iter(loop))))
    members: dict[Location, list[Location]] = {}
    for l in successors:
        members.setdefault(home[l], []).append(l)
    order = TopologicalSorter[Location](dict.fromkeys(members, ()))
    for l, following in successors.items():
        for m in following:
            if home[l] != home[m]:
                order.add(home[m], home[l])
    return [members[h] for h in order.static_order()]
