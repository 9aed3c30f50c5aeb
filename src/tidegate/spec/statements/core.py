"""Statements (5), (6) and (7): skipping and composing operators."""

from __future__ import annotations

from typing import Any

from tidegate.spec.basic import comp_op, skip_op
from tidegate.spec.events import Event
from tidegate.spec.operator import Operator, Produced, fproduce, produce, produce1
from tidegate.spec.properties import is_monotone, owed
from tidegate.spec.statements.observation import LIMIT, Stream, observe
from tidegate.spec.statements.statement import Assume, statement
from tidegate.spec.streams import Lasso
from tidegate.time import Order

__all__ = ["comp_op_keeps_monotone", "comp_op_keeps_productive", "s5", "s6", "s7"]


@statement("(5)", "skip_op drops the first n outputs")
def s5(assume: Assume, op: Operator[Any, Any], n: int, events: Stream) -> Any:
    del assume
    skipped, dropped = observe(skip_op(op, n), events), observe(op, events, limit=LIMIT + n)[n:]
    if skipped != dropped:
        return "the two sides differ", {"skipped": skipped, "dropped": dropped}
    return None


def _eventually_productive(op: Operator[Any, Any], events: Stream) -> bool:
    rest: Any = events
    for _ in range(LIMIT):
        first = produce1(op, rest)
        if not isinstance(first, Produced):
            return first is not None
        op, rest = first.op, first.rest
    return True


def _never_ends_with_output(op: Operator[Any, Any], inputs: list[Any]) -> bool:
    return all(not list(fproduce(op, inputs[:n])[0].exit()) for n in range(len(inputs) + 1))


@statement("(6)", "comp_op is the composition of what its parts produce")
def s6(assume: Assume, op1: Operator[Any, Any], op2: Operator[Any, Any], events: Stream) -> Any:
    productive = _eventually_productive(op1, events)
    assume(productive or _never_ends_with_output(op2, list(produce(op1, events))))
    if isinstance(events, Lasso) and productive:
        # Both sides go on for ever, perhaps without output; only what some rounds give can be compared.
        rounds = events.unroll(LIMIT)
        composed = fproduce(comp_op(op1, op2), rounds)[1]
        one_by_one = fproduce(op2, fproduce(op1, rounds)[1])[1]
    else:
        composed = list(produce(comp_op(op1, op2), events))
        one_by_one = list(produce(op2, produce(op1, events)))
    if composed != one_by_one:
        return "the two sides differ", {"composed": composed, "one by one": one_by_one}
    return None


@statement("(7)", "a composition without output gets nothing out of its second part")
def s7(assume: Assume, op1: Operator[Any, Any], op2: Operator[Any, Any], events: Lasso[Any], n: int) -> Any:
    assume(produce1(comp_op(op1, op2), events) is None)
    ys = observe(op1, events, limit=n)
    out = fproduce(op2, ys)[1]
    return ("the second part puts something out", {"ys": ys, "outputs": out}) if out else None


@statement("comp_op", "keeps monotone streams so, if both parts do")
def comp_op_keeps_monotone(
    assume: Assume,
    op1: Operator[Event, Event],
    op2: Operator[Event, Event],
    orders: tuple[Order[Any], Order[Any], Order[Any]],
    events: list[Event],
) -> Any:
    between = list(produce(op1, events))
    assume(is_monotone(orders[0], events) and is_monotone(orders[1], between))
    assume(is_monotone(orders[2], produce(op2, between)))
    out = list(produce(comp_op(op1, op2), events))
    return None if is_monotone(orders[2], out) else ("the output is not monotone", {"outputs": out})


@statement("comp_op", "keeps productive streams so, if both parts do")
def comp_op_keeps_productive(
    assume: Assume,
    op1: Operator[Event, Event],
    op2: Operator[Event, Event],
    orders: tuple[Order[Any], Order[Any], Order[Any]],
    events: list[Event],
) -> Any:
    between = fproduce(op1, events)[1]
    assume(not owed(orders[0], events) and not owed(orders[1], between))
    assume(not owed(orders[2], fproduce(op2, between)[1]))
    out = fproduce(comp_op(op1, op2), events)[1]
    return ("something is owed", {"outputs": out}) if owed(orders[2], out) else None
