"""A picture of a flow as SVG: sources at the top, sinks at the bottom, operators in layers between them.

The SVG needs no font, no script and no other file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from tidegate.flow.explain.card import Box, Card, chip, chip_width, warning_chip, written
from tidegate.flow.explain.colours import STYLE, styled
from tidegate.flow.explain.lettering import NOTE, SANS, SMALL, TITLE, wrapped
from tidegate.flow.explain.sizes import (
    BETWEEN_BOXES,
    CHIP_HEIGHT,
    LOOP_WIDTH,
    MANY_BOXES,
    MARGIN,
    NARROW_TEXT,
    NARROWEST_NOTES,
    WIDE_TEXT,
)
from tidegate.layout import Node, arrange, depths, layered, place
from tidegate.printable import printable

__all__ = ["Box", "Link", "svg"]


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from one box to another, with a text beside it; from a box to itself, it is a loop."""

    start: str
    end: str
    text: str
    title: str = ""


def svg(boxes: Sequence[Box], links: Sequence[Link], *, title: str, notes: Sequence[str] = ()) -> str:
    """Return the picture as SVG.

    ``boxes`` are in an order in which every link leads to a later box. ``notes`` are written below the picture, with
    numbers. A page finds a box by its attribute ``data-id``, and a link by ``data-from`` and ``data-to``. A box has the
    classes ``box``, its kind, ``held`` if it keeps rows, and ``warned`` if there is a warning about it.

    >>> boxes = [Box(name, (name,), "operator", False, "") for name in "ab"]
    >>> picture = svg(boxes, [Link("a", "b", "")], title="x")
    >>> picture.startswith("<svg"), picture.count('class="box operator"'), picture.count('class="link"')
    (True, 2, 1)
    """
    picture = _Picture(boxes, links)
    head = MARGIN + TITLE.line
    # The title or the notes may be wider than the graph: then the graph is in the middle.
    width = round(
        max(picture.width + 2 * MARGIN, TITLE.width(printable(title)) + 2 * MARGIN, NARROWEST_NOTES if notes else 0)
    )
    aside, below = (width - picture.width) // 2, head + picture.height + MARGIN
    drawn = picture.draw(aside, head)
    footer, height = _notes(notes, width, below)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tidegate" role="img" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="{SANS}">',
            f"<title>{escape(printable(title))}</title>",
            f"<desc>{escape(printable(_in_words(boxes, links)))}</desc>",
            STYLE,
            f'<rect width="{width}" height="{height}" rx="8" {styled("paper", fill="paper")}/>',
            f'<g class="heading">{written(MARGIN, MARGIN + 12, title, TITLE, fill="text")}</g>',
            *drawn,
            *footer,
            "</svg>",
        ]
    )


def _in_words(boxes: Sequence[Box], links: Sequence[Link]) -> str:
    """Return the graph as a sentence, for those who cannot see it."""
    inputs: dict[str, list[str]] = {}
    for link in links:
        inputs.setdefault(link.end, []).append("itself" if link.start == link.end else link.start)
    return ". ".join(
        f"{box.id}, {box.verb or box.kind}" + (f", from {' and '.join(inputs[box.id])}" if box.id in inputs else "")
        for box in boxes
    )


