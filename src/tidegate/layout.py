"""Layered layouts of graphs without cycles: the layer of each node, its place in it, and its column.

All pictures of graphs use it: flows, whose unit is a pixel, and Hasse diagrams, whose unit is a character. Edges lead
from one layer to the next. A longer edge has a place of its own in each layer that it passes through.

>>> layers, paths = layered("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")])
>>> [[f"to {node.key}" if node.passing else node.key for node in layer] for layer in layers]
[['a'], ['b', 'd', 'to c'], ['c']]
>>> [len(path) for path in paths]
[2, 2, 3, 2]
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

__all__ = ["Node", "arrange", "crossings", "depths", "layered", "place"]

K = TypeVar("K", bound=Hashable)

#: How often orders and columns are improved.
SWEEPS = 12


@dataclass(eq=False, slots=True)
class Node(Generic[K]):
    """A place in a layer: that of a key; or the point where a long edge to that key passes through."""

    layer: int
    key: K
    passing: bool = False
    width: int = 3
    middle: int = 0
    before: list[Node[K]] = field(default_factory=list)
    after: list[Node[K]] = field(default_factory=list)

    @property
    def left(self) -> int:
        """The first column that it takes."""
        return self.middle - self.width // 2


def depths(keys: Iterable[K], edges: Iterable[tuple[K, K]]) -> dict[K, int]:
    """Return the least layer for each key such that every edge leads to a later one.

    ``keys`` come in an order in which every edge leads forwards.

    >>> depths("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    {'a': 0, 'b': 1, 'c': 2}
    """
    into: dict[K, list[K]] = {}
    for start, end in edges:
        into.setdefault(end, []).append(start)
    found: dict[K, int] = {}
    for key in keys:
        found[key] = 1 + max((found[start] for start in into.get(key, ())), default=-1)
    return found


def layered(
    keys: Sequence[K], edges: Sequence[tuple[K, K]], depth: Mapping[K, int] | None = None
) -> tuple[list[list[Node[K]]], list[list[Node[K]]]]:
    """Return the nodes of each layer, and for each edge the nodes from its start to its end.

    ``depth`` gives the layer of each key, if it is not the least one.
    """
    depth = depths(keys, edges) if depth is None else depth
    layers: list[list[Node[K]]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    nodes = {key: Node(depth[key], key) for key in keys}
    for key in keys:
        layers[depth[key]].append(nodes[key])
    paths = []
    for start, end in edges:
        path = [nodes[start]]
        for layer in range(depth[start] + 1, depth[end]):
            path.append(Node(layer, end, passing=True))
            layers[layer].append(path[-1])
        path.append(nodes[end])
        for one, other in pairwise(path):
            one.after.append(other)
            other.before.append(one)
        paths.append(path)
    return layers, paths


def arrange(layers: list[list[Node[K]]]) -> None:
    """Order each layer so that few edges cross: by the mean place of the neighbours, then by swaps that help."""
    best = [list(layer) for layer in layers]
    fewest = crossings(layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        forwards = sweep % 2 == 0
        for i in range(1, len(layers)) if forwards else range(len(layers) - 2, -1, -1):
            _by_neighbours(layers[i], layers[i - 1 if forwards else i + 1], forwards=forwards)
        if (found := crossings(layers)) < fewest:
            fewest, best = found, [list(layer) for layer in layers]
    layers[:] = best
    while fewest and _swap(layers):
        pass


def _by_neighbours(layer: list[Node[K]], other: list[Node[K]], *, forwards: bool) -> None:
    places = {node: i for i, node in enumerate(other)}
    here = {node: i for i, node in enumerate(layer)}

    def mean(node: Node[K]) -> float:
        near = node.before if forwards else node.after
        return sum(places[n] for n in near) / len(near) if near else here[node]

    layer.sort(key=mean)


def _swap(layers: list[list[Node[K]]]) -> bool:
    """Swap neighbours where fewer edges cross then; return whether any were swapped."""
    swapped = False
    for number, layer in enumerate(layers):
        beside = layers[max(0, number - 1) : number] + layers[number + 1 : number + 2]
        places = {node: i for other in beside for i, node in enumerate(other)}
        for i in range(len(layer) - 1):
            one, other = layer[i], layer[i + 1]
            if _crossed(one, other, places) > _crossed(other, one, places):
                layer[i], layer[i + 1] = other, one
                swapped = True
    return swapped


def _crossed(left: Node[K], right: Node[K], places: Mapping[Node[K], int]) -> int:
    """Return how many edges of two nodes of a layer cross if one of them is left of the other."""
    sides = ((left.before, right.before), (left.after, right.after))
    return sum(places[a] > places[b] for some, others in sides for a in some for b in others)


def crossings(layers: Sequence[Sequence[Node[K]]]) -> int:
    """Return how many pairs of edges cross."""
    count = 0
    for one, other in pairwise(layers):
        places = {node: i for i, node in enumerate(other)}
        passed: list[int] = []
        for node in one:
            ends = sorted(places[n] for n in node.after)
            count += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return count


def place(layers: Sequence[Sequence[Node[K]]], *, gap: int) -> None:
    """Choose columns: each node as near to the middle of its neighbours as its layer allows; the first column is 0.

    Nodes of a layer are at least ``gap`` apart. The nodes of a chain, such as those of a long edge, are in one column
    if there is room.
    """
    chains = _chains(layers)
    chain_of = {node: chain for chain in chains for node in chain}
    at: dict[Node[K], float] = dict.fromkeys(chain_of, 0.0)
    # A little more than the gap, to leave room for rounding columns to whole numbers.
    wide = gap + gap // 10
    for layer in layers:
        _spread(layer, [0.0] * len(layer), wide, at)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _spread(layer, [_mean([at[n] for n in _near(chain_of[node])]) for node in layer], wide, at)
    for _ in range(4 * SWEEPS):
        # Put each chain into one column, then move nodes apart. Repeated, this comes close to satisfying both.
        for chain in chains:
            at |= dict.fromkeys(chain, _mean([at[node] for node in chain]))
        for layer in layers:
            _spread(layer, [at[node] for node in layer], wide, at)
    for layer in layers:
        _spread(layer, [round(at[node]) for node in layer], gap, at)
        for node in layer:
            node.middle = round(at[node])
    _straighten(layers, chains, gap)
    left = min((node.left for layer in layers for node in layer), default=0)
    for node in chain_of:
        node.middle -= left


def _chains(layers: Sequence[Sequence[Node[K]]]) -> list[list[Node[K]]]:
    """Return all nodes as chains: in a chain, each node has one successor, of which it is the only predecessor."""
    found: dict[Node[K], list[Node[K]]] = {}
    for node in (node for layer in layers for node in layer):
        alone = len(node.before) == 1 and len(node.before[0].after) == 1
        chain = found[node.before[0]] if alone else []
        chain.append(node)
        found[node] = chain
    return list({id(chain): chain for chain in found.values()}.values())


def _near(chain: Sequence[Node[K]]) -> Sequence[Node[K]]:
    """Return the nodes before and after a chain, between which it should be; the chain itself if there are none."""
    return [*chain[0].before, *chain[-1].after] or chain


def _mean(columns: Sequence[float]) -> float:
    return sum(columns) / len(columns)


def _spread(layer: Sequence[Node[K]], wished: Sequence[float], gap: int, at: dict[Node[K], float]) -> None:
    """Give the nodes of a layer the columns nearest to the wished ones, in their order and without overlap."""
    offsets = [0] if layer else []
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + a.width - a.width // 2 + gap + b.width // 2)
    # Least squares with a fixed order (isotonic regression): neighbours that would swap get the mean of their wishes.
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wished, offsets, strict=True):
        total, size = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            more, others = blocks.pop()
            total, size = total + more, size + others
        blocks.append((total, size))
    means = [total / size for total, size in blocks for _ in range(size)]
    at |= {node: mean + offset for node, mean, offset in zip(layer, means, offsets, strict=True)}


def _straighten(layers: Sequence[Sequence[Node[K]]], chains: Sequence[Sequence[Node[K]]], gap: int) -> None:
    """Put the nodes of each chain into one column, in the middle of its neighbours, if all of them have room there."""
    beside = {node: pair for layer in layers for node, pair in zip(layer, _beside(layer), strict=True)}
    for sweep in range(3):
        for chain in chains:
            least, most = float("-inf"), float("inf")
            for node in chain:
                left, right = beside[node]
                if left is not None:
                    least = max(least, left.left + left.width + gap + node.width // 2)
                if right is not None:
                    most = min(most, right.left - gap - node.width + node.width // 2)
            if least <= most:
                # In the first sweep, chains stay where they are, so that none takes the room that another needs.
                wished = _mean([node.middle for node in (_near(chain) if sweep else chain)])
                column = round(min(max(wished, least), most))
                for node in chain:
                    node.middle = column


def _beside(layer: Sequence[Node[K]]) -> list[tuple[Node[K] | None, Node[K] | None]]:
    """Return the left and the right neighbour of each node of a layer."""
    return list(zip([None, *layer[:-1]], [*layer[1:], None], strict=True))
