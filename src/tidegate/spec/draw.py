"""Streams as pictures made of text: one box for each event, watermarks with a heavy frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from tidegate.spec.canvas import HEAVY, LIGHT, Canvas
from tidegate.spec.events import WM, Event
from tidegate.spec.streams import Lasso
from tidegate.time import Inl, Inr

__all__ = ["draw_stream", "show", "show_event", "stream_canvas"]


def show(value: Any) -> str:
    """Return a short text for a time or for data: histograms as multisets, batches as lists of pairs.

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


def show_event(event: Event) -> str:
    """Return an event as the text of a box.

    >>> from tidegate.spec import DT
    >>> show_event(DT(1, "a")), show_event(WM(Inr(2)))
    ('DT 1 a', 'WM →2')
    """
    return f"WM {show(event.t)}" if isinstance(event, WM) else f"DT {show(event.t)} {show(event.d)}"


def draw_stream(events: Iterable[Event], *, width: int = 100, limit: int = 60) -> str:
    """Return a picture of a stream, wrapped to ``width``; a cycle is marked, and a long stream is cut.

    >>> from tidegate.spec import DT
    >>> print(draw_stream([DT(1, "a"), WM(1)]))
    ┌────────┐ ┏━━━━━━┓
    │ DT 1 a │ ┃ WM 1 ┃
    └────────┘ ┗━━━━━━┛
    """
    return str(stream_canvas(events, width=width, limit=limit))


def stream_canvas(events: Iterable[Event], *, width: int = 100, limit: int = 60) -> Canvas:
    """Draw what `draw_stream` returns as text; the tags are "data", "watermark" and "caption"."""
    pieces: list[Event | str]
    if isinstance(events, Lasso):
        pieces = [*events.prefix, "↻", *events.cycle, "⟲"]
    else:
        drawn = list(islice(events, limit + 1))
        pieces = [*drawn[:limit], "…"] if len(drawn) > limit else [*drawn]
    canvas = Canvas()
    if not pieces:
        canvas.put(0, 0, "(empty stream)", "caption")
    x = y = 0
    for piece in pieces:
        text = piece if isinstance(piece, str) else show_event(piece)
        wide = len(text) + (0 if isinstance(piece, str) else 4)
        if x and x + wide > width:
            x, y = 0, y + 3
        if isinstance(piece, str):
            canvas.put(x, y + 1, text, "caption")
        elif isinstance(piece, WM):
            canvas.box(x, y, text, HEAVY, tag="watermark")
        else:
            canvas.box(x, y, text, LIGHT, tag="data")
        x += wide + 1
    return canvas
