"""One box of a picture: the name of an operator, what it does and what it keeps; its size, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from tidegate.flow.explain.colours import styled
from tidegate.flow.explain.lettering import CODE, MONOSPACE, NAME, NOTE, SMALL, Lettering, balanced, wrapped
from tidegate.flow.explain.sizes import (
    CHIP_HEIGHT,
    MOST_LINES,
    NARROWEST_BOX,
    PADDING_LEFT,
    PADDING_RIGHT,
    PADDING_TOP,
)
from tidegate.printable import printable

__all__ = ["Box", "Card", "chip", "chip_width", "warning_chip", "written"]


@dataclass(frozen=True, slots=True)
class Box:
    """What a box shows: an operator or a sink of a flow."""

    id: str
    #: The name, and then what it does.
    lines: tuple[str, ...]
    #: One of ``source``, ``table``, ``operator`` and ``sink``.
    kind: str
    #: Whether it keeps rows.
    held: bool
    #: What is shown while the mouse is over it.
    title: str
    #: The word beside the name.
    verb: str = ""
    #: What it keeps, and until when.
    kept_text: str = ""
    #: The time columns of what comes out; written on the lower border.
    time: str = ""
    #: How far it is in a run.
    note: str = ""
    #: The numbers of the warnings about it.
    warnings: tuple[int, ...] = ()


def written(x: float, y: float, text: str, lettering: Lettering, *, fill: str, anchor: str = "") -> str:
    """Return a line of text at a place. Its baseline begins there; or ``anchor`` is "middle" or "end"."""
    font = f' font-family="{MONOSPACE}"' if lettering.fixed else ""
    bold = ' font-weight="600"' if lettering.bold else ""
    where = f' text-anchor="{anchor}"' if anchor else ""
    size = f'font-size="{lettering.size:g}"{font}{bold}{where}'
    return f'<text xml:space="preserve" x="{x:g}" y="{y:g}" {styled(fill=fill)} {size}>{escape(printable(text))}</text>'


def chip(middle: float, y: float, text: str, *, classes: str = "chip", fill: str, line: str, ink: str) -> str:
    """Return a text in a rounded frame; ``middle`` is the x of its middle, ``y`` that of its upper edge."""
    width = chip_width(text)
    frame = f'x="{middle - width / 2:g}" y="{y:g}" width="{width:g}" height="{CHIP_HEIGHT}" rx="{CHIP_HEIGHT / 2:g}"'
    inside = written(middle, y + CHIP_HEIGHT - 5, text, SMALL, fill=ink, anchor="middle")
    return f"<rect {frame} {styled(classes, fill=fill, line=line)}/>{inside}"


def warning_chip(middle: float, y: float, text: str) -> str:
    """Return a chip that refers to a warning by its number."""
    return chip(middle, y, text, classes="mark", fill="warning", line="warning-text", ink="warning-text")


def chip_width(text: str) -> int:
    """Return how wide a chip is."""
    return 2 * round(SMALL.width(printable(text)) / 2 + 9)


@dataclass(slots=True)
class Card:
    """A box with its texts broken into lines, so that its size is known."""

    box: Box
    #: The widest line of text.
    widest: int
    width: int = 0
    height: int = 0
    _name: list[str] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    #: Texts on a coloured background: what is kept, and how far it is in a run.
    _pills: list[tuple[str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        box = self.box
        name, *lines = box.lines or (box.id,)
        self._name = wrapped(name, NAME, self.widest, most=2)
        self._lines = [
            part for line in lines for part in wrapped(line, CODE, self.widest, most=MOST_LINES, indent="  ")
        ]
        beside = 14 + SMALL.width(box.verb) if box.verb else 0
        inside = max([NAME.width(self._name[-1]) + beside, *(NAME.width(part) for part in self._name)])
        inside = max([inside, *(CODE.width(part) for part in self._lines)])
        least = max(inside, min(250, self.widest))
        texts = [("kept", f"holds {box.kept_text}" if box.kept_text else ""), ("note", box.note)]
        self._pills = [(name, balanced(text, NOTE, least - 8, most=MOST_LINES)) for name, text in texts if text]
        inside = max([inside, *(NOTE.width(part) + 8 for _, parts in self._pills for part in parts)])
        width = max(NARROWEST_BOX, inside + PADDING_LEFT + PADDING_RIGHT, chip_width(box.time) + 24 if box.time else 0)
        self.width = 2 * round(width / 2 + 0.5)
        self.height = (
            PADDING_TOP + NAME.line * len(self._name) + (3 + CODE.line * len(self._lines) if self._lines else 0)
        )
        self.height += sum(11 + NOTE.line * len(parts) for _, parts in self._pills) + (13 if box.time else 9)

    def draw(self, x: float, y: float) -> str:
        """Return the SVG of the box, with its upper left corner at a place."""
        box, width, height = self.box, self.width, self.height
        classes = f"box {box.kind}{' held' if box.held else ''}{' warned' if box.warnings else ''}"
        line = "warning-text" if box.warnings else "border"
        frame = f'x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6"'
        edge = f"M{x + 5:g},{y:g} a5,6 0 0 0 -5,6 v{height - 12} a5,6 0 0 0 5,6 z"
        parts = [
            f'<g class="{classes}" data-id="{escape(printable(box.id))}">',
            f"<title>{escape(printable(box.title or box.id, lines=True))}</title>",
            f"<rect {frame} {styled('card', fill='card', line=line)}/>",
            f'<path d="{edge}" {styled("accent", fill=box.kind)}/>',
        ]
        top = y + PADDING_TOP
        for part in self._name:
            top += NAME.line
            parts.append(written(x + PADDING_LEFT, top - 5, part, NAME, fill="text"))
        if box.verb:
            parts.append(written(x + width - PADDING_RIGHT, top - 5, box.verb, SMALL, fill=box.kind, anchor="end"))
        top += 3
        for part in self._lines:
            top += CODE.line
            parts.append(written(x + PADDING_LEFT, top - 4, part, CODE, fill="muted"))
        top += 0 if self._lines else -3
        for name, lines in self._pills:
            parts.append(self._pill(x, top + 5, name, lines))
            top += 11 + NOTE.line * len(lines)
        if box.time:
            parts.append(
                chip(x + width / 2, y + height - CHIP_HEIGHT / 2, box.time, fill="card", line="border", ink="muted")
            )
        if box.warnings:
            text = "! " + ", ".join(map(str, box.warnings))
            middle = x + width - 8 - chip_width(text) / 2
            parts.append(warning_chip(middle, y - CHIP_HEIGHT / 2, text))
        return "".join([*parts, "</g>"])

    def _pill(self, x: float, y: float, name: str, lines: list[str]) -> str:
        ground = f'x="{x + 10:g}" y="{y:g}" width="{self.width - 18}" height="{6 + NOTE.line * len(lines)}" rx="4"'
        parts = [f"<rect {ground} {styled(name, fill=name)}/>"]
        for i, line in enumerate(lines, start=1):
            parts.append(written(x + PADDING_LEFT, y + NOTE.line * i - 1, line, NOTE, fill=f"{name}-text"))
        return "".join(parts)
