"""Finite orders as points: the order of the points is the order, also when it has grown."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.orders import posets
from tidegate.flow.orders.realizer import GAP, canonical, grown, is_faithful, keeps, numbered, realizer
from tidegate.time import Poset


@given(posets(max_size=8))
def test_points_are_ordered_as_elements_are(order: Poset) -> None:
    """By brute force over all pairs; the first axis lists the elements, and there are two at least."""
    order = canonical(order)
    points = numbered(order)
    assert is_faithful(order, points)
    assert sorted(points, key=lambda x: points[x][0]) == list(order.elements)
    assert all(len(point) >= 2 for point in points.values())


@given(posets(max_size=8))
def test_each_extension_extends_the_order(order: Poset) -> None:
    """Whoever is below another comes before it, in each of the extensions."""
    for extension in realizer(order):
        assert sorted(extension) == sorted(order.elements)  # type: ignore[type-var]
        for i, x in enumerate(extension):
            assert not any(order.le(y, x) for y in extension[i + 1 :])


@given(posets(max_size=7), st.randoms(use_true_random=False))
def test_an_order_is_written_down_in_one_way(order: Poset, rng: st.DataObject) -> None:
    """However the pairs come, the elements are listed alike."""
    pairs = [(x, y) for x in order.elements for y in order.elements if order.le(x, y)]
    rng.shuffle(pairs)  # type: ignore[attr-defined]
    again = canonical(Poset(pairs))
    assert again == order
    assert again.elements == canonical(order).elements


@given(posets(max_size=8), st.integers(1, 8))
def test_what_has_grown_keeps_its_points(order: Poset, size: int) -> None:
    """Where there are points for all elements, the old ones have theirs, and the order is that of the points."""
    order = canonical(order)
    old = order.elements[:size]
    small = canonical(Poset([(x, y) for x in old for y in old if order.le(x, y)], elements=old))
    points = numbered(small)
    found = grown(order, points)
    if found is not None:
        assert is_faithful(order, found)
        assert {x: found[x] for x in points} == points


@pytest.mark.parametrize("parent", [lambda i: i * 7 % (i - 1), lambda i: i - 2, lambda i: i - 1 - i % 2])
def test_branches_of_a_tree_can_grow(parent: Callable[[int], int]) -> None:
    """A tree of versions that grows leaf by leaf, wherever: after fifty more there is room."""
    pairs = [("v0", "v1"), ("v0", "v2")]
    points = numbered(canonical(Poset(pairs)))
    for i in range(3, 53):
        pairs.append((f"v{parent(i)}", f"v{i}"))
        order = canonical(Poset(pairs))
        found = grown(order, points)
        assert found is not None
        points = found
    assert is_faithful(order, points)


def test_what_was_ordered_otherwise_has_not_grown() -> None:
    """Old pairs stay, none comes between old elements, and none is gone."""
    points = numbered(Poset([("a", "b"), ("a", "c")]))
    assert grown(Poset([("a", "b"), ("a", "c"), ("c", "d")]), points) is not None
    assert grown(Poset([("a", "b"), ("b", "c")]), points) is None
    assert grown(Poset([("a", "b")]), points) is None


def test_a_realizer_that_lacks_an_extension_is_found_out() -> None:
    """The comparison can fail: with the first axis alone, elements that do not compare would."""
    order = Poset([("a", "b"), ("a", "c")])
    assert not is_faithful(order, {x: (i * GAP,) for i, x in enumerate(order.elements)})


def test_an_order_of_many_elements_is_listed_and_numbered() -> None:
    """As many as there may be: a root with leaves, and a chain."""
    star = canonical(Poset([("root", f"leaf{i:03}") for i in range(299)]))
    assert star.elements[:2] == ("root", "leaf000")
    assert is_faithful(star, numbered(star))
    chain = canonical(Poset([(i, i - 1) for i in range(299, 0, -1)]))
    assert chain.elements == tuple(range(299, -1, -1))
    assert is_faithful(chain, numbered(chain))


def above(pairs: list[tuple[int, int]], size: int) -> list[set[int]]:
    """The elements at or above each of some numbers, by following the pairs, in which the lower number is below."""
    found = [{i} for i in range(size)]
    for i in reversed(range(size)):
        for low, high in pairs:
            if low == i:
                found[i] |= found[high]
    return found


#: Of each 150 that are below, one is not below the one opposite: as many axes as there can be. And a drawn order.
LARGE = {
    "a crown": [(i, 150 + j) for i in range(150) for j in range(150) if i != j],
    "a drawn order": random.Random(7).sample([(i, j) for i in range(300) for j in range(i + 1, 300)], 900),
}


@pytest.mark.parametrize("pairs", LARGE.values(), ids=LARGE)
def test_a_large_order_that_needs_many_axes_is_ordered_by_its_points(pairs: list[tuple[int, int]]) -> None:
    """Neither a tree nor a chain: each of 90,000 pairs compares as paths along the given pairs say."""
    order = Poset(pairs, elements=range(300))
    points = numbered(canonical(order))
    reached = above(pairs, 300)
    assert 10 < len(points[0]) <= 151
    for x in range(300):
        for y in range(300):
            assert all(a <= b for a, b in zip(points[x], points[y], strict=True)) == (y in reached[x])


def test_a_crown_has_one_axis_more_than_it_needs() -> None:
    """The page says how many columns an order takes: a crown of n and n elements, whose dimension is n, has n + 1."""
    for n in (3, 4, 8, 20):
        crown = Poset([(i, n + j) for i in range(n) for j in range(n) if i != j])
        assert len(realizer(canonical(crown))) == n + 1


def test_three_elements_have_no_room_for_a_crown() -> None:
    """Two axes cannot have it, so there are no points rather than wrong ones; without the middle element, they can."""
    points = numbered(Poset([], elements=range(3)))
    pairs = [(i, 3 + j) for i in range(3) for j in range(3) if i != j]
    assert keeps(Poset(pairs), points)
    assert grown(Poset(pairs), points) is None
    smaller = Poset([(low, high) for low, high in pairs if high != 4])
    found = grown(smaller, points)
    assert found is not None
    assert is_faithful(smaller, found)
