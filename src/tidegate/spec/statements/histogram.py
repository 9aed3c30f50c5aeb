"""Statements (22) to (24), (26) and (27): the incremental histograms and their equivalence on total orders."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tidegate.spec.batching import Batch
from tidegate.spec.collections import S_lcoll, lcoll, set_t
from tidegate.spec.equivalence import eq_op
from tidegate.spec.events import Event
from tidegate.spec.histogram import ihist_linear_op, ihist_op, ihist_paths_op, mset
from tidegate.spec.operator import Operator, produce
from tidegate.spec.properties import is_monotone, is_productive
from tidegate.spec.statements.observation import (
    Stream,
    breaks_monotonicity,
    breaks_productivity,
    data,
    observe,
    owes_nothing,
    run,
)
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Order, minimal

__all__ = [
    "ihist_op_keeps_monotone",
    "ihist_op_keeps_productive",
    "ihist_paths_op_counts_paths",
    "s22",
    "s23",
    "s24",
    "s26",
    "s27",
]


@statement("(22)", "ihist_op counts all data at or below a time")
def s22(assume: Assume, order: Order[Any], events: list[Event], W: list[Any]) -> Any:
    assume(is_monotone(order, events, W))
    for out in data(produce(ihist_op(order), events)):
        if out.d != (expected := S_lcoll(order, events, out.t)):
            return f"{out!r} should count {expected!r}"
    return None


@statement("(23)", "ihist_op puts a histogram out for each time")
def s23(assume: Assume, order: Order[Any], events: Stream) -> Any:
    assume(is_productive(order, events))
    outputs, inputs = run(ihist_op(order), events)
    missing = {e.t for e in data(inputs)} - {out.t for out in data(outputs)}
    return f"there is no histogram at {next(iter(missing))!r}" if missing else None


def _fits(order: Order[Any], W: list[Any], tds: Batch, abs: Batch) -> bool:
    done = all(any(order.le(t, w) for w in W) for t in set_t(abs))
    return done and all(order.lt(w, t) for t in set_t(tds) for w in W)


@statement("(24)", "on total orders, ihist_linear_op equals ihist_op")
def s24(assume: Assume, order: Order[Any], events: Stream, W: list[Any], tds: Batch, abs: Batch) -> Any:
    assume(order.total and is_monotone(order, events, W) and _fits(order, W, tds, abs))
    linear = observe(ihist_linear_op(order, mset(d for _, d in abs), tds), events)
    generic = observe(ihist_op(order, tds, abs), events)
    return None if linear == generic else ("the two sides differ", {"linear": linear, "generic": generic})


@statement("(26)", "operators that are eq_op produce the same from monotone streams")
def s26(
    assume: Assume,
    order: Order[Any],
    W: list[Any],
    op1: Operator[Event, Any],
    op2: Operator[Event, Any],
    events: list[Event],
) -> Any:
    assume(is_monotone(order, events, W))
    alphabet = [e for n, e in enumerate(events) if e not in events[:n]]
    assume(eq_op(order, W, op1, op2, alphabet, len(events)) is None)
    one, two = list(produce(op1, events)), list(produce(op2, events))
    return None if one == two else ("the two sides differ", {"first": one, "second": two})


@statement("(27)", "on total orders, ihist_linear_op is eq_op to ihist_op")
def s27(
    assume: Assume, order: Order[Any], W: list[Any], tds: Batch, abs: Batch, alphabet: list[Event], depth: int
) -> Any:
    assume(order.total and _fits(order, W, tds, abs))
    linear = ihist_linear_op(order, mset(d for _, d in abs), tds)
    word = eq_op(order, W, linear, ihist_op(order, tds, abs), alphabet, depth)
    return None if word is None else f"this input tells them apart: {word!r}"


@statement("ihist_op", "keeps monotone streams so")
def ihist_op_keeps_monotone(
    assume: Assume, order: Order[Any], events: list[Event], W: list[Any], tds: Batch, abs: Batch
) -> Any:
    assume(is_monotone(order, events, W))
    assume(not any(order.le(t, w) for t in set_t(tds) for w in W))
    return breaks_monotonicity(produce(ihist_op(order, tds, abs), events), order, W)


@statement("ihist_op", "keeps productive streams so")
def ihist_op_keeps_productive(assume: Assume, order: Order[Any], events: Stream, tds: Batch, abs: Batch) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(ihist_op(order, tds, abs), events, order)


@statement("Section 5.1", "ihist_paths_op adds the histograms of the immediate predecessors")
def ihist_paths_op_counts_paths(assume: Assume, order: Order[Any], events: list[Event], W: list[Any]) -> Any:
    assume(is_monotone(order, events, W))
    times = {e.t for e in data(events)}
    for out in data(produce(ihist_paths_op(order), events)):
        expected: Counter[Any] = Counter()
        for t in times:
            for d, n in lcoll(events, t).items():
                expected[d] += n * _paths(order, times, t, out.t)
        if out.d != +expected:
            return f"{out!r} should count {+expected!r}"
    return None


def _paths(order: Order[Any], times: set[Any], start: Any, end: Any) -> int:
    """Count the paths from one time to another that step from each time to those directly above it."""
    if start == end:
        return 1
    above = minimal(order, [t for t in times if order.lt(start, t)])
    return sum(_paths(order, times, t, end) for t in above if order.le(t, end))
