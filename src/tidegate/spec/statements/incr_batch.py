"""Statements (18) to (21): the same four for the composition `incr_batch_op`."""

from __future__ import annotations

from typing import Any

from tidegate.spec.batching import Batch, batch_op, incr_batch_op
from tidegate.spec.collections import acc_batches, coll, lcoll, set_t, ts
from tidegate.spec.events import Event
from tidegate.spec.operator import produce
from tidegate.spec.properties import is_monotone, is_productive
from tidegate.spec.statements.observation import (
    Stream,
    breaks_monotonicity,
    breaks_productivity,
    data,
    owes_nothing,
    run,
)
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Order

__all__ = ["s18", "s19", "s20", "s21"]


@statement("(18)", "incr_batch_op keeps monotone streams so")
def s18(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], tds: Batch, abs: Batch) -> Any:
    assume(is_monotone(order, events, W))
    assume(not any(order.le(t, w) for t in set_t(tds) for w in W))
    return breaks_monotonicity(produce(incr_batch_op(order, tds, abs), events), order, W)


@statement("(19)", "incr_batch_op keeps productive streams so")
def s19(assume: Assume, order: Order[Any], events: Stream, tds: Batch, abs: Batch) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(incr_batch_op(order, tds, abs), events, order)


@statement("(20)", "incr_batch_op puts out all that is at or below a time, whole")
def s20(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], tds: Batch, abs: Batch) -> Any:
    assume(is_monotone(order, events, W))
    batched = list(produce(batch_op(order, tds), events))
    for out in data(produce(incr_batch_op(order, tds, abs), events)):
        times = ts(order, events, out.t) | {t for t in set_t(tds) if order.le(t, out.t)}

        def explains(acc: Batch, out: Any = out, times: set[Any] = times) -> bool:
            return (
                out.d == [*abs, *acc]
                and {t for t in set_t(acc) if order.le(t, out.t)} == times
                and all(coll(acc, t) == lcoll(events, t) + coll(tds, t) for t in times)
            )

        if not any(explains(acc_batches(n, batched)) for n in range(len(batched) + 1)):
            return f"{out!r} is not made of all that is at or below its time", {"batches": batched}
    return None


@statement("(21)", "incr_batch_op puts something out for each time")
def s21(assume: Assume, order: Order[Any], events: Stream) -> Any:
    assume(is_productive(order, events))
    outputs, inputs = run(incr_batch_op(order), events)
    missing = {e.t for e in data(inputs)} - {out.t for out in data(outputs)}
    return f"there is no output at {next(iter(missing))!r}" if missing else None
