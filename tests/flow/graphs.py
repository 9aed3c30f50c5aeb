"""Graphs that change, drawn at random, and plain algorithms that say what is true of each of their versions."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

import tidegate as tg
from tidegate.flow.schema import Schema
from tidegate.spec import DT

#: An edge: its time (a number or a tuple), its ends and its weight.
Edge = tuple[Any, int, int, int]
#: What is true of a graph: the rest of a row, without its time.
Known = Callable[[list[Edge]], Iterable[tuple[Any, ...]]]

TOTAL = "version INT, src INT, dst INT, weight INT"
PAIRS = "v INT, w INT, src INT, dst INT, weight INT"
SOURCE = 0


def edges(times: st.SearchStrategy[Any], *, nodes: int = 6, most: int = 10) -> st.SearchStrategy[list[Edge]]:
    """Edges among a few nodes, so that there are self-loops, parallel edges and several components."""
    node = st.integers(0, nodes - 1)
    return st.lists(st.tuples(times, node, node, st.integers(0, 9)), max_size=most)


on_total = edges(st.integers(0, 3))
on_pairs = edges(st.tuples(st.integers(0, 2), st.integers(0, 2)), most=7)


def source(flow: tg.Flow, name: str = "edges", *, pairs: bool = False) -> tg.Stream:
    """The stream of edges."""
    return flow.source(name, PAIRS if pairs else TOTAL, time=("v", "w") if pairs else "version")


def rows(drawn: list[Edge]) -> list[tuple[Any, ...]]:
    """Edges as rows of that stream."""
    return [(*(t if isinstance(t, tuple) else (t,)), src, dst, weight) for t, src, dst, weight in drawn]


def events(schema: Schema, drawn: list[Edge]) -> list[DT[Any, Any]]:
    """Edges as events of that stream."""
    found = [dict(zip(schema.names, row, strict=True)) for row in rows(drawn)]
    return [DT(schema.time_of(row), row) for row in found]


def versions(schema: Schema, drawn: list[Edge], known: Known) -> dict[Any, set[tuple[Any, ...]]]:
    """What is true at each time that carries an edge: of the edges at or below it."""
    order = schema.order
    return {t: set(known([e for e in drawn if order.le(e[0], t)])) for t in {edge[0] for edge in drawn}}


def union_find(drawn: list[Edge]) -> list[tuple[int, int]]:
    """The least node of the component of each node."""
    parent: dict[int, int] = {}

    def find(x: int) -> int:
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for _, src, dst, _ in drawn:
        a, b = find(src), find(dst)
        parent[max(a, b)] = min(a, b)
    return [(node, find(node)) for node in parent]


def dijkstra(drawn: list[Edge]) -> list[tuple[int, int]]:
    """The distance of each node from `SOURCE`, which is there once an edge has it."""
    out: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for _, src, dst, weight in drawn:
        out[src].append((dst, weight))
    found: dict[int, int] = {}
    queue = [(0, SOURCE)] if any(SOURCE in edge[1:3] for edge in drawn) else []
    while queue:
        distance, node = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = distance
        for dst, weight in out[node]:
            heapq.heappush(queue, (distance + weight, dst))
    return list(found.items())


def reached(drawn: list[Edge]) -> list[tuple[int]]:
    """The nodes that can be reached from `SOURCE`."""
    return [(node,) for node, _ in dijkstra(drawn)]


def triples(drawn: list[Edge]) -> list[tuple[int, int, int]]:
    """All triangles, by trying all triples."""
    joined = {frozenset(edge[1:3]) for edge in drawn}
    nodes = sorted({node for edge in drawn for node in edge[1:3]})
    return [t for t in combinations(nodes, 3) if all(frozenset(pair) in joined for pair in combinations(t, 2))]


def power_iteration(drawn: list[Edge], rounds: int = 20, damping: float = 0.85) -> dict[int, float]:
    """The ranks after so many rounds."""
    nodes = sorted({node for edge in drawn for node in edge[1:3]})
    degree: defaultdict[int, int] = defaultdict(int)
    for _, src, _, _ in drawn:
        degree[src] += 1
    rank = dict.fromkeys(nodes, 1 / len(nodes)) if nodes else {}
    for _ in range(rounds):
        loose = sum(rank[node] for node in nodes if not degree[node])
        then = dict.fromkeys(nodes, (1 - damping + damping * loose) / len(nodes))
        for _, src, dst, _ in drawn:
            then[dst] += damping * rank[src] / degree[src]
        rank = then
    return rank
