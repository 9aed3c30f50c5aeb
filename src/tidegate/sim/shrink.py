"""Shrinking: a shorter schedule that still shows what a long one showed."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.sim.actions import Schedule

__all__ = ["shrink"]


def shrink(schedule: Schedule, shows: Callable[[Schedule], bool]) -> Schedule:
    """Leave out actions, many at a time and then fewer, as long as ``shows`` returns true for the rest.

    The result is a schedule from which no single action can be left out. If leaving out an action disables later ones,
    it is up to ``shows`` what to do: `Simulation.replay` can skip them.

    >>> schedule = Schedule.parse("work 0 a; send 0; work 1 a; hear 0>1; propagate 1")
    >>> print(shrink(schedule, lambda rest: "work 1 a" in str(rest) and "hear 0>1" in str(rest)))
    work 1 a; hear 0>1
    """
    actions = list(schedule)
    size = max(1, len(actions) // 2)
    while True:
        before = len(actions)
        start = 0
        while start < len(actions):
            rest = actions[:start] + actions[start + size :]
            if shows(Schedule(rest)):
                actions = rest
            else:
                start += size
        if size > 1:
            size //= 2
        elif len(actions) == before:
            return Schedule(actions)
