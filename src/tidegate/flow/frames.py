"""Windows, sessions and periods as arithmetic on units of a time column since the epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tidegate.flow.plan import SessionFrame, WindowFrame

__all__ = ["period_end", "sessions", "window_starts"]

R = TypeVar("R")


def window_starts(frame: WindowFrame, at: int) -> list[int]:
    """Return where the windows begin that contain a time.

    >>> window_starts(WindowFrame("t", size=10, every=4, offset=1), 12)
    [5, 9]
    """
    last = (at - frame.offset) // frame.every
    first = (at - frame.offset - frame.size) // frame.every + 1
    return [k * frame.every + frame.offset for k in range(first, last + 1)]


def period_end(period: int, at: int) -> int:
    """Return the last unit of the period that contains a time.

    >>> period_end(10, 12), period_end(10, 19), period_end(10, -1)
    (19, 19, -1)
    """
    return at // period * period + period - 1


def sessions(frame: SessionFrame, rows: Iterable[tuple[int, R]]) -> list[tuple[int, int, list[R]]]:
    """Return the sessions of rows in the order of time: start, end (the last time plus the gap), rows.

    >>> sessions(SessionFrame("t", gap=5), [(0, "a"), (4, "b"), (9, "c")])
    [(0, 9, ['a', 'b']), (9, 14, ['c'])]
    """
    found: list[tuple[int, int, list[R]]] = []
    for at, row in rows:
        if found and at < found[-1][1]:
            start, _, held = found[-1]
            found[-1] = (start, at + frame.gap, [*held, row])
        else:
            found.append((at, at + frame.gap, [row]))
    return found
