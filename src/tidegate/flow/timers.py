"""Timers: how an operator in `process` asks to be called at a later time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from tidegate.flow.errors import BadResult
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units, within

__all__ = ["Timer", "checked_timer", "undeclared"]


@dataclass(frozen=True, slots=True)
class Timer:
    """What an operator in `process` returns to ask for a call at the time ``t``, even if its key has no rows then.

    The class of the operator must have ``timers = True``. When ``t`` is complete, the operator gets the rows of its key
    at ``t``, if there are any, and ``WM(t)``. Calls come in the order of time, and only once if a time was asked for
    twice. ``t`` must be strictly later than the time of the call that asks. A call without rows cannot ask.
    """

    t: Hashable


def checked_timer(schema: Schema, timer: Timer, at: Any, name: str, *, alone: bool) -> Any:
    """Return the time of a timer, or raise if it is not allowed.

    ``at`` is the time of the call that asks, ``name`` is that of the operator, and ``alone`` says that the call had no
    rows.
    """
    if alone:
        raise BadResult(
            f"expected no timer from {name} in its call at {at!r}, which has no rows, got {timer!r}",
            hint="only a call with rows may set timers, so that calls come to an end; set all of them in that call",
        )
    order = schema.order
    if not (order.contains(timer.t) and order.le(at, timer.t) and timer.t != at) or not _fits(schema, timer.t):
        raise BadResult(
            f"expected a timer from {name} at a time strictly above {at!r}, the time of this call, and that its column "
            f"can hold, got {timer!r}",
            hint="to answer at this time, return DT and not a timer",
        )
    return timer.t


def _fits(schema: Schema, t: Any) -> bool:
    """Whether the types of the time columns can hold a time."""
    if schema.ordered:
        return schema.ordered.contains(t)
    parts = t if len(schema.time) > 1 else (t,)
    counts = [(units(part, c.type or ""), c.type or "") for part, c in zip(parts, schema.times, strict=True)]
    return all(within(count, type_) == count for count, type_ in counts)


def undeclared(timer: Timer, name: str) -> BadResult:
    """Build the error for a timer in a place where none can be asked for."""
    return BadResult(
        f"expected no timer from {name} here, got {timer!r}",
        hint="the class of an operator that asks for timers says timers = True; exit cannot ask",
    )
