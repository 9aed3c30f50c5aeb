"""Statements (28) to (31) on `join_op`, the four properties of `union_op`, and those of `map_op` and `flatten_op`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tidegate.spec.basic import flatten_op, map_op
from tidegate.spec.collections import DTs, WMs
from tidegate.spec.events import DT, Event
from tidegate.spec.join import join_op, producible, union_op
from tidegate.spec.operator import produce
from tidegate.spec.properties import is_monotone, is_productive
from tidegate.spec.statements.observation import (
    Stream,
    breaks_monotonicity,
    breaks_productivity,
    data,
    owes_nothing,
    prefix_of,
    run,
)
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Inl, Inr, Order, Sum

__all__ = [
    "flatten_op_keeps_monotone",
    "flatten_op_keeps_productive",
    "join_op_gives_each_pair_once",
    "map_op_keeps_monotone",
    "map_op_keeps_productive",
    "s28",
    "s29",
    "s30",
    "s31",
    "union_op_complete",
    "union_op_keeps_monotone",
    "union_op_keeps_productive",
    "union_op_sound",
]

Join = Callable[[Any, Any], Any]


def _pairs(events: list[Event], join: Join) -> Counter[tuple[Any, Any]]:
    """Count what a join must give: one for each pair of data at the same time on both sides that matches."""
    times = {e.t.t for e in data(events)}
    return Counter(
        (t, d)
        for t in times
        for d1 in DTs(events, Inl(t))
        for d2 in DTs(events, Inr(t))
        if (d := join(d1, d2)) is not None
    )


def _all_producible(order: Order[Any], events: Stream) -> bool:
    wms = WMs(prefix_of(events, 1))
    return all(producible(order, wm, wms) for wm in wms)


@statement("(28)", "join_op puts out only what both sides gave at that time")
def s28(assume: Assume, order: Order[Any], join: Join, events: list[Event], W: list[Any]) -> Any:
    assume(is_monotone(Sum(order, order), events, W))
    possible = _pairs(events, join)
    extra = [out for out in data(produce(join_op(order, join), events)) if (out.t, out.d) not in possible]
    return f"{extra[0]!r} is of no pair" if extra else None


@statement("(29)", "join_op puts out every match")
def s29(assume: Assume, order: Order[Any], join: Join, events: Stream, W: list[Any]) -> Any:
    both = Sum(order, order)
    assume(is_monotone(both, events, W) and is_productive(both, events))
    outputs, inputs = run(join_op(order, join), events)
    missing = set(_pairs(inputs, join)) - {(out.t, out.d) for out in data(outputs)}
    return f"the match {next(iter(missing))!r} is not put out" if missing else None


@statement("beyond (28), (29)", "join_op gives each matching pair exactly once")
def join_op_gives_each_pair_once(assume: Assume, order: Order[Any], join: Join, events: Stream) -> Any:
    both = Sum(order, order)
    assume(is_monotone(both, events) and is_productive(both, events))
    outputs, inputs = run(join_op(order, join), events)
    put_out = Counter((out.t, out.d) for out in data(outputs))
    expected = _pairs(inputs, join)
    return None if put_out == expected else ("the multisets differ", {"expected": expected, "put out": put_out})


@statement("(30)", "join_op keeps monotone streams so")
def s30(assume: Assume, order: Order[Any], join: Join, events: list[Event]) -> Any:
    assume(is_monotone(Sum(order, order), events))
    return breaks_monotonicity(produce(join_op(order, join), events), order, [])


@statement("(31)", "join_op keeps productive streams so, if both sides reach each watermark")
def s31(assume: Assume, order: Order[Any], join: Join, events: Stream) -> Any:
    assume(owes_nothing(Sum(order, order), events) and _all_producible(order, events))
    return breaks_productivity(join_op(order, join), events, order)


@statement("union_op", "puts out only what came in")
def union_op_sound(assume: Assume, order: Order[Any], events: list[Event]) -> Any:
    del assume
    extra = Counter(map(_key, data(produce(union_op(order), events)))) - _unsided(events)
    return f"{next(iter(extra))!r} did not come in" if extra else None


@statement("union_op", "puts out all that came in")
def union_op_complete(assume: Assume, order: Order[Any], events: list[Event]) -> Any:
    del assume
    missing = _unsided(events) - Counter(map(_key, data(produce(union_op(order), events))))
    return f"{next(iter(missing))!r} did not come out" if missing else None


def _key(event: DT[Any, Any]) -> tuple[Any, Any]:
    return (event.t, event.d)


def _unsided(events: list[Event]) -> Counter[tuple[Any, Any]]:
    return Counter((e.t.t, e.d) for e in data(events))


@statement("union_op", "keeps monotone streams so")
def union_op_keeps_monotone(assume: Assume, order: Order[Any], events: list[Event]) -> Any:
    assume(is_monotone(Sum(order, order), events))
    return breaks_monotonicity(produce(union_op(order), events), order, [])


@statement("union_op", "keeps productive streams so, if both sides reach each watermark")
def union_op_keeps_productive(assume: Assume, order: Order[Any], events: Stream) -> Any:
    assume(owes_nothing(Sum(order, order), events) and _all_producible(order, events))
    return breaks_productivity(union_op(order), events, order)


@statement("map_op", "keeps monotone streams so")
def map_op_keeps_monotone(assume: Assume, order: Order[Any], f: Join, events: list[Event], W: list[Any]) -> Any:
    assume(is_monotone(order, events, W))
    return breaks_monotonicity(produce(map_op(f), events), order, W)


@statement("map_op", "keeps productive streams so")
def map_op_keeps_productive(assume: Assume, order: Order[Any], f: Join, events: Stream) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(map_op(f), events, order)


@statement("flatten_op", "keeps monotone streams so")
def flatten_op_keeps_monotone(assume: Assume, order: Order[Any], events: list[Event], W: list[Any]) -> Any:
    assume(is_monotone(order, events, W))
    return breaks_monotonicity(produce(flatten_op(), events), order, W)


@statement("flatten_op", "keeps productive streams so")
def flatten_op_keeps_productive(assume: Assume, order: Order[Any], events: Stream) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(flatten_op(), events, order)
