"""A sheet of characters to draw on, each with a tag that says what it belongs to; plain text comes out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

__all__ = ["DOUBLE", "HEAVY", "LIGHT", "OPEN", "Canvas"]

#: Frames: the corners, the sides, and the corners below, from left to right.
LIGHT = "┌─┐│└─┘"
HEAVY = "┏━┓┃┗━┛"
DOUBLE = "╔═╗║╚═╝"
OPEN = "┌╌┐╎└╌┘"


class Canvas:
    """Characters at places, columns ``x`` from the left and lines ``y`` from the top.

    A tag such as ``"watermark"`` goes with each character, so that whoever shows the picture can colour it.

    >>> canvas = Canvas()
    >>> canvas.box(0, 0, "WM 1", HEAVY, tag="watermark")
    8
    >>> canvas.put(9, 1, "→ done")
    >>> print(canvas)
    ┏━━━━━━┓
    ┃ WM 1 ┃ → done
    ┗━━━━━━┛
    """

    __slots__ = ("_cells", "height", "width")

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], tuple[str, str]] = {}
        self.width = 0
        self.height = 0

    def put(self, x: int, y: int, text: str, tag: str = "") -> None:
        """Write ``text`` to the right from ``(x, y)``, over what was there."""
        for n, character in enumerate(text):
            self._cells[x + n, y] = character, tag
        self.width = max(self.width, x + len(text))
        self.height = max(self.height, y + 1)

    def box(self, x: int, y: int, text: str, frame: str, *, tag: str = "", width: int = 0) -> int:
        """Draw a box of three lines around ``text``, at least ``width`` wide; return its width."""
        inside = max(len(text) + 2, width - 2)
        self.put(x, y, frame[0] + frame[1] * inside + frame[2], tag)
        self.put(x, y + 1, frame[3] + text.center(inside) + frame[3], tag)
        self.put(x, y + 2, frame[4] + frame[5] * inside + frame[6], tag)
        return inside + 2

    def at(self, x: int, y: int) -> tuple[str, str]:
        """Return the character at a place and its tag."""
        return self._cells.get((x, y), (" ", ""))

    def paste(self, x: int, y: int, other: Canvas) -> None:
        """Draw another canvas with its upper left corner at ``(x, y)``."""
        for (column, line), (character, tag) in other._cells.items():
            self.put(x + column, y + line, character, tag)

    def lines(self) -> Iterator[list[tuple[str, str]]]:
        """Return each line as pieces of text with one tag each, without blanks at its end."""
        for y in range(self.height):
            cells = [self.at(x, y) for x in range(self.width)]
            while cells and cells[-1][0] == " ":
                cells.pop()
            yield [("".join(c for c, _ in run), tag) for tag, run in groupby(cells, key=lambda cell: cell[1])]

    def __str__(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self.lines())
