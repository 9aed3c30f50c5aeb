"""Equations (1) to (4) of the slides: the building blocks keep strictly monotone and productive streams so.

The slides' operators have no end, so the input is the beginning of a stream. (3) and (4) need the assumptions of (16)
and (17), which the slides leave out.
"""

from __future__ import annotations

from typing import Any

from tidegate.spec.batching import Batch, batch_op, incr_op
from tidegate.spec.events import Event
from tidegate.spec.operator import fproduce
from tidegate.spec.properties import is_strictly_monotone
from tidegate.spec.statements.incr import batches_are_completed, batches_are_fresh
from tidegate.spec.statements.observation import Stream, breaks_productivity, owes_nothing
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Order

__all__ = ["slides1", "slides2", "slides3", "slides4"]


def _breaks_strictness(outputs: list[Event], order: Order[Any], W: list[Any]) -> Any:
    return (
        None
        if is_strictly_monotone(order, outputs, W)
        else ("the output is not strictly monotone", {"outputs": outputs})
    )


@statement("slides (1)", "batch_op keeps strictly monotone streams so")
def slides1(assume: Assume, order: Order[Any], events: list[Event], W: list[Any], buf: Batch) -> Any:
    assume(is_strictly_monotone(order, events, W))
    return _breaks_strictness(fproduce(batch_op(order, buf), events)[1], order, W)


@statement("slides (2)", "batch_op keeps productive streams so")
def slides2(assume: Assume, order: Order[Any], events: Stream, buf: Batch) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(batch_op(order, buf), events, order)


@statement("slides (3)", "incr_op keeps strictly monotone streams so")
def slides3(assume: Assume, order: Order[Any], events: list[Event], W: list[Any]) -> Any:
    assume(is_strictly_monotone(order, events, W) and batches_are_fresh(order, events, W))
    return _breaks_strictness(fproduce(incr_op(), events)[1], order, W)


@statement("slides (4)", "incr_op keeps productive streams so")
def slides4(assume: Assume, order: Order[Any], events: Stream) -> Any:
    assume(owes_nothing(order, events) and batches_are_completed(order, events))
    return breaks_productivity(incr_op(), events, order)
