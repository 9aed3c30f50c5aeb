"""P3, a loop: an Aggregate whose output comes back to it, after an arbitrary delay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.spec.aggregate.aggregate import Aggregate
from tidegate.spec.aggregate.ticks import Tick
from tidegate.spec.events import DT, Event
from tidegate.spec.operator import Operator, step

__all__ = ["Loop", "loop_op"]


@dataclass(frozen=True, slots=True)
class Loop(Operator[Event, Event]):
    """The state of a loop: three operators in a row, and what is on its way back to the first."""

    enter: Operator[Event, Event]
    body: Aggregate
    leave: Operator[Event, Event]
    closing: Callable[[Aggregate], Tick | None]
    schedule: tuple[int, ...] | None
    queue: tuple[DT[Any, Any], ...] = ()

    def apply(self, event: Event) -> tuple[Loop, list[Event]]:
        after, outputs = self._feed(event)
        if self.schedule is None:
            return after._drain(outputs)
        turns, schedule = self.schedule[0], (*self.schedule[1:], self.schedule[0])
        after, outputs = after._drain(outputs, turns)
        return replace(after, schedule=schedule), outputs

    def exit(self) -> Iterable[Event]:
        # The end completes everything, but instance by instance, so that what each of them sends round still arrives.
        after, outputs = self._drain([])
        while (W := self.closing(after.body)) is not None:
            for watermark in self.body.ticks.WM(W):
                after, more = after._feed(watermark)
                after, outputs = after._drain([*outputs, *more])
        return outputs

    def _drain(self, outputs: list[Event], turns: int | None = None) -> tuple[Loop, list[Event]]:
        after = self
        while after.queue and turns != 0:
            first, *rest = after.queue
            after, more = replace(after, queue=tuple(rest))._feed(first)
            outputs = [*outputs, *more]
            turns = None if turns is None else turns - 1
        return after, outputs

    def _feed(self, event: Event) -> tuple[Loop, list[Event]]:
        enter, entered = step(self.enter, event)
        body, leave, outputs = self.body, self.leave, list[Event]()
        for inner in entered:
            body, answers = body.apply(inner)
            for answer in answers:
                leave, left = step(leave, answer)
                outputs += left
        back = tuple(e for e in outputs if isinstance(e, DT))
        return replace(self, enter=enter, body=body, leave=leave, queue=(*self.queue, *back)), outputs


def _first_end(body: Aggregate) -> Tick | None:
    return min(body.open_ends(), default=None)


def loop_op(
    enter: Operator[Event, Event],
    body: Aggregate,
    leave: Operator[Event, Event],
    *,
    closing: Callable[[Aggregate], Tick | None] = _first_end,
    schedule: Sequence[int] | None = None,
) -> Loop:
    """Build a loop: the input goes through ``enter``, ``body`` and ``leave``; data that leaves also comes back.

    ``schedule`` says how many tuples come round after the first event, the second and so on, over and over; without it
    the loop is empty before the next event. ``closing`` returns the next watermark to give when the input has ended.
    """
    return Loop(enter, body, leave, closing, tuple(schedule) if schedule else None)
