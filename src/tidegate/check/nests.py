"""A Hypothesis strategy for loops inside loops: graphs that leave and enter scopes on the way round."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tidegate.check.orders import summaries
from tidegate.progress import BadGraph, Enter, Graph, Leave
from tidegate.time import Lexicographic, Nat, Order, Product

__all__ = ["nests"]


@st.composite
def nests(draw: st.DrawFn, *, max_depth: int = 3) -> Graph:
    """Draw scopes inside each other, each with a way in, a way out and, nearly always, a way back.

    Some further edges are drawn too; one that would close a cycle that does not advance is left out.
    """
    orders: list[Order[Any]] = [draw(st.sampled_from([Nat(), Nat(), Product(Nat(), Nat())]))]
    for _ in range(draw(st.integers(1, max_depth))):
        order = orders[-1]
        longer = [Product(*order.parts, Nat())] if isinstance(order, Product) and len(order.parts) > 1 else []
        orders.append(draw(st.sampled_from([Product(order, Nat()), *longer, Lexicographic(order, Nat())])))
    at: dict[Any, Order[Any]] = {}
    edges: dict[tuple[Any, Any], Any] = {}
    for level, order in enumerate(orders):
        head, tail = f"in{level}", f"out{level}"
        at[head] = at[tail] = order
        back = draw(st.lists(summaries(order).filter(order.summaries.advances), min_size=1, max_size=2))
        if draw(st.integers(0, 4)):
            edges[tail, head] = back
        if level:
            edges[f"in{level - 1}", head] = Enter
            edges[tail, f"out{level - 1}"] = Leave
        if level == len(orders) - 1 or draw(st.booleans()):
            edges[head, tail] = order.summaries.neutral
    same = [(l, m) for l in at for m in at if l != m and at[l] == at[m] and (l, m) not in edges]
    for l, m in draw(st.lists(st.sampled_from(same), unique=True, max_size=3)) if same else []:
        trial = {**edges, (l, m): draw(st.lists(summaries(at[l]), min_size=1, max_size=2))}
        try:
            Graph(at, trial)
        except BadGraph:
            continue
        edges = trial
    return Graph(at, edges)
