"""Drawings of what operators do to streams, and drawings side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tidegate.spec import WM, Event, Operator
from tidegate.spec.canvas import Canvas
from tidegate.spec.draw import show_event
from tidegate.spec.operator import step

__all__ = ["lanes", "run_picture", "side_by_side"]

#: How the end of the input is drawn. Operators emit the rest of their rows then.
END = "end of input"
PASSES = "passes"


@dataclass(frozen=True, slots=True)
class _Chip:
    """An event in one line, between two vertical strokes."""

    text: str
    tag: str

    @property
    def width(self) -> int:
        return len(self.text) + 2

    def draw(self, canvas: Canvas, x: int, y: int) -> int:
        """Draw it. Return the column where the next one goes, with a blank between them."""
        stroke = "┃" if self.tag == "watermark" else "│"
        canvas.put(x, y, f"{stroke}{self.text}{stroke}", self.tag)
        return x + self.width + 1


def _chip(event: Event, tag: str) -> _Chip:
    return _Chip(show_event(event), "watermark" if isinstance(event, WM) else tag)


def run_picture(op: Operator[Event, Event], events: Iterable[Event], *, width: int) -> Canvas:
    """Return a drawing of a run. Below each event that causes outputs, an arrow points to the outputs.

    An event that the operator passes on unchanged has no arrow.

    >>> from tidegate.spec import DT, batch_op
    >>> from tidegate.time import Nat
    >>> print(run_picture(batch_op(Nat()), [DT(0, "a"), WM(0), DT(2, "b")], width=60))
    │DT 0 a│ ┃WM 0┃
                ╰─▶ │DT 0 [(0, a)]│ ┃WM 0┃
    <BLANKLINE>
    │DT 2 b│ ╶end of input╴
                    ╰─▶ │DT 2 [(2, b)]│
    """
    canvas = Canvas()
    x = y = 0
    for event in events:
        op, out = step(op, event)
        chip = _chip(event, "data")
        passes = out == [event]
        if x and x + chip.width + (len(PASSES) + 1) * passes > width:
            x, y = 0, y + 1
        x = chip.draw(canvas, x, y)
        if passes:
            canvas.put(x, y, PASSES, "caption")
            x += len(PASSES) + 2
        elif out:
            y = _draw_outputs(canvas, x - 1 - (chip.width + 1) // 2, y + 1, [_chip(o, "output") for o in out], width)
            x = 0
    rest = [_chip(o, "output") for o in op.exit()]
    if rest:
        if x and x + len(END) + 2 > width:
            x, y = 0, y + 1
        canvas.put(x, y, f"╶{END}╴", "caption")
        _draw_outputs(canvas, x + (len(END) + 2) // 2, y + 1, rest, width)
    return canvas


def _draw_outputs(canvas: Canvas, cause: int, y: int, chips: Sequence[_Chip], width: int) -> int:
    """Draw outputs to the right of an arrow that begins in the column ``cause``.

    If there is not enough room, they begin further left. Return the line where the next events go.
    """
    widest = max(chip.width for chip in chips)
    together = sum(chip.width + 1 for chip in chips) - 1
    wanted = together if together + 6 <= width else widest
    start = max(2, min(cause, width - 4 - wanted))
    if start < cause:
        canvas.put(start, y, "╭" + "─" * (cause - start - 1) + "╯", "line")
        y += 1
    canvas.put(start, y, "╰─▶", "line")
    x = start + 4
    for chip in chips:
        if x > start + 4 and x + chip.width > width:
            x, y = start + 4, y + 1
        x = chip.draw(canvas, x, y)
    return y + 2


def lanes(
    op: Operator[Event, Event],
    events: Iterable[Event],
    names: Sequence[str],
    lane_of: Callable[[Event], int],
    *,
    text_of: Callable[[Event], str] = show_event,
    result: str = "out",
) -> Canvas:
    """Return a drawing of a run with a line for each input and one for the outputs. It is read from left to right.

    ``names`` are the names of the inputs, and ``lane_of`` returns the number of the input of an event.

    >>> from tidegate.spec import DT, union_op
    >>> from tidegate.time import Inl, Inr, Nat
    >>> events = [DT(Inl(1), "a"), WM(Inl(1)), WM(Inr(2))]
    >>> print(lanes(union_op(Nat()), events, ["left", "right"], lambda e: isinstance(e.t, Inr)))
    left   │DT ←1 a│ ┃WM ←1┃
    right      │             ┃WM →2┃
               ▼                ▼
    out     │DT 1 a│          ┃WM 1┃
    """
    canvas = Canvas()
    margin = max(map(len, [*names, result])) + 2
    for line, name in enumerate([*names, "", result]):
        canvas.put(0, line, name, "caption")
    bottom = len(names) + 1
    x, free = margin, margin
    for event in events:
        op, out = step(op, event)
        chip = _Chip(text_of(event), "watermark" if isinstance(event, WM) else "data")
        lane = int(lane_of(event))
        after = chip.draw(canvas, x, lane)
        if out:
            middle = x + chip.width // 2
            for line in range(lane + 1, bottom):
                canvas.put(middle, line, "▼" if line == bottom - 1 else "│", "line")
            chips = [_Chip(text_of(o), "watermark" if isinstance(o, WM) else "output") for o in out]
            # If there is room, the outputs end below their cause, so that later events are to the right of them.
            free = max(free, x + chip.width - (sum(c.width + 1 for c in chips) - 1))
            for c in chips:
                free = c.draw(canvas, free, bottom)
        x = after
    return canvas


def side_by_side(pictures: Sequence[tuple[str, Canvas]], *, width: int, gap: int = 6) -> Canvas:
    """Return pictures next to each other, each below its caption. Those that do not fit into ``width`` go below."""
    canvas = Canvas()
    x = y = below = 0
    for caption, picture in pictures:
        wide = max(len(caption), picture.width)
        if x and x + wide > width:
            x, y = 0, below + 1
        canvas.put(x, y, caption, "caption")
        canvas.paste(x, y + 1, picture)
        below = max(below, y + 1 + picture.height)
        x += wide + gap
    return canvas
