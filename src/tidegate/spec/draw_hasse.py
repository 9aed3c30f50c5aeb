"""Partial orders as pictures made of text: Hasse diagrams, with the least times at the bottom.

The layout is that of `tidegate.layout`. Each time has one line upwards, which branches. Each line arrives in a column
of its own, so that no two run along each other. Where two cross, the vertical one is drawn over the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from tidegate.layout import Node, arrange, depths, layered, place
from tidegate.spec.canvas import DOUBLE, OPEN, Canvas
from tidegate.time import Order, maximal

__all__ = ["covers", "hasse", "hasse_canvas"]

T = TypeVar("T", bound=Hashable)

#: Columns between two boxes.
GAP = 2

#: What to draw at a place that lines leave in these directions.
_TURNS = {
    frozenset("NS"): "│", frozenset("EW"): "─", frozenset("SE"): "╭", frozenset("SW"): "╮", frozenset("NE"): "╰",
    frozenset("NW"): "╯", frozenset("NSE"): "├", frozenset("NSW"): "┤", frozenset("SEW"): "┬", frozenset("NEW"): "┴",
    frozenset("NSEW"): "┼", frozenset("N"): "│", frozenset("S"): "│", frozenset("E"): "─", frozenset("W"): "─",
}  # fmt: skip


def covers(order: Order[T], times: Iterable[T]) -> dict[T, list[T]]:
    """Return, for each of the times, those immediately below it.

    >>> from tidegate.time import Nat, Product
    >>> covers(Product(Nat(), Nat()), [(0, 0), (0, 1), (1, 0), (1, 1)])[1, 1]
    [(0, 1), (1, 0)]
    """
    listed = list(dict.fromkeys(times))
    return {t: maximal(order, [u for u in listed if order.lt(u, t)]) for t in listed}


def hasse(order: Order[T], labels: Mapping[T, str] | Iterable[T], *, complete: Iterable[T] = ()) -> str:
    """Return the Hasse diagram of some times: lines lead up from a time to those immediately above it.

    ``labels`` gives the text for each time, or only the times. Those in ``complete`` have a double frame.

    >>> from tidegate.time import Poset
    >>> order = Poset([("t0", "t1"), ("t0", "t2"), ("t1", "t3"), ("t2", "t3"), ("t2", "t4")])
    >>> print(hasse(order, ["t0", "t1", "t2", "t3", "t4"], complete=["t0", "t1"]))
     ┌╌╌╌╌╌╌┐  ┌╌╌╌╌┐
     ╎  t3  ╎  ╎ t4 ╎
     └╌┬╌╌┬╌┘  └╌╌┬╌┘
       │  ╰────┬──╯
    ╔══╧═╗  ┌╌╌┴╌┐
    ║ t1 ║  ╎ t2 ╎
    ╚══╤═╝  └╌╌┬╌┘
       ╰───┬───╯
        ╔══╧═╗
        ║ t0 ║
        ╚════╝
    """
    return str(hasse_canvas(order, labels, complete=complete))


def hasse_canvas(order: Order[T], labels: Mapping[T, str] | Iterable[T], *, complete: Iterable[T] = ()) -> Canvas:
    """Draw what `hasse` returns as text; the tags are "complete", "open" and "line"."""
    texts = labels if isinstance(labels, Mapping) else {t: str(t) for t in labels}
    done = set(complete)
    if not texts:
        return Canvas()
    layers = _layers(order, texts)
    arrange(layers)
    place(layers, gap=GAP)
    strips = [_Strip(lower, upper) for lower, upper in pairwise(layers)]
    canvas = Canvas()
    y = 0
    for layer, strip in zip(reversed(layers), [None, *reversed(strips)], strict=True):
        if strip is not None:
            y += strip.height
        for node in layer:
            if not node.passing:
                frame, tag = (DOUBLE, "complete") if node.key in done else (OPEN, "open")
                canvas.box(node.left, y, texts[node.key], frame, tag=tag, width=node.width)
        if strip is not None:
            strip.draw(canvas, y - strip.height)
        y += 3
    return canvas


def _layers(order: Order[T], texts: Mapping[T, str]) -> list[list[Node[T]]]:
    """Put each time on the lowest layer above all times below it; long lines pass through the layers between."""
    below = covers(order, texts)
    edges = [(u, t) for t in texts for u in below[t]]
    layers, _ = layered(list(texts), edges, depths(sorted(below, key=order.key), edges))
    for node in (n for layer in layers for n in layer if not n.passing):
        node.width = max(len(texts[node.key]) + 4, 3 * len(node.before) + 2)
    return layers


def _ports(node: Node[Any], lower: list[Node[Any]]) -> dict[Node[Any], int]:
    """Return the column in which each line from below arrives at a node: straight up, or else side by side."""
    lows = sorted(node.before, key=lambda n: n.middle)
    if node.passing:
        columns = [node.middle]
    else:
        step = max(3, (node.width - 1) // (len(lows) + 1))
        first = node.left + (node.width - step * (len(lows) - 1)) // 2
        columns = [first + step * i for i in range(len(lows))]
        for i, low in enumerate(lows):
            left = columns[i - 1] + 1 if i else node.left
            right = columns[i + 1] - 1 if i + 1 < len(lows) else node.left + node.width - 1
            if left < low.middle < right:
                columns[i] = low.middle
    # No line may arrive where another one leaves, since they would look like one.
    for i, low in enumerate(lows):
        if any(other.middle == columns[i] for other in lower if other is not low):
            columns[i] += 1 if low.middle > columns[i] else -1
    return dict(zip(lows, columns, strict=True))


class _Strip:
    """The lines between two layers: each node below has one horizontal stretch, from which lines lead up."""

    __slots__ = ("arrivals", "aside", "height", "tracks")

    def __init__(self, lower: list[Node[Any]], upper: list[Node[Any]]) -> None:
        self.arrivals: dict[Node[Any], list[int]] = {low: [] for low in lower if low.after}
        self.aside: list[tuple[Node[Any], int]] = []
        for node in upper:
            for low, column in _ports(node, lower).items():
                self.arrivals[low].append(column)
                if node.passing and column != node.middle:
                    self.aside.append((node, column))
        self.tracks = _tracks({low: (min(*xs, low.middle), max(*xs, low.middle)) for low, xs in self.arrivals.items()})
        self.height = 1 + max(self.tracks.values(), default=0)

    def draw(self, canvas: Canvas, y: int) -> None:
        """Draw the lines, from ``y`` down; the layers above and below are there already."""
        ways: dict[tuple[int, int], dict[Node[Any], set[str]]] = {}

        def way(low: Node[Any], x: int, line: int, directions: str) -> None:
            ways.setdefault((x, line), {}).setdefault(low, set()).update(directions)

        for low, xs in self.arrivals.items():
            bend = self.height - 1 - self.tracks[low]
            way(low, low.middle, bend, "S")
            for line in range(bend + 1, self.height + 3 * low.passing):
                way(low, low.middle, line, "NS")
            _join(canvas, low.middle, y + self.height, up=True)
            for x in xs:
                way(low, x, bend, "N")
                for line in range(bend):
                    way(low, x, line, "NS")
                for column in range(min(x, low.middle), max(x, low.middle)):
                    way(low, column, bend, "E")
                    way(low, column + 1, bend, "W")
                _join(canvas, x, y - 1, up=False)
        for (x, line), owners in ways.items():
            # Where two lines cross, the vertical one is drawn over the other.
            directions = max(owners.values(), key=lambda d: "N" in d or "S" in d)
            canvas.put(x, y + line, _TURNS[frozenset(directions)], "line")
        for node, column in self.aside:
            # A long line that had to arrive beside its place goes back to its place.
            canvas.put(min(node.middle, column), y - 1, "╰╮" if column > node.middle else "╭╯", "line")


def _join(canvas: Canvas, x: int, y: int, *, up: bool) -> None:
    """Connect a line to the frame at a place, if there is one."""
    character, tag = canvas.at(x, y)
    if character == "═":
        canvas.put(x, y, "╧" if up else "╤", tag)
    elif character == "╌":
        canvas.put(x, y, "┴" if up else "┬", tag)


def _tracks(stretches: dict[Node[Any], tuple[int, int]]) -> dict[Node[Any], int]:
    """Give each horizontal stretch a row of its own if it would meet another."""
    tracks: dict[Node[Any], int] = {}
    for low, (left, right) in sorted(stretches.items(), key=lambda item: item[1]):
        taken = {
            tracks[other]
            for other, (start, end) in stretches.items()
            if other in tracks and start < end and left <= end and start <= right
        }
        tracks[low] = 0 if left == right else next(n for n in range(len(stretches)) if n not in taken)
    return tracks
