"""Hypothesis strategies for dataflow graphs, with loops, nested scopes and several summaries along an edge."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tidegate.check.orders import summaries, times
from tidegate.progress import BadGraph, Enter, Graph, Leave
from tidegate.progress.scope import depth, outer
from tidegate.time import Lexicographic, Nat, Order, Product

__all__ = ["flat_graphs", "graphs", "pointstamps", "scopes"]


def scopes(root: Order[Any], *, max_depth: int = 2) -> st.SearchStrategy[Order[Any]]:
    """Draw the order of a scope that lies up to ``max_depth`` levels inside one with the order ``root``."""

    def inside(order: Order[Any]) -> st.SearchStrategy[Order[Any]]:
        longer = [Product(*order.parts, Nat())] if isinstance(order, Product) and len(order.parts) > 1 else []
        return st.sampled_from([Product(order, Nat()), Lexicographic(order, Nat()), *longer])

    drawn: st.SearchStrategy[Order[Any]] = st.just(root)
    levels = [drawn]
    for _ in range(max_depth):
        drawn = drawn.flatmap(inside)
        levels.append(drawn)
    return st.one_of(levels)


@st.composite
def graphs(draw: st.DrawFn, *, root: Order[Any] | None = None, max_locations: int = 5, max_depth: int = 2) -> Graph:
    """Draw a graph whose locations lie in ``root`` or in scopes inside it."""
    roots: list[Order[Any]] = [Nat(), Product(Nat(), Nat())] if root is None else [root]
    base = draw(st.sampled_from(roots))
    deepest = draw(scopes(base, max_depth=max_depth))
    chain: list[Order[Any]] = [deepest]
    while chain[-1] != base:
        around = outer(chain[-1])
        assert around is not None
        chain.append(around)
    count = draw(st.integers(2, max_locations))
    orders = {f"l{i}": draw(st.sampled_from(chain)) for i in range(count)}
    return _connect(draw, orders)


@st.composite
def flat_graphs(draw: st.DrawFn, order: Order[Any], *, max_locations: int = 4) -> Graph:
    """Draw a graph in which all locations have ``order``."""
    return _connect(draw, {f"l{i}": order for i in range(draw(st.integers(2, max_locations)))})


@st.composite
def pointstamps(draw: st.DrawFn, graph: Graph, *, max_size: int = 4) -> dict[Any, dict[Any, int]]:
    """Draw pointstamps for `Propagation`: times with positive counts at some locations."""
    drawn: dict[Any, dict[Any, int]] = {}
    for l in draw(st.lists(st.sampled_from(graph.locations), max_size=max_size)):
        drawn.setdefault(l, {})[draw(times(graph.order(l)))] = draw(st.integers(1, 2))
    return drawn


def _connect(draw: st.DrawFn, orders: dict[Any, Order[Any]]) -> Graph:
    pairs = [(l, m) for l in orders for m in orders if l != m and _fitting(orders[l], orders[m])]
    edges: dict[tuple[Any, Any], Any] = {}
    graph = Graph(orders, edges)
    for l, m in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * len(orders))) if pairs else []:
        trial = {**edges, (l, m): draw(_edge(orders[l], orders[m]))}
        try:
            graph = Graph(orders, trial)
        except BadGraph:
            continue  # leave the edge out; without it the graph is one
        edges = trial
    return graph


def _fitting(a: Order[Any], b: Order[Any]) -> bool:
    return a == b or outer(a) == b or outer(b) == a


def _edge(a: Order[Any], b: Order[Any]) -> st.SearchStrategy[Any]:
    if a == b:
        return st.lists(summaries(a), min_size=1, max_size=2)
    return st.just(Enter if depth(a) < depth(b) else Leave)