def _notes(notes: Sequence[str], width: int, top: int) -> tuple[list[str], int]:
    """Return the notes below a picture, and the y at which they end."""
    parts = []
    for number, note in enumerate(notes, start=1):
        parts.append(warning_chip(MARGIN + chip_width(f"! {number}") / 2, top, f"! {number}"))
        indent = MARGIN + chip_width(f"! {number}") + 8
        for line in wrapped(note, NOTE, width - indent - MARGIN):
            parts.append(written(indent, top + 13, line, NOTE, fill="text"))
            top += NOTE.line
        top += 10
    return [f'<g class="notes">{"".join(parts)}</g>'] if parts else [], top + (MARGIN // 2 if parts else 0)


class _Picture:
    """Cards in layers, and the edges between them."""

    def __init__(self, boxes: Sequence[Box], links: Sequence[Link]) -> None:
        self._loops = {link.start: link for link in links if link.start == link.end}
        self._links = [link for link in links if link.start != link.end]
        edges = [(link.start, link.end) for link in self._links]
        depth = _depths(boxes, edges)
        most = max(Counter(depth.values()).values(), default=0)
        self._cards = {box.id: Card(box, NARROW_TEXT if most > MANY_BOXES else WIDE_TEXT) for box in boxes}
        self._layers, self._paths = layered([box.id for box in boxes], edges, depth)
        self._nodes = {node.key: node for layer in self._layers for node in layer if not node.passing}
        chips = {(link.end, link.text): chip_width(link.text) for link in self._links if link.text}
        for layer in self._layers:
            for node in layer:
                node.width = 10 if node.passing else self._width(node.key, chips)
        arrange(self._layers)
        place(self._layers, gap=BETWEEN_BOXES)
        self._ports = self._arrivals()
        #: For each layer, the y at which it begins and at which it ends.
        self._spans: list[tuple[int, int]] = []
        y = 0
        for number, layer in enumerate(self._layers):
            y += self._between(number)
            tallest = max((self._cards[node.key].height for node in layer if not node.passing), default=0)
            self._spans.append((y, y + tallest))
            y += tallest
        last = self._layers[-1] if self._layers else []
        self.height = y + (CHIP_HEIGHT // 2 if any(not n.passing and self._cards[n.key].box.time for n in last) else 0)
        self.width = max((n.left + n.width for layer in self._layers for n in layer), default=0)

    def _width(self, key: str, chips: dict[tuple[str, str], int]) -> int:
        loop = self._loops.get(key)
        bulge = 0 if loop is None else LOOP_WIDTH + round(SMALL.width(loop.text)) + 8
        return max([self._cards[key].width + 2 * bulge, *(wide for (end, _), wide in chips.items() if end == key)])

    def _arrivals(self) -> list[float]:
        """Return the x at which each link arrives: side by side, in the order of where they come from."""
        into: dict[str, list[int]] = {}
        for i, link in enumerate(self._links):
            into.setdefault(link.end, []).append(i)
        found = [0.0] * len(self._links)
        for end, members in into.items():
            members.sort(key=lambda i: self._paths[i][-2].middle)
            step = min(40.0, (self._cards[end].width - 40) / max(1, len(members) - 1))
            for place_, i in enumerate(members):
                found[i] = self._nodes[end].middle + (place_ - (len(members) - 1) / 2) * step
        return found

    def _texts(self, end: str) -> list[str]:
        """Return the different texts of the links to a box; each has its own line of chips."""
        return list(dict.fromkeys(link.text for link in self._links if link.end == end and link.text))

    def _stub(self, layer: int) -> int:
        """Return how long the last, upright part of all links to a layer is: chips and marks are beside it."""
        keys = [node.key for node in self._layers[layer] if not node.passing]
        rows = max((len(self._texts(key)) for key in keys), default=0)
        return 12 + (CHIP_HEIGHT + 6) * rows + self._warning_room(layer)

    def _warning_room(self, layer: int) -> int:
        """Return how much more room the marks on the upper borders of the boxes of a layer need."""
        return 4 * any(self._cards[node.key].box.warnings for node in self._layers[layer] if not node.passing)

    def _between(self, layer: int) -> int:
        """Return the room between a layer and the one above it."""
        if not layer:
            return CHIP_HEIGHT if self._warning_room(layer) else 8
        ways = [abs(b.middle - a.middle) for path in self._paths for a, b in pairwise(path) if b.layer == layer]
        chips = any(self._cards[n.key].box.time for n in self._layers[layer - 1] if not n.passing)
        return self._stub(layer) + 20 + min(64, max(ways, default=0) // 7) + (CHIP_HEIGHT // 2 if chips else 0)

    def draw(self, x: int, y: int) -> list[str]:
        """Return the SVG of all links, then of all boxes, with the upper left corner at a place."""
        # If several links to a box have the same text, it is written once, across all of them.
        last = {(link.end, link.text): link for link in self._links if link.text}
        parts = []
        for link, path, port in zip(self._links, self._paths, self._ports, strict=True):
            label = self._label(link, x, y) if last.get((link.end, link.text)) is link else ""
            parts.append(self._link(link, path, port, x, y) + label + "</g>")
        for key, card in self._cards.items():
            node = self._nodes[key]
            left, top = x + node.middle - card.width // 2, y + self._spans[node.layer][0]
            if key in self._loops:
                parts.append(_loop(self._loops[key], left + card.width, top, card.height))
            parts.append(card.draw(left, top))
        return parts

    def _link(self, link: Link, path: Sequence[Node[str]], port: float, x: int, y: int) -> str:
        start, end = path[0], path[-1]
        column: float = x + start.middle
        commands = [f"M{column:g},{y + self._spans[start.layer][0] + self._cards[link.start].height}"]
        for one, other in pairwise(path):
            to = x + (port if other is end else other.middle)
            bottom, top = y + self._spans[one.layer][1], y + self._spans[other.layer][0] - self._stub(other.layer)
            middle = (bottom + top) / 2
            commands.append(f"V{bottom} C{column:g},{middle:g} {to:g},{middle:g} {to:g},{top}")
            column = to
        arrives = y + self._spans[end.layer][0]
        line = f'<path d="{" ".join(commands)} V{arrives - 6}" {styled("edge", line="line")} stroke-width="1.5"/>'
        head = f'<path d="M{column - 4:g},{arrives - 7} h8 l-4,7 z" {styled("tip", fill="line")}/>'
        title = f"<title>{escape(printable(link.title))}</title>" if link.title else ""
        return f"{_group(link)}{title}{line}{head}"

    def _label(self, link: Link, x: int, y: int) -> str:
        """Return the text of a link as a chip, across all links to that box with the same text."""
        same = [port for other, port in zip(self._links, self._ports, strict=True) if _alike(other, link)]
        row = self._texts(link.end).index(link.text)
        layer = self._nodes[link.end].layer
        top = y + self._spans[layer][0] - 14 - CHIP_HEIGHT - (CHIP_HEIGHT + 6) * row - self._warning_room(layer)
        return chip(x + sum(same) / len(same), top, link.text, fill="card", line="border", ink="muted")


def _alike(one: Link, other: Link) -> bool:
    return (one.end, one.text) == (other.end, other.text)


def _group(link: Link) -> str:
    start, end = escape(printable(link.start)), escape(printable(link.end))
    return f'<g class="link" data-from="{start}" data-to="{end}">'


def _depths(boxes: Sequence[Box], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each box: sources in the first, sinks in the last, tables just above where they are used."""
    found = depths([box.id for box in boxes], edges)
    last = max(found.values(), default=0)
    for box in boxes:
        if box.kind == "sink":
            found[box.id] = last
        elif box.kind == "table":
            found[box.id] = max(0, min((found[end] for start, end in edges if start == box.id), default=1) - 1)
    return found


def _loop(link: Link, x: float, y: float, height: int) -> str:
    """Return the SVG of a loop at the right side of a box."""
    high, low = y + 14, y + min(height - 10, 74)
    way = f"M{x:g},{low:g} c{LOOP_WIDTH},4 {LOOP_WIDTH},{high - low - 4:g} 7,{high - low:g}"
    line = f'<path d="{way}" {styled("edge", line="line")} stroke-width="1.5"/>'
    head = f'<path d="M{x + 7:g},{high - 4:g} v8 l-7,-4 z" {styled("tip", fill="line")}/>'
    text = written(x + LOOP_WIDTH - 4, (low + high) / 2 + 4, link.text, SMALL, fill="muted")
    return f"{_group(link)}{line}{head}{text}</g>"
