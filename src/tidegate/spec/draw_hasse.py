"""Partial orders as pictures made of text: Hasse diagrams, with the least times at the bottom.

The layout is the classic one by layers. Each time has one line upwards, which branches; each line arrives in a column
of its own, so that no two run along each other, and where two cross, the upright one is drawn over the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from tidegate.spec.canvas import DOUBLE, OPEN, Canvas
from tidegate.time import Order, maximal

__all__ = ["covers", "hasse", "hasse_canvas"]

T = TypeVar("T", bound=Hashable)

#: Columns between two boxes, and how often the layout is improved.
GAP = 2
SWEEPS = 12

#: What to draw where a line leaves a place in these directions.
_TURNS = {
    frozenset("NS"): "│", frozenset("EW"): "─", frozenset("SE"): "╭", frozenset("SW"): "╮", frozenset("NE"): "╰",
    frozenset("NW"): "╯", frozenset("NSE"): "├", frozenset("NSW"): "┤", frozenset("SEW"): "┬", frozenset("NEW"): "┴",
    frozenset("NSEW"): "┼", frozenset("N"): "│", frozenset("S"): "│", frozenset("E"): "─", frozenset("W"): "─",
}  # fmt: skip


def covers(order: Order[T], times: Iterable[T]) -> dict[T, list[T]]:
    """Answer, for each of the times, those immediately below it.

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
    └╌╌┬╌┬╌┘  └┬╌╌╌┘
       │ ╰─────┤
    ╔══╧═╗  ┌╌╌┴╌┐
    ║ t1 ║  ╎ t2 ╎
    ╚══╤═╝  └╌╌┬╌┘
       ╰───┬───╯
        ╔══╧═╗
        ║ t0 ║
        ╚════╝
    """
    return str(hasse_canvas(order, labels, complete=complete))


@dataclass(eq=False, slots=True)
class _Node:
    """A box of the picture; or, without a time, the place where a long line passes through a layer."""

    text: str
    layer: int
    time: Any = None
    passing: bool = False
    below: list[_Node] = field(default_factory=list)
    above: list[_Node] = field(default_factory=list)
    width: int = 3
    middle: int = 0

    @property
    def left(self) -> int:
        return self.middle - self.width // 2


def hasse_canvas(order: Order[T], labels: Mapping[T, str] | Iterable[T], *, complete: Iterable[T] = ()) -> Canvas:
    """Draw what `hasse` answers as text; the tags are "complete", "open" and "line"."""
    texts = labels if isinstance(labels, Mapping) else {t: str(t) for t in labels}
    done = set(complete)
    if not texts:
        return Canvas()
    layers = _layers(order, texts)
    _arrange(layers)
    _place(layers)
    strips = [_Strip(lower, upper) for lower, upper in pairwise(layers)]
    canvas = Canvas()
    y = 0
    for layer, strip in zip(reversed(layers), [None, *reversed(strips)], strict=True):
        if strip is not None:
            y += strip.height
        for node in layer:
            if not node.passing:
                frame, tag = (DOUBLE, "complete") if node.time in done else (OPEN, "open")
                canvas.box(node.left, y, node.text, frame, tag=tag, width=node.width)
        if strip is not None:
            strip.draw(canvas, y - strip.height)
        y += 3
    return canvas


def _layers(order: Order[T], texts: Mapping[T, str]) -> list[list[_Node]]:
    """Put each time on the lowest layer that is above all below it; long lines pass through the layers between."""
    below = covers(order, texts)
    nodes: dict[T, _Node] = {}
    for t in sorted(below, key=order.key):
        nodes[t] = _Node(texts[t], 1 + max((nodes[u].layer for u in below[t]), default=-1), t)
    layers: list[list[_Node]] = [[] for _ in range(1 + max((n.layer for n in nodes.values()), default=-1))]
    for t in texts:
        layers[nodes[t].layer].append(nodes[t])
    for t in texts:
        for u in below[t]:
            low = nodes[u]
            while low.layer < nodes[t].layer - 1:
                through = _Node("", low.layer + 1, passing=True)
                layers[through.layer].append(through)
                low = _link(low, through)
            _link(low, nodes[t])
    for node in (n for layer in layers for n in layer if not n.passing):
        node.width = max(len(node.text) + 4, 3 * len(node.below) + 2)
    return layers


def _link(low: _Node, high: _Node) -> _Node:
    low.above.append(high)
    high.below.append(low)
    return high


def _arrange(layers: list[list[_Node]]) -> None:
    """Order each layer so that few lines cross: by the mean place of the neighbours, and keep the best."""

    def mean(nodes: list[_Node], places: dict[_Node, int], otherwise: int) -> float:
        return sum(places[n] for n in nodes) / len(nodes) if nodes else otherwise

    best = [list(layer) for layer in layers]
    fewest = _crossings(layers)
    for sweep in range(SWEEPS):
        upwards = sweep % 2 == 0
        steps = range(1, len(layers)) if upwards else range(len(layers) - 2, -1, -1)
        for i in steps:
            places = {n: k for k, n in enumerate(layers[i - 1 if upwards else i + 1])}
            here = {n: k for k, n in enumerate(layers[i])}
            layers[i].sort(key=lambda n: mean(n.below if upwards else n.above, places, here[n]))
        if (found := _crossings(layers)) < fewest:
            fewest, best = found, [list(layer) for layer in layers]
    layers[:] = best


def _crossings(layers: list[list[_Node]]) -> int:
    count = 0
    for lower, upper in pairwise(layers):
        places = {n: k for k, n in enumerate(upper)}
        ends = [[places[n] for n in node.above] for node in lower]
        count += sum(a > b for i, some in enumerate(ends) for other in ends[i + 1 :] for a in some for b in other)
    return count


def _place(layers: list[list[_Node]]) -> None:
    """Choose columns: each node as near as its layer allows to the middle of those above and below it."""
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wished = []
            for node in layer:
                near = node.below + node.above
                wished.append(sum(n.middle for n in near) / len(near) if near else float(node.middle))
            _spread(layer, wished)
    left = min((n.left for layer in layers for n in layer), default=0)
    for node in (n for layer in layers for n in layer):
        node.middle -= left


def _spread(layer: list[_Node], wished: Sequence[float]) -> None:
    """Give the nodes of a layer the columns nearest to what is wished, in their order, without overlap."""
    offsets = [0]
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + a.width - a.width // 2 + GAP + b.width // 2)
    # Least squares under an order: neighbours that would swap share the mean of their wishes.
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wished, offsets, strict=True):
        total, size = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            more, others = blocks.pop()
            total, size = total + more, size + others
        blocks.append((total, size))
    means = [total / size for total, size in blocks for _ in range(size)]
    for node, mean, offset in zip(layer, means, offsets, strict=True):
        node.middle = round(mean) + offset


def _ports(node: _Node, lower: list[_Node]) -> dict[_Node, int]:
    """Return the column in which each line from below arrives at a node: straight up, or else side by side."""
    lows = sorted(node.below, key=lambda n: n.middle)
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
    # No line may arrive where another one leaves: they would look like one.
    for i, low in enumerate(lows):
        if any(other.middle == columns[i] for other in lower if other is not low):
            columns[i] += 1 if low.middle > columns[i] else -1
    return dict(zip(lows, columns, strict=True))


class _Strip:
    """The lines between two layers: each node below has one horizontal stretch, from which lines lead up."""

    __slots__ = ("arrivals", "aside", "height", "tracks")

    def __init__(self, lower: list[_Node], upper: list[_Node]) -> None:
        self.arrivals: dict[_Node, list[int]] = {low: [] for low in lower if low.above}
        self.aside: list[tuple[_Node, int]] = []
        for node in upper:
            for low, column in _ports(node, lower).items():
                self.arrivals[low].append(column)
                if node.passing and column != node.middle:
                    self.aside.append((node, column))
        self.tracks = _tracks({low: (min(*xs, low.middle), max(*xs, low.middle)) for low, xs in self.arrivals.items()})
        self.height = 1 + max(self.tracks.values(), default=0)

    def draw(self, canvas: Canvas, y: int) -> None:
        """Draw the lines, from ``y`` down; the layers above and below are there already."""
        ways: dict[tuple[int, int], dict[_Node, set[str]]] = {}

        def way(low: _Node, x: int, line: int, directions: str) -> None:
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
            # Where two lines cross, the upright one is drawn over the other.
            directions = max(owners.values(), key=lambda d: "N" in d or "S" in d)
            canvas.put(x, y + line, _TURNS[frozenset(directions)], "line")
        for node, column in self.aside:
            # A long line that had to arrive beside its place goes back to it.
            canvas.put(min(node.middle, column), y - 1, "╰╮" if column > node.middle else "╭╯", "line")


def _join(canvas: Canvas, x: int, y: int, *, up: bool) -> None:
    """Let a line touch the frame at a place, if there is one."""
    character, tag = canvas.at(x, y)
    if character == "═":
        canvas.put(x, y, "╧" if up else "╤", tag)
    elif character == "╌":
        canvas.put(x, y, "┴" if up else "┬", tag)


def _tracks(stretches: dict[_Node, tuple[int, int]]) -> dict[_Node, int]:
    """Give each horizontal stretch a line of its own where it would meet another."""
    tracks: dict[_Node, int] = {}
    for low, (left, right) in sorted(stretches.items(), key=lambda item: item[1]):
        taken = {
            tracks[other]
            for other, (start, end) in stretches.items()
            if other in tracks and start < end and left <= end and start <= right
        }
        tracks[low] = 0 if left == right else next(n for n in range(len(stretches)) if n not in taken)
    return tracks
