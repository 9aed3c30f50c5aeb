"""Layered layouts: every edge leads to a later layer, few edges cross, and what follows alone is in one column."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate import layout
from tidegate.layout import Node, arrange, crossings, layered, place


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    keys = "abcdefghij"[: draw(st.integers(1, 10))]
    ends = [(a, b) for i, a in enumerate(keys) for b in keys[i + 1 :]]
    return keys, draw(st.lists(st.sampled_from(ends), unique=True, max_size=14)) if ends else []


def laid_out(keys: str, edges: list[tuple[str, str]], gap: int = 3) -> list[list[Node[str]]]:
    layers, _ = layered(keys, edges)
    for i, node in enumerate(node for layer in layers for node in layer):
        node.width = 1 if node.passing else 3 + i % 5
    arrange(layers)
    place(layers, gap=gap)
    return layers


@given(graphs())
def test_every_edge_is_a_path_through_all_layers_between(graph: tuple[str, list[tuple[str, str]]]) -> None:
    """From its start to its end, one layer at a time, over points that are its own."""
    keys, edges = graph
    layers, paths = layered(keys, edges)
    assert sorted(node.key for layer in layers for node in layer if not node.passing) == list(keys)
    for (start, end), path in zip(edges, paths, strict=True):
        assert (path[0].key, path[-1].key) == (start, end)
        assert [b.layer - a.layer for a, b in pairwise(path)] == [1] * (len(path) - 1)
        assert all(node.passing for node in path[1:-1])
        assert all(b in a.after and a in b.before for a, b in pairwise(path))


@given(graphs(), st.integers(0, 20))
def test_nodes_of_a_layer_are_apart(graph: tuple[str, list[tuple[str, str]]], gap: int) -> None:
    """By the gap at least, in the order of the layer; and the first column is used."""
    layers = laid_out(*graph, gap=gap)
    for layer in layers:
        assert all(a.left + a.width + gap <= b.left for a, b in pairwise(layer))
    assert min(node.left for layer in layers for node in layer) == 0


def fewest(layers: list[list[Node[str]]]) -> int:
    """Return the least number of crossings of all orders there are."""
    return min(crossings(orders) for orders in product(*(list(permutations(layer)) for layer in layers)))


def crossed(layers: list[list[Node[str]]]) -> int:
    """Return how many pairs of edges cross, by looking at each of them."""
    count = 0
    for one, other in pairwise(layers):
        ways = [(i, other.index(end)) for i, node in enumerate(one) for end in node.after]
        count += sum((a - c) * (b - d) < 0 for n, (a, b) in enumerate(ways) for c, d in ways[:n])
    return count


@given(graphs())
def test_arranging_never_makes_it_worse(graph: tuple[str, list[tuple[str, str]]]) -> None:
    """There are not more crossings than before, counted in another way; and no two neighbours had better be swapped."""
    layers, _ = layered(*graph)
    before = crossed(layers)
    arrange(layers)
    found = crossed(layers)
    assert crossings(layers) == found <= before
    for layer in layers:
        for i in range(len(layer) - 1):
            layer[i : i + 2] = layer[i + 1], layer[i]
            assert crossed(layers) >= found
            layer[i : i + 2] = layer[i + 1], layer[i]


TANGLES = {
    "two that cross": ("abxy", [("a", "y"), ("b", "x")]),
    "a fan and a chain": ("abcdefg", [("a", "d"), ("b", "c"), ("a", "e"), ("b", "f"), ("c", "g"), ("f", "g")]),
    "a tree": ("abcdefg", [("a", "b"), ("a", "c"), ("c", "d"), ("b", "e"), ("c", "f"), ("b", "g")]),
    "a long edge": ("abecd", [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "e"), ("e", "d")]),
    "all pairs": ("abcxyz", [(a, x) for a in "abc" for x in "xyz"]),
}


@pytest.mark.parametrize("name", TANGLES)
def test_as_few_edges_cross_as_can(name: str) -> None:
    """For small graphs, no other order of the layers has fewer crossings."""
    layers, _ = layered(*TANGLES[name])
    least = fewest(layers)
    arrange(layers)
    assert crossings(layers) == least


def test_an_order_that_is_left_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sweeps and swaps, the test above finds edges that need not cross."""
    monkeypatch.setattr(layout, "SWEEPS", 0)
    monkeypatch.setattr(layout, "_swap", lambda layers: False)
    wrong = set()
    for name, (keys, edges) in TANGLES.items():
        layers, _ = layered(keys, edges)
        least = fewest(layers)
        arrange(layers)
        wrong |= {name} if crossings(layers) > least else set()
    assert wrong == TANGLES.keys() - {"all pairs"}


def test_what_follows_alone_is_in_one_column() -> None:
    """Long edges and chains are straight, also where boxes beside them are wide."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("e", "f"), ("a", "g"), ("d", "h"), ("f", "h"), ("g", "h")]
    layers, _ = layered("abcdefgh", edges)
    for node in (node for layer in layers for node in layer):
        node.width = {"b": 40, "f": 60, "c": 10}.get(node.key, 20) if not node.passing else 2
    arrange(layers)
    place(layers, gap=4)
    columns: dict[str, set[int]] = {}
    spine_of = {"b": "b", "c": "b", "d": "b", "e": "e", "f": "e", "g": "g"}
    for node in (node for layer in layers for node in layer):
        if not node.passing and node.key in spine_of:
            columns.setdefault(spine_of[node.key], set()).add(node.middle)
    assert {name: len(found) for name, found in columns.items()} == {"b": 1, "e": 1, "g": 1}
