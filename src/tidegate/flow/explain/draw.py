"""A picture of a directed graph without cycles: boxes in layers, curves between them, as SVG by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

__all__ = ["Box", "Link", "svg"]

_CHARACTER = 7.0
_LINE = 16
_PADDING = 10
_GAP_X = 28
_GAP_Y = 46
_WIDEST = 46
_COLOURS = {
    "source": ("#e8f1fb", "#3b78b5"),
    "table": ("#eef6ea", "#5a9a45"),
    "operator": ("#ffffff", "#667085"),
    "sink": ("#fdf3e3", "#c98a1b"),
}


@dataclass(frozen=True, slots=True)
class Box:
    """A node: its name, its lines of text, what it is, whether it holds rows, and what to show on hovering."""

    id: str
    lines: tuple[str, ...]
    kind: str
    held: bool
    title: str


@dataclass(frozen=True, slots=True)
class Link:
    """An edge, with a text beside it."""

    start: str
    end: str
    text: str


@dataclass(slots=True)
class _Cell:
    """A place in a layer: a box, or a point that a long edge goes through."""

    name: str
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def svg(boxes: Sequence[Box], links: Sequence[Link], *, title: str) -> str:
    """Return the picture; ``boxes`` come in an order in which every link goes forwards.

    A page finds a box by its attribute ``data-id``, and a link by ``data-from`` and ``data-to``; a box has the classes
    ``box``, its kind, and ``held`` if it holds rows.

    >>> boxes = [Box(name, (name,), "operator", False, "") for name in "ab"]
    >>> picture = svg(boxes, [Link("a", "b", "")], title="x")
    >>> picture.startswith("<svg"), picture.count("<rect")
    (True, 2)
    """
    cut = {box.id: tuple(_cut(line) for line in box.lines) for box in boxes}
    layers, paths = _layers(boxes, links, cut)
    _arrange(layers, paths)
    cells = {cell.name: cell for layer in layers for cell in layer}
    ends = [cells[link.end].x + cells[link.end].width / 2 + len(_cut(link.text)) * _CHARACTER for link in links]
    width = max([cell.x + cell.width for cell in cells.values()] + ends, default=0) + _PADDING
    height = max((cell.y + cell.height for cell in cells.values()), default=0) + _PADDING
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#667085"/></marker></defs>',
    ]
    parts += [_curve([cells[name] for name in path], link.text) for link, path in zip(links, paths, strict=True)]
    parts += [_box(box, cut[box.id], cells[box.id]) for box in boxes]
    return "\n".join([*parts, "</svg>"])


def _cut(line: str) -> str:
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


def _layers(
    boxes: Sequence[Box], links: Sequence[Link], cut: dict[str, tuple[str, ...]]
) -> tuple[list[list[_Cell]], list[list[str]]]:
    """Put each box one layer below the lowest of its inputs, and a point into each layer that a link passes."""
    depth: dict[str, int] = {}
    for box in boxes:
        depth[box.id] = max((depth[link.start] + 1 for link in links if link.end == box.id), default=0)
    layers: list[list[_Cell]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for box in boxes:
        lines = cut[box.id]
        width = max(len(line) for line in lines) * _CHARACTER + 2 * _PADDING
        layers[depth[box.id]].append(_Cell(box.id, width, len(lines) * _LINE + _PADDING))
    paths = []
    for n, link in enumerate(links):
        path = [link.start]
        for layer in range(depth[link.start] + 1, depth[link.end]):
            point = _Cell(f"{link.start}>{link.end}:{n}:{layer}", 8, 0)
            layers[layer].append(point)
            path.append(point.name)
        paths.append([*path, link.end])
    return layers, paths


def _arrange(layers: list[list[_Cell]], paths: list[list[str]]) -> None:
    """Order each layer by where its neighbours are, a few times down and up; then place it below the one before."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for path in paths:
        for a, b in pairwise(path):
            above.setdefault(b, []).append(a)
            below.setdefault(a, []).append(b)
    cells = {cell.name: cell for layer in layers for cell in layer}
    for layer in layers:
        _pack(layer)
    for _ in range(4):
        for layer in layers[1:]:
            _towards(layer, above, cells)
        for layer in reversed(layers[:-1]):
            _towards(layer, below, cells)
    left = min((cell.x for cell in cells.values()), default=0) - _PADDING
    y = float(_PADDING)
    for layer in layers:
        for cell in layer:
            cell.x -= left
            cell.y = y
        tallest = max(cell.height for cell in layer)
        for cell in layer:
            # A long edge goes straight through the whole layer.
            cell.height = cell.height or tallest
        y += tallest + _GAP_Y


