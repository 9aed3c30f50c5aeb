"""Statements (10) to (13): `batch_op` is sound and complete, and keeps monotone and productive streams so."""

from __future__ import annotations

from typing import Any

from tidegate.spec.batching import Batch, batch_op
from tidegate.spec.collections import WMs, batch_ts, coll, lcoll, set_t
from tidegate.spec.events import DT, Event
from tidegate.spec.operator import produce
from tidegate.spec.properties import is_monotone, owed
from tidegate.spec.statements.observation import (
    Stream,
    breaks_monotonicity,
    breaks_productivity,
    data,
    owes_nothing,
    run,
)
from tidegate.spec.statements.statement import Assume, statement
from tidegate.spec.streams import Lasso
from tidegate.time import Order

__all__ = ["s10", "s11", "s12", "s13"]


@statement("(10)", "batch_op puts out whole collections, each when it is complete")
def s10(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], tds: Batch) -> Any:
    assume(is_monotone(order, events, W))
    outputs = list(produce(batch_op(order, tds), events))
    buffered = [*(DT(t, d) for t, d in tds), *events]
    for out in data(outputs):
        for t in set_t(out.d):
            if coll(out.d, t) != lcoll(events, t) + coll(tds, t):
                return f"the batch {out!r} has not the whole collection of {t!r}", {"outputs": outputs}
        expected = batch_ts(order, buffered, out.t)
        if set_t(out.d) != expected:
            return f"the batch {out!r} should have the times {expected!r}", {"outputs": outputs}
    return None


@statement("(11)", "batch_op puts everything into some batch")
def s11(assume: Assume, order: Order[Any], events: Stream, tds: Batch) -> Any:
    if isinstance(events, Lasso):
        wms = WMs(events.unroll(1))
        assume(not owed(order, events) and all(any(order.le(t, w) for w in wms) for t in set_t(tds)))
    outputs, inputs = run(batch_op(order, tds), events)
    put_out = {t for out in data(outputs) for t in set_t(out.d)}
    missing = ({e.t for e in data(inputs)} | set_t(tds)) - put_out
    return (f"no batch has the time {next(iter(missing))!r}", {"outputs": outputs}) if missing else None


@statement("(12)", "batch_op keeps monotone streams so")
def s12(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], tds: Batch) -> Any:
    assume(is_monotone(order, events, W))
    assume(not any(order.le(t, w) for t in set_t(tds) for w in W))
    return breaks_monotonicity(produce(batch_op(order, tds), events), order, W)


@statement("(13)", "batch_op keeps productive streams so")
def s13(assume: Assume, order: Order[Any], events: Stream, tds: Batch) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(batch_op(order, tds), events, order)
