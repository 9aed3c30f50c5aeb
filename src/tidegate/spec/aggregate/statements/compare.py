"""How dedicated and composed operators are compared: the same multiset of tuples, and nothing late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tidegate.spec.aggregate.embed import Embedded
from tidegate.spec.events import DT, Event
from tidegate.spec.operator import Operator, produce
from tidegate.spec.properties import is_monotone
from tidegate.time import Order

__all__ = ["Reason", "differ", "tuples", "unembedded"]

Reason = tuple[str, dict[str, Any]] | str | None


def tuples(events: Iterable[Event]) -> Counter[tuple[Any, Any]]:
    """Return the multiset of tuples of a stream."""
    return Counter((e.t, e.d) for e in events if isinstance(e, DT))


def unembedded(events: Iterable[DT[Any, Embedded] | Any]) -> Counter[tuple[Any, Any]]:
    """Return the multiset of tuples that the tuples of a stream carry."""
    return Counter((e.t, x) for e in events if isinstance(e, DT) for x in e.d.data)


def differ(order: Order[Any], expected: Counter[Any], op: Operator[Event, Event], events: Iterable[Event]) -> Reason:
    """Return a reason if ``op`` puts out another multiset than expected, or something late."""
    outputs = list(produce(op, events))
    if tuples(outputs) != expected:
        return "the tuples differ", {"expected": expected, "outputs": outputs}
    return None if is_monotone(order, outputs) else ("an output is late", {"outputs": outputs})
