"""P1 to P3, what an engine must offer, and C1 to C3, what it must take care of, as checks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from tidegate.spec.aggregate.loop import Loop
from tidegate.spec.aggregate.merge import both_op, merge_op, stream_of, sum_of
from tidegate.spec.aggregate.statements.compare import tuples
from tidegate.spec.aggregate.watermarks import NotBounded, c1_op
from tidegate.spec.events import DT, WM, Event
from tidegate.spec.operator import Operator, fproduce, produce, step
from tidegate.spec.properties import NotMonotone, is_monotone
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Inl, Inr, Order

__all__ = ["c1", "c2", "c3", "p1", "p1_keeps_c1", "p2", "p3"]


def side(events: list[Event], which: type[Inl[Any]] | type[Inr[Any]]) -> list[Event]:
    """Return one of two streams that come in one."""
    mine = (e for e in events if isinstance(e.t, which))
    return [DT(e.t.t, e.d) if isinstance(e, DT) else WM(e.t.t) for e in mine]


def _stream(events: list[Event], nth: int, streams: int) -> list[Event]:
    """Return one of several streams that come in one."""
    placed = [(e, *stream_of(e.t, streams)) for e in events]
    return [DT(t, e.d) if isinstance(e, DT) else WM(t) for e, which, t in placed if which == nth]


@statement("P1", "streams of one type can be merged: nothing is lost, and nothing becomes late")
def p1(assume: Assume, order: Order[Any], events: list[Event], streams: int = 2, *, merge: Any = merge_op) -> Any:
    assume(is_monotone(sum_of(order, streams), events))
    outputs = list(produce(merge(order) if streams == 2 else merge(order, streams), events))
    if tuples(outputs) != Counter((stream_of(e.t, streams)[1], e.d) for e in events if isinstance(e, DT)):
        return "the tuples differ", {"outputs": outputs}
    return None if is_monotone(order, outputs) else ("an output is late", {"outputs": outputs})


@statement("P1 with C1", "if all streams keep C1 with the bound d, so does the merged one")
def p1_keeps_c1(
    assume: Assume, order: Order[Any], d: int, events: list[Event], streams: int = 2, *, merge: Any = merge_op
) -> Any:
    assume(all(c1(order, d, _stream(events, nth, streams)) is None for nth in range(streams)))
    outputs = list(produce(merge(order) if streams == 2 else merge(order, streams), events))
    broken = c1(order, d, outputs)
    return (broken.because, {"outputs": outputs}) if broken else None


@statement("P2", "a stream feeds two operators as it would feed each of them alone")
def p2(assume: Assume, left: Operator[Event, Event], right: Operator[Event, Event], events: list[Event]) -> Any:
    del assume
    outputs = list(produce(both_op(left, right), events))
    alone = list(produce(left, events)), list(produce(right, events))
    return None if alone == (side(outputs, Inl), side(outputs, Inr)) else ("they differ", {"outputs": outputs})


@dataclass(frozen=True, slots=True)
class _Recorded(Operator[Event, Event]):
    op: Operator[Event, Event]
    seen: list[Event]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        self.seen.append(event)
        op, outputs = step(self.op, event)
        return _Recorded(op, self.seen), outputs


@statement("P3", "all that leaves a loop comes round, once")
def p3(assume: Assume, loop: Loop, events: list[Event]) -> Any:
    del assume
    seen: list[Event] = []
    outputs = list(produce(replace(loop, enter=_Recorded(loop.enter, seen)), events))
    came_round = tuples(seen) - tuples(events)
    return None if came_round == tuples(outputs) else ("they differ", {"outputs": outputs, "came round": came_round})


@statement("C1", "watermarks are at most d apart, and the first at most d above everything before it")
def c1(assume: Assume, order: Order[Any], d: int, events: list[Event]) -> Any:
    del assume
    try:
        fproduce(c1_op(order, d), events)
    except (NotBounded, NotMonotone) as error:
        return str(error)
    return None


@statement("C2", "a loop discards nothing for being late")
def c2(assume: Assume, loop: Loop, events: list[Event]) -> Any:
    del assume
    for upto in range(len(events) + 1):
        after = fproduce(loop, events[:upto])[0]
        assert isinstance(after, Loop)
        if after.body.discarded:
            return f"after {upto} events {after.body.discarded[0]!r} is discarded"
    return None


@statement("C3", "nothing that leaves a loop is late: a watermark follows the successors of what it triggered")
def c3(assume: Assume, order: Order[Any], loop: Loop, events: list[Event]) -> Any:
    del assume
    outputs = list(produce(loop, events))
    return None if is_monotone(order, outputs) else ("an output is late", {"outputs": outputs})
