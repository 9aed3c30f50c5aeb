"""From which steps took in which rows to how long rows waited: each with a weight, and when it was due.

A row of a Map is answered by the step that takes it in. Composed of Aggregates it is answered when its time is
complete: by the step that takes in the next one. A row that has no answer (a Filter leaves it out) waits as long:
then it is known.

For a Join there are two ways to count, and both are measured:

- *pairs*, which is what the authors' programs do: from the later row of a pair to when the pair can be read. Rows
  later in a window are the later ones of more pairs, and weigh more. An engine that answers when a window is complete
  lets a pair wait for the end of the window; one that writes a pair when it is found does not.
- *windows*: from the last row of a window to when all pairs of the window can be read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from bench.aggregates.evaluation.pace import Pace

__all__ = ["Frames", "Steps", "Wait", "by_second", "of_pairs", "of_rows", "of_windows"]

#: Into how many pieces the rows of a step, or of a window, are cut at most: rows of one piece wait equally long.
_PIECES = 64


@dataclass(frozen=True, slots=True)
class Steps:
    """When what could be read: by the clock of the beginning, and how many rows had been taken in by then.

    >>> steps = Steps(at=(1.0, 2.0), upto=(10, 30), until=9.0)
    >>> steps.readable(9), steps.readable(10), steps.readable(30)
    (1.0, 2.0, None)
    """

    at: tuple[float, ...]
    upto: tuple[int, ...]
    #: When nobody waited any longer.
    until: float

    def readable(self, row: int) -> float | None:
        """Return when the answer of the step that took in a row could be read; None if it never could."""
        place = bisect_right(self.upto, row)
        return self.at[place] if place < len(self.at) else None


@dataclass(frozen=True, slots=True)
class Wait:
    """How long something waited, when it was due, how much it counts, and whether it was answered at all."""

    due: float
    seconds: float
    weight: float
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Frames:
    """The windows of a Join, in seconds; they begin at every multiple of ``every``."""

    size: float
    every: float

    def ends(self, seconds: float) -> Iterator[tuple[float, float]]:
        """Yield the beginning and the end of each whole window up to some second."""
        number = 0
        while number * self.every + self.size <= seconds + 1e-9:
            yield number * self.every, number * self.every + self.size
            number += 1


def of_rows(pace: Pace, steps: Steps, *, complete: bool = False) -> list[Wait]:
    """Return how long rows waited; with ``complete``, until the row after them was taken in."""
    found = []
    for first, last in _pieces(0, pace.rows, max(1, round(pace.rate * pace.tick / 4))):
        row = (first + last) // 2
        needed = min(row + 1, pace.rows - 1) if complete else row
        found.append(_wait(pace.due(row), steps.readable(needed), steps, last - first))
    return found


def of_pairs(pace: Pace, steps: Steps, frames: Frames, *, at_once: bool) -> list[Wait]:
    """Return how long pairs waited: from their later row. ``at_once``: they come when both rows are there."""
    found = []
    for begin, end in frames.ends(pace.seconds):
        first, last = ceil(begin * pace.rate - 1e-6), ceil(end * pace.rate - 1e-6)
        whole = steps.readable(min(last, pace.rows - 1))
        for low, high in _pieces(first, last, max(1, (last - first) // _PIECES)):
            row = (low + high) // 2
            readable = steps.readable(row) if at_once else whole
            # A row is the later one of as many pairs as there are rows before it, both ways, and of one with itself.
            found.append(_wait(pace.due(row), readable, steps, (high - low) * (2 * (row - first) + 1)))
    return found


def of_windows(pace: Pace, steps: Steps, frames: Frames, *, at_once: bool) -> list[Wait]:
    """Return how long windows waited: from their last row until all of their pairs could be read."""
    found = []
    for _, end in frames.ends(pace.seconds):
        last = ceil(end * pace.rate - 1e-6)
        needed = last - 1 if at_once else min(last, pace.rows - 1)
        found.append(_wait(pace.due(last - 1), steps.readable(needed), steps, 1))
    return found


def by_second(waits: Sequence[Wait]) -> dict[int, float]:
    """Return the mean wait of what was due in each second, by the second.

    >>> by_second([Wait(0.1, 1.0, 1), Wait(0.9, 4.0, 2), Wait(1.5, 7.0, 1)])
    {0: 3.0, 1: 7.0}
    """
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for wait in waits:
        sums[int(wait.due)][0] += wait.seconds * wait.weight
        sums[int(wait.due)][1] += wait.weight
    return {second: total / weight for second, (total, weight) in sorted(sums.items()) if weight}


def _pieces(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    for low in range(first, last, size):
        yield low, min(low + size, last)


def _wait(due: float, readable: float | None, steps: Steps, weight: float) -> Wait:
    if readable is None:
        # At least so long.
        return Wait(due, max(0.0, steps.until - due), weight, answered=False)
    return Wait(due, max(0.0, readable - due), weight)
