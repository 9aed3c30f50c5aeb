"""`eq_op`: two operators that cannot be told apart by monotone input, decided up to a depth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.spec.events import DT, WM, Event
from tidegate.spec.operator import Operator, step
from tidegate.time import Order

__all__ = ["eq_op"]


def eq_op(
    order: Order[Any],
    W: Iterable[Any],
    op1: Operator[Event, Any],
    op2: Operator[Event, Any],
    events: Iterable[Event],
    depth: int,
) -> list[Event] | None:
    """Return None if no monotone input of up to ``depth`` of ``events`` tells the two apart, else a shortest one.

    Inputs are monotone after the watermarks ``W``. The empty list means that the two put out different things at the
    end.

    >>> from tidegate.spec import ihist_linear_op, ihist_op
    >>> from tidegate.time import Nat
    >>> events = [DT(0, "a"), DT(1, "a"), WM(0), WM(1)]
    >>> eq_op(Nat(), [], ihist_linear_op(Nat()), ihist_op(Nat()), events, 3)
    """
    alphabet = list(events)
    level: list[tuple[list[Event], frozenset[Any], Operator[Event, Any], Operator[Event, Any]]]
    level = [([], frozenset(W), op1, op2)]
    for remaining in range(depth, -1, -1):
        following = []
        for word, seen, a, b in level:
            if list(a.exit()) != list(b.exit()):
                return word
            if not remaining:
                continue
            for event in alphabet:
                if isinstance(event, DT) and any(order.le(event.t, w) for w in seen):
                    continue
                (a2, out_a), (b2, out_b) = step(a, event), step(b, event)
                if out_a != out_b:
                    return [*word, event]
                following.append(([*word, event], seen | {event.t} if isinstance(event, WM) else seen, a2, b2))
        level = following
    return None
