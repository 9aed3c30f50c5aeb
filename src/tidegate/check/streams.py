"""Hypothesis strategies for streams: monotone, strictly monotone, broken, covered by watermarks, endless.

They draw few times, so that these are often equal, and do not avoid awkward cases: incomparable watermarks, a watermark
below an earlier one, much data at one time, data that is never covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from tidegate.check.orders import times
from tidegate.spec import DT, WM, Event, Lasso, owed
from tidegate.time import Inl, Inr, Order, Sum, maximal

__all__ = ["Inputs", "batched", "broken_streams", "buffers", "lassos", "plain", "streams", "two_sided"]

DATA = st.sampled_from("abc")


@lru_cache(maxsize=64)
def _up_to(n: int) -> st.SearchStrategy[int]:
    # Building a strategy costs more than drawing from it.
    return st.integers(0, n)


def _choose(draw: st.DrawFn, xs: Sequence[Any]) -> Any:
    return xs[draw(_up_to(len(xs) - 1))]


@st.composite
def _pool(draw: st.DrawFn, order: Order[Any]) -> list[Any]:
    """Draw a few times; often together with their joins and meets, which makes chains and diamonds of them."""
    drawn: list[Any] = [draw(times(order)) for _ in range(1 + draw(_up_to(3)))]
    if not draw(_up_to(3)):
        return drawn
    closed = dict.fromkeys(drawn)
    for a, b in combinations(drawn, 2):
        bounds = [*order.lower_bounds(a, b)[:1], *order.upper_bounds(a, b)[:1]]
        closed.update(dict.fromkeys(t for t in bounds if order.contains(t)))
    return list(closed)


@st.composite
def _sided(draw: st.DrawFn, order: Order[Any]) -> list[Any]:
    """Draw a few times of an order, on both sides: what one side has is comparable to what the other has."""
    return [side(t) for t in draw(_pool(order)) for side in (Inl, Inr)]


@st.composite
def _events(
    draw: st.DrawFn, pool: st.SearchStrategy[list[Any]], data: st.SearchStrategy[Any], max_size: int
) -> list[Event]:
    """Draw events that need not be monotone."""
    chosen = draw(pool)
    return [
        WM(_choose(draw, chosen)) if draw(_up_to(1)) else DT(_choose(draw, chosen), draw(data))
        for _ in range(draw(_up_to(max_size)))
    ]


def _cover(order: Order[Any], events: list[Event]) -> list[Event]:
    """Add the watermarks that are missing at the end."""
    return [*events, *(WM(t) for t in maximal(order, [e.t for e in owed(order, events)]))]


@st.composite
def streams(
    draw: st.DrawFn,
    order: Order[Any],
    *,
    data: st.SearchStrategy[Any] = DATA,
    strict: bool = False,
    covered: bool = False,
    seen: Iterable[Any] = (),
    max_size: int = 16,
    pool: st.SearchStrategy[list[Any]] | None = None,
) -> list[Event]:
    """Draw a monotone stream that ends.

    ``strict`` forbids watermarks that an earlier one covers, ``covered`` leaves no data without a later watermark, and
    ``seen`` are watermarks from before. ``pool`` draws the times that may occur.
    """
    chosen = draw(_pool(order) if pool is None else pool)
    fresh = [t for t in chosen if not any(order.le(t, w) for w in seen)]
    events: list[Event] = []
    # Some streams have many watermarks, some have few or none.
    watermarks = draw(_up_to(3))
    for _ in range(draw(_up_to(max_size))):
        carries_data = draw(_up_to(4)) >= watermarks
        if fresh and carries_data:
            events.append(DT(_choose(draw, fresh), draw(data)))
        elif fresh or not strict:
            wm = _choose(draw, fresh if strict else chosen)
            events.append(WM(wm))
            fresh = [t for t in fresh if not order.le(t, wm)]
    return _cover(order, events) if covered else events


@st.composite
def broken_streams(
    draw: st.DrawFn, order: Order[Any], *, data: st.SearchStrategy[Any] = DATA, max_size: int = 16
) -> list[Event]:
    """Draw a stream that is not monotone: some data comes after a watermark that covers it."""
    events = draw(_events(_pool(order), data, max_size))
    wm = draw(times(order))
    late = draw(st.one_of(st.just(wm), times(order)).filter(lambda t: order.le(t, wm)))
    here = draw(st.integers(0, len(events)))
    there = draw(st.integers(here, len(events)))
    return [*events[:here], WM(wm), *events[here:there], DT(late, draw(data)), *events[there:]]


@st.composite
def lassos(
    draw: st.DrawFn,
    order: Order[Any],
    *,
    data: st.SearchStrategy[Any] = DATA,
    productive: bool = True,
    monotone: bool = False,
    pool: st.SearchStrategy[list[Any]] | None = None,
) -> Lasso[Event]:
    """Draw an endless stream; ``productive`` ones cover all their data sooner or later, perhaps in the next round.

    With ``monotone``, data is in the prefix only: a cycle that covers its own data is late when it comes again.
    """
    pool = _pool(order) if pool is None else pool
    if monotone:
        prefix = draw(streams(order, data=data, pool=pool))
        ends = maximal(order, [e.t for e in owed(order, prefix)])
        more = [_choose(draw, draw(pool)) for _ in range(draw(_up_to(2)) or (not ends))]
        return Lasso(prefix, [WM(t) for t in [*more, *ends]])
    prefix = draw(_events(pool, data, 5))
    cycle = draw(_events(pool, data, 6).filter(bool))
    if productive:
        cycle = _cover(order, [*prefix, *cycle])[len(prefix) :]
        ends = [e.t for e in owed(order, Lasso(prefix, cycle))]
        cycle = [*cycle, *(WM(t) for t in maximal(order, ends))]
    shift = draw(_up_to(len(cycle) - 1))
    return Lasso(prefix, cycle[shift:] + cycle[:shift])


def buffers(
    order: Order[Any], *, data: st.SearchStrategy[Any] = DATA, max_size: int = 4
) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    """Draw the initial buffer of an operator: data with its times."""
    return st.lists(st.tuples(times(order), data), max_size=max_size)


@dataclass(frozen=True)
class Inputs:
    """What an operator is checked on: streams that end, beginnings that leave nothing owed, and endless streams.

    All of them are monotone.
    """

    monotone: Callable[[Order[Any]], st.SearchStrategy[list[Event]]]
    covered: Callable[[Order[Any]], st.SearchStrategy[list[Event]]]
    lassos: Callable[[Order[Any]], st.SearchStrategy[Lasso[Event]]]


def plain(data: st.SearchStrategy[Any] = DATA) -> Inputs:
    """Return inputs of an operator that takes any data: monotone streams."""
    return Inputs(
        monotone=lambda order: streams(order, data=data),
        covered=lambda order: streams(order, data=data, covered=True),
        lassos=lambda order: lassos(order, data=data, monotone=True),
    )


def batched(data: st.SearchStrategy[Any] = DATA) -> Inputs:
    """Return inputs of an operator that takes batches: each fresh when it comes, and followed by its watermark."""

    @st.composite
    def batches(draw: st.DrawFn, order: Order[Any]) -> list[Event]:
        found: list[Event] = []
        seen: list[Any] = []
        for _ in range(draw(_up_to(5))):
            wm = draw(times(order))
            drawn = [(wm if draw(_up_to(1)) else draw(times(order)), draw(data)) for _ in range(draw(_up_to(4)))]
            fresh = [(t, d) for t, d in drawn if order.le(t, wm) and not any(order.le(t, w) for w in seen)]
            if fresh and not any(order.le(wm, w) for w in seen):
                found.append(DT(wm, fresh))
            found.append(WM(wm))
            seen.append(wm)
        return found

    def endless(order: Order[Any]) -> st.SearchStrategy[Lasso[Event]]:
        return batches(order).filter(bool).map(lambda s: Lasso(s, [e for e in s if isinstance(e, WM)]))

    return Inputs(monotone=batches, covered=batches, lassos=endless)


def two_sided(data: st.SearchStrategy[Any] = DATA) -> Inputs:
    """Return inputs of an operator of two streams over the given order: each watermark is reached by both sides."""

    def both(order: Order[Any]) -> Order[Any]:
        return Sum(order, order)

    def matched(order: Order[Any], events: Iterable[Event]) -> list[Event]:
        listed = _cover(both(order), list(events))
        for mine, other in ((Inl, Inr), (Inr, Inl)):
            ends = maximal(order, [e.t.t for e in listed if isinstance(e, WM) and isinstance(e.t, mine)])
            listed += [WM(other(t)) for t in ends]
        return listed

    def endless(order: Order[Any]) -> st.SearchStrategy[Lasso[Event]]:
        drawn = lassos(both(order), data=data, monotone=True, pool=_sided(order))
        return drawn.map(lambda s: Lasso(s.prefix, matched(order, s.unroll(1))[len(s.prefix) :]))

    return Inputs(
        monotone=lambda order: streams(both(order), data=data, pool=_sided(order)),
        covered=lambda order: streams(both(order), data=data, pool=_sided(order)).map(lambda s: matched(order, s)),
        lassos=endless,
    )
