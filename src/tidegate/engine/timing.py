"""Timers of `process`: the times at which a copy is to be called, and which are due."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidegate.engine.frontiers import Frontier
from tidegate.flow.schema import Schema
from tidegate.flow.timers import Timer, checked_timer
from tidegate.time import Order

__all__ = ["Timers", "complete_by"]


class Timers:
    """The times at which the copy of one key is to be called; ``complete`` returns whether a time is complete."""

    def __init__(
        self,
        schema: Schema,
        name: str,
        complete: Callable[[Any], bool],
        waiting: Iterable[Any] = (),
    ) -> None:
        self._schema = schema
        self._order = schema.order
        self._name = name
        self._complete = complete
        self.waiting = set(waiting)
        #: The time of the last call; None if there was none.
        self.last: Any = None

    def called(self, t: Any) -> None:
        """Record that the copy is called at a time."""
        self.waiting.discard(t)
        self.last = t

    def ask(self, timer: Timer, at: Any, *, alone: bool) -> None:
        """Record the timer that a call at a time has set; ``alone`` if the call had no rows."""
        self.waiting.add(checked_timer(self._schema, timer, at, self._name, alone=alone))

    def before(self, t: Any) -> list[Any]:
        """Return the due times strictly below a time, in an order that extends the order of time."""
        return sorted((w for w in self.waiting if w != t and self._order.le(w, t)), key=self._order.key)

    def due(self) -> list[Any]:
        """Return the due times, in an order that extends the order of time."""
        return sorted(filter(self._complete, self.waiting), key=self._order.key)


def complete_by(order: Order[Any], frontier: Frontier) -> Callable[[Any], bool]:
    """Return a function that returns whether a time is complete by a frontier."""
    elements = list(frontier)

    def complete(t: Any) -> bool:
        return not any(order.le(f, t) for f in elements)

    return complete
