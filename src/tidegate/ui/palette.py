"""The colours of pictures. They can be read on dark and on light terminals."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from tidegate.spec.canvas import Canvas

__all__ = ["INK", "paint"]

#: What each tag of a `Canvas` looks like.
INK: Final = {
    "data": "#3b82f6",
    "watermark": "bold #d97706",
    "output": "bold #16a34a",
    "complete": "bold #16a34a",
    "open": "#808080",
    "line": "#808080",
    "caption": "italic #808080",
    "surprise": "bold #db2777",
}


def paint(canvas: Canvas, *, indent: int = 0) -> Text:
    """Return a drawing as text with colours, for a `rich` console to print.

    >>> canvas = Canvas()
    >>> canvas.put(0, 0, "WM 1", "watermark")
    >>> paint(canvas, indent=2).markup
    '  [bold #d97706]WM 1[/bold #d97706]'
    """
    painted = Text(no_wrap=True, overflow="ignore")
    for n, line in enumerate(canvas.lines()):
        painted.append("\n" * (n > 0) + " " * indent * bool(line))
        for text, tag in line:
            painted.append(text, style=INK.get(tag, ""))
    return painted
