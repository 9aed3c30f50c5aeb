"""Statements (14) to (17): the same four for `incr_op`, whose input are batches."""

from __future__ import annotations

from typing import Any

from tidegate.spec.batching import Batch, incr_op
from tidegate.spec.collections import WMs, acc_batches, set_t
from tidegate.spec.events import DT, WM, Event
from tidegate.spec.operator import produce
from tidegate.spec.properties import is_monotone
from tidegate.spec.statements.observation import (
    Stream,
    breaks_monotonicity,
    breaks_productivity,
    data,
    owes_nothing,
    prefix_of,
)
from tidegate.spec.statements.statement import Assume, statement
from tidegate.spec.streams import Lasso
from tidegate.time import Order

__all__ = ["batches_are_completed", "batches_are_fresh", "s14", "s15", "s16", "s17"]


@statement("(14)", "incr_op puts out the buffer and some first batches")
def s14(assume: Assume, events: list[Event], abs: Batch) -> Any:
    del assume
    for out in data(produce(incr_op(abs), events)):
        prefixes = (acc_batches(n, events) for n in range(len(events) + 1))
        if not any(out.d == [*abs, *acc] and out.t in set_t(acc) for acc in prefixes):
            return f"{out!r} is no prefix of the batches"
    return None


@statement("(15)", "incr_op puts something out for each time in a batch")
def s15(assume: Assume, events: list[Event], abs: Batch) -> Any:
    del assume
    put_out = {out.t for out in data(produce(incr_op(abs), events))}
    missing = {t for e in data(events) for t in set_t(e.d)} - put_out
    return f"there is no output at {next(iter(missing))!r}" if missing else None


def batches_are_fresh(order: Order[Any], events: list[Event], W: list[Any]) -> bool:
    """Return whether each batch has times at or below its own only, and none that an earlier watermark covers: (16)."""
    seen = set(W)
    for event in events:
        if isinstance(event, WM):
            seen.add(event.t)
        elif not all(order.le(t, event.t) and not any(order.le(t, w) for w in seen) for t in set_t(event.d)):
            return False
    return True


def batches_are_completed(order: Order[Any], events: Stream) -> bool:
    """Return whether each batch is not empty, has times at or below its own only, and its watermark follows: (17)."""
    listed = prefix_of(events, 2)
    decided = len(prefix_of(events, 1)) if isinstance(events, Lasso) else len(listed)
    return all(
        event.d and event.t in WMs(listed[n + 1 :]) and all(order.le(t, event.t) for t in set_t(event.d))
        for n, event in enumerate(listed[:decided])
        if isinstance(event, DT)
    )


@statement("(16)", "incr_op keeps monotone streams so")
def s16(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], abs: Batch) -> Any:
    assume(is_monotone(order, events, W) and batches_are_fresh(order, events, W))
    return breaks_monotonicity(produce(incr_op(abs), events), order, W)


@statement("(17)", "incr_op keeps productive streams so")
def s17(assume: Assume, order: Order[Any], events: Stream, abs: Batch) -> Any:
    assume(owes_nothing(order, events) and batches_are_completed(order, events))
    return breaks_productivity(incr_op(abs), events, order)
