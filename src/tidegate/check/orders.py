"""Hypothesis strategies for orders, their times and their summaries.

They are small on purpose: with few values, times are often equal or comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from tidegate.time import (
    BOTTOM,
    TOP,
    EventTime,
    Inl,
    Inr,
    Int,
    Lexicographic,
    Nat,
    Order,
    Poset,
    Product,
    Sum,
    maximal,
    minimal,
)

__all__ = ["antichains", "orders", "posets", "summaries", "times", "total_orders"]

_EPOCH = datetime(2026, 1, 1)


@st.composite
def posets(draw: st.DrawFn, *, max_size: int = 6) -> Poset:
    """Draw a finite partial order of up to ``max_size`` elements, named t0, t1, …"""
    names = [f"t{i}" for i in range(draw(st.integers(1, max_size)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    return Poset(chosen, elements=names)


def total_orders() -> st.SearchStrategy[Order[Any]]:
    """Draw a total order."""
    simple: Sequence[Order[Any]] = (Nat(), Int(), EventTime(), EventTime("day"))
    return st.sampled_from([*simple, Lexicographic(Nat(), Int())])


def orders(*, max_leaves: int = 4) -> st.SearchStrategy[Order[Any]]:
    """Draw an order: a simple one, or products, lexicographic products and sums of orders, nested."""

    def extend(inner: st.SearchStrategy[Order[Any]]) -> st.SearchStrategy[Order[Any]]:
        several = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            several.map(lambda parts: Product(*parts)),
            several.map(lambda parts: Lexicographic(*parts)),
            st.builds(Sum, inner, inner),
        )

    leaves = st.one_of(st.just(Nat()), total_orders(), posets(max_size=4))
    return st.recursive(leaves, extend, max_leaves=max_leaves)


@lru_cache(maxsize=256)
def times(order: Order[Any], *, extended: bool = False) -> st.SearchStrategy[Any]:
    """Draw a time of ``order``; with ``extended``, `TOP` and `BOTTOM` may stand in for it or for a component."""
    drawn = _times(order, extended=extended)
    return st.one_of(drawn, st.sampled_from([TOP, BOTTOM])) if extended else drawn


def _times(order: Order[Any], *, extended: bool) -> st.SearchStrategy[Any]:
    if isinstance(order, Nat):
        return st.integers(0, 4)
    if isinstance(order, Int):
        return st.integers(-2, 2)
    if isinstance(order, EventTime):
        start: date = _EPOCH.date() if order.unit == "day" else _EPOCH
        return st.integers(0, 4).map(lambda n: start + n * EventTime.UNITS[order.unit])
    if isinstance(order, Poset):
        return st.sampled_from(order.elements)
    if isinstance(order, Sum):
        left, right = times(order.left, extended=extended), times(order.right, extended=extended)
        return st.one_of(left.map(Inl), right.map(Inr))
    if isinstance(order, Product | Lexicographic):
        return st.tuples(*(times(part, extended=extended) for part in order.parts))
    raise NotImplementedError(f"no strategy for the times of {order!r}; draw them with a strategy of your own")


@st.composite
def antichains(draw: st.DrawFn, order: Order[Any], *, greatest: bool = False) -> list[Any]:
    """Draw times of which none is below another: the least of some, or with ``greatest`` the greatest."""
    drawn = draw(st.lists(times(order), max_size=5))
    return maximal(order, drawn) if greatest else minimal(order, drawn)


def summaries(order: Order[Any]) -> st.SearchStrategy[Any]:
    """Draw a summary of ``order``."""
    if isinstance(order, Int):
        return st.integers(0, 3)
    if isinstance(order, EventTime):
        return st.integers(0, 3).map(lambda n: n * EventTime.UNITS[order.unit])
    if isinstance(order, Poset):
        ups = [(a, b) for a in order.elements for b in order.elements if order.lt(a, b)]
        drawn = st.lists(st.sampled_from(ups), unique_by=lambda p: p[0]) if ups else st.just([])
        return drawn.map(frozenset).filter(order.summaries.contains)
    if isinstance(order, Sum):
        return st.tuples(summaries(order.left), summaries(order.right))
    if isinstance(order, Product | Lexicographic):
        return st.tuples(*map(summaries, order.parts)).filter(order.summaries.contains)
    raise NotImplementedError(f"no strategy for the summaries of {order!r}; draw them with a strategy of your own")
