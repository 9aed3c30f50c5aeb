"""Streams as pictures made of text: one box for each event, watermarks with a heavy frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from tidegate.spec.events import WM, Event
from tidegate.spec.streams import Lasso
from tidegate.time import Inl, Inr

__all__ = ["draw_stream", "show"]

LIGHT = tuple("┌─┐│└─┘")
HEAVY = tuple("┏━┓┃┗━┛")


def show(value: Any) -> str:
    """Answer a short text for a time or for data: histograms as multisets, batches as lists of pairs.

    >>> show(Counter("aab")), show([(0, "a"), (1, "b")]), show(Inl("t"))
    ('{a, a, b}', '[(0, a), (1, b)]', '←t')
    """
    if isinstance(value, Counter):
        return "{" + ", ".join(sorted(show(x) for x in value.elements())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(show, value)) + ")"
    if isinstance(value, Inl | Inr):
        return ("←" if isinstance(value, Inl) else "→") + show(value.t)
    return str(value)


def _box(event: Event) -> tuple[str, str, str]:
    heavy = isinstance(event, WM)
    text = f"WM {show(event.t)}" if isinstance(event, WM) else f"DT {show(event.t)} {show(event.d)}"
    a, top, b, side, c, bottom, d = HEAVY if heavy else LIGHT
    line = len(text) + 2
    return a + top * line + b, f"{side} {text} {side}", c + bottom * line + d


def draw_stream(events: Iterable[Event], *, width: int = 100, limit: int = 60) -> str:
    """Answer a picture of a stream, wrapped to ``width``; a cycle is marked, and a long stream is cut.

    >>> from tidegate.spec import DT
    >>> print(draw_stream([DT(1, "a"), WM(1)]))
    ┌────────┐ ┏━━━━━━┓
    │ DT 1 a │ ┃ WM 1 ┃
    └────────┘ ┗━━━━━━┛
    """
    marks: dict[int, str] = {}
    listed: list[Event]
    if isinstance(events, Lasso):
        listed = events.unroll(1)
        marks = {len(events.prefix): "↻", len(listed): "⟲"}
    else:
        drawn = list(islice(events, limit + 1))
        listed = drawn[:limit]
        if len(drawn) > limit:
            marks = {limit: "…"}
    pieces: list[tuple[str, str, str]] = []
    for n, event in enumerate(listed):
        if n in marks:
            pieces.append((" ", marks[n], " "))
        pieces.append(_box(event))
    if len(listed) in marks:
        pieces.append((" ", marks[len(listed)], " "))
    if not pieces:
        return "(empty stream)"
    rows: list[list[tuple[str, str, str]]] = [[]]
    used = 0
    for piece in pieces:
        if used and used + 1 + len(piece[0]) > width:
            rows.append([])
            used = 0
        rows[-1].append(piece)
        used += len(piece[0]) + (1 if used else 0)
    return "\n".join(" ".join(piece[line] for piece in row).rstrip() for row in rows for line in range(3))
