"""Hypothesis strategies for pointstamps that come and go, in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tidegate.check.orders import times as times_of
from tidegate.progress import Graph, Location

__all__ = ["Batch", "batches"]

#: Changes that are made together: location, time, and how many pointstamps more.
Batch: TypeAlias = list[tuple[Location, Any, int]]


@st.composite
def batches(
    draw: st.DrawFn,
    graph: Graph,
    *,
    max_batches: int = 8,
    times: Callable[[Location], st.SearchStrategy[Any]] | None = None,
) -> list[Batch]:
    """Draw batches of changes, none of which drops more than there is; half of them drop something, if they can.

    ``times`` returns the strategy for the times at a location.
    """
    if times is None:

        def times(l: Location) -> st.SearchStrategy[Any]:
            return times_of(graph.order(l))

    held: Counter[tuple[Location, Any]] = Counter()
    drawn: list[Batch] = []
    for _ in range(draw(st.integers(1, max_batches))):
        batch: Batch = []
        for _ in range(draw(st.integers(1, 4))):
            present = [p for p, n in held.items() if n]
            drops = draw(st.booleans())
            if drops and present:
                l, t = draw(st.sampled_from(present))
                n = -draw(st.integers(1, held[l, t]))
            else:
                l = draw(st.sampled_from(graph.locations))
                t = draw(times(l))
                n = draw(st.integers(1, 2))
            held[l, t] += n
            batch.append((l, t, n))
        drawn.append(draw(st.permutations(batch)))
    return drawn