def _pack(layer: list[_Cell]) -> None:
    x = 0.0
    for cell in layer:
        cell.x = x
        x += cell.width + _GAP_X


def _towards(layer: list[_Cell], near: dict[str, list[str]], cells: dict[str, _Cell]) -> None:
    """Move each cell towards the middle of its neighbours, in their order and without overlaps."""

    def wish(cell: _Cell) -> float:
        others = [cells[name] for name in near.get(cell.name, ())]
        return sum(o.x + o.width / 2 for o in others) / len(others) if others else cell.x + cell.width / 2

    wishes = {cell.name: wish(cell) for cell in layer}
    layer.sort(key=lambda cell: wishes[cell.name])
    right = float("-inf")
    for cell in layer:
        cell.x = max(wishes[cell.name] - cell.width / 2, right)
        right = cell.x + cell.width + _GAP_X
    # What was pushed to the right is moved back by the middle of what it was pushed.
    pushed = sum(cell.x + cell.width / 2 - wishes[cell.name] for cell in layer) / len(layer)
    for cell in layer:
        cell.x -= pushed


def _curve(path: list[_Cell], text: str) -> str:
    start = path[0]
    x, y = start.x + start.width / 2, start.y + start.height
    commands = [f"M{x:.1f},{y:.1f}"]
    for cell in path[1:]:
        to_x, to_y = cell.x + cell.width / 2, cell.y
        middle = (y + to_y) / 2
        commands.append(f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}")
        x, y = to_x, cell.y + cell.height
        if cell is not path[-1]:
            commands.append(f"L{x:.1f},{y:.1f}")
    line = f'<path d="{" ".join(commands)}" fill="none" stroke="#667085" marker-end="url(#arrow)"/>'
    group = f'<g class="link" data-from="{escape(path[0].name)}" data-to="{escape(path[-1].name)}">'
    if not text:
        return f"{group}{line}</g>"
    end = path[-1]
    label = f'<text x="{end.x + end.width / 2 + 6:.1f}" y="{end.y - 10:.1f}" fill="#667085" font-size="10" '
    label += 'paint-order="stroke" stroke="#ffffff" stroke-width="3">'
    return f"{group}{line}\n{label}{escape(_cut(text))}</text></g>"


def _box(box: Box, lines: tuple[str, ...], cell: _Cell) -> str:
    fill, stroke = _COLOURS[box.kind]
    size = f'x="{cell.x:.1f}" y="{cell.y:.1f}" width="{cell.width:.1f}" height="{cell.height:.1f}"'
    look = f'rx="5" fill="{fill}" stroke="{stroke}" stroke-width="{2.5 if box.held else 1}"'
    classes = f"box {box.kind}{' held' if box.held else ''}"
    group = f'<g class="{classes}" data-id="{escape(box.id)}">'
    parts = [f"{group}<title>{escape(box.title or box.id)}</title><rect {size} {look}/>"]
    for i, line in enumerate(lines):
        style = 'font-weight="bold"' if i == 0 else 'fill="#475467"'
        at = f'x="{cell.x + _PADDING:.1f}" y="{cell.y + _LINE * (i + 1):.1f}"'
        parts.append(f"<text {at} {style}>{escape(line)}</text>")
    return "".join([*parts, "</g>"])
