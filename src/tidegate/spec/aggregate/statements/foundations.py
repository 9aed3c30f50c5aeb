"""Definitions 1 to 4, Observation 1 and Lemma 1: what windows, watermarks and Aggregates promise on their own."""

from __future__ import annotations

from typing import Any

from tidegate.spec.aggregate.aggregate import A, Aggregate
from tidegate.spec.aggregate.definitions import groups, processed, succ, trig, watermark
from tidegate.spec.aggregate.embed import Embedded, unit
from tidegate.spec.aggregate.statements.compare import tuples
from tidegate.spec.aggregate.ticks import Ticks
from tidegate.spec.aggregate.unfold import unfold_loop
from tidegate.spec.aggregate.window import Key, Window, WindowInstance, whole
from tidegate.spec.events import DT, WM, Event
from tidegate.spec.operator import fproduce, produce
from tidegate.spec.properties import is_monotone
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Order

__all__ = ["definition_1", "definition_2", "definition_3", "definition_4", "lemma_1", "observation_1"]


def _seen(instance: WindowInstance) -> list[Any]:
    return [instance]


@statement("Definition 1", "a tuple that embeds n others has n successors in the loop of X")
def definition_1(assume: Assume, order: Order[Any], d: int, t: Any, data: tuple[Any, ...]) -> Any:
    assume(bool(data))
    looping = fproduce(unfold_loop(order, d).body, [WM(t)])[0]
    assert isinstance(looping, Aggregate)
    found = succ(looping, DT(t, Embedded(data)))
    return None if len(found) == len(data) else f"there are {len(found)} successors of {len(data)} embedded tuples"


@statement("Definition 2", "A processes the tuples of a key in an instance jointly, and exactly once")
def definition_2(assume: Assume, order: Order[Any], window: Window, events: list[Event], *, A: Any = A) -> Any:
    assume(is_monotone(order, events) and not window.lateness)
    calls = [e.d for e in produce(A(order, window, _seen), events) if isinstance(e, DT)]
    expected, found = groups(order, window, events), processed(calls)
    return None if expected == found else ("f_O is called otherwise", {"expected": expected, "found": found})


@statement("Definition 3", "nothing comes at a time before the watermark; that is what monotone means on a line")
def definition_3(assume: Assume, order: Order[Any], events: list[Event]) -> Any:
    del assume
    ticks = Ticks(order)
    kept = all(ticks.of(e.t) >= watermark(order, events[:i]) for i, e in enumerate(events) if isinstance(e, DT))
    return None if kept == is_monotone(order, events) else "the two notions differ"


@statement(
    "Definition 4", "A puts out what its watermark triggers, each instance that it ends, before the watermark itself"
)
def definition_4(assume: Assume, order: Order[Any], window: Window, events: list[Event], W: Any) -> Any:
    assume(is_monotone(order, events) and not window.lateness)
    op = fproduce(A(order, window, _seen), events)[0]
    assert isinstance(op, Aggregate)
    triggered = trig(op, WM(W))
    ends = {place for place in op.instances if op.W < op.end(place) <= Ticks(order).W(WM(W))}
    outputs = op.apply(WM(W))[1]
    if len(triggered) != len(ends):
        return f"{len(triggered)} outputs for {len(ends)} instances", {"outputs": outputs}
    return None if outputs[-1] == WM(W) else ("the watermark is not last", {"outputs": outputs})


@statement("Observation 1", "an output is not earlier than any input of its instance")
def observation_1(assume: Assume, order: Order[Any], window: Window, events: list[Event]) -> Any:
    del assume
    for e in produce(A(order, window, _seen), events):
        if isinstance(e, DT) and any(order.lt(e.t, t) for t, _ in e.d.tuples):
            return f"the output {e!r} is earlier than its input"
    return None


@statement(
    "Lemma 1", "with windows of one unit, a tuple falls into the instance at its time and is answered at its time"
)
def lemma_1(assume: Assume, order: Order[Any], events: list[Event], key: Key = whole) -> Any:
    assume(is_monotone(order, events))
    ticks = Ticks(order)
    for e in events:
        if isinstance(e, DT) and unit(key).starts(ticks.of(e.t), ticks) != [ticks.of(e.t)]:
            return f"{e!r} falls into other instances than the one at its time"
    outputs = [e for e in produce(A(order, unit(key), _seen), events) if isinstance(e, DT)]
    answered = tuples(DT(e.t, d) for e in outputs for _, d in e.d.tuples)
    return None if answered == tuples(events) else ("an answer is at another time", {"outputs": outputs})
