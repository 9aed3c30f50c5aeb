"""Hypothesis strategies for streams that keep C1: watermarks at most d apart, and nothing far below the first."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tidegate.check.streams import DATA
from tidegate.spec import DT, WM, Event
from tidegate.spec.aggregate import Ticks
from tidegate.time import Inl, Inr, Order

__all__ = ["bounded_streams", "bounded_two_sided"]


@st.composite
def bounded_streams(
    draw: st.DrawFn,
    order: Order[Any],
    d: int,
    *,
    data: st.SearchStrategy[Any] = DATA,
    covered: bool = False,
    rounds: int = 4,
) -> list[Event]:
    """Draw a monotone stream that keeps C1 with the bound ``d``; ``covered`` ones end with watermarks for all data."""
    ticks = Ticks(order)
    base = draw(st.integers(0, 6))
    W, first = base + draw(st.integers(1, d)), True
    events: list[Event] = []
    greatest = base
    for _ in range(draw(st.integers(0, rounds))):
        least = base if first else W
        for _ in range(draw(st.integers(0, 4))):
            n = least + draw(st.integers(0, 3))
            greatest = max(greatest, n)
            events.append(DT(ticks.time(n), draw(data)))
        if not first:
            W += draw(st.integers(0, d))
        events += ticks.WM(W)
        first = False
    while covered and not first and greatest >= W:
        W += d
        events += ticks.WM(W)
    return events


@st.composite
def bounded_two_sided(
    draw: st.DrawFn, order: Order[Any], d: int, *, data: st.SearchStrategy[Any] = DATA
) -> list[Event]:
    """Draw two such streams, on times ``Inl(t)`` and ``Inr(t)``, in any interleaving."""
    left = draw(bounded_streams(order, d, data=data, rounds=3))
    right = draw(bounded_streams(order, d, data=data, rounds=3))
    sides: list[list[Event]] = [
        [DT(side(e.t), e.d) if isinstance(e, DT) else WM(side(e.t)) for e in events]
        for side, events in ((Inl, left), (Inr, right))
    ]
    merged: list[Event] = []
    while sides[0] and sides[1]:
        merged.append(sides[draw(st.integers(0, 1))].pop(0))
    return [*merged, *sides[0], *sides[1]]
