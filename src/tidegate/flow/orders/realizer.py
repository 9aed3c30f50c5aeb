"""Finite orders as points: each element gets a number on each of a few axes, and points compare as the elements do.

A linear extension is a list of all elements in which smaller ones come first. A realizer is a few such lists. If two
elements are unrelated, one list has the one first, and another list has the other first. Each list is an axis. So one
element is at or below another exactly if its number is at or below the other's on every axis. The numbers have gaps:
when an order grows, the old elements keep their numbers.

>>> from tidegate.time import Poset
>>> axes = numbered(Poset([("a", "b"), ("a", "c")]))
>>> {x: tuple(n // GAP for n in point) for x, point in axes.items()}
{'a': (0, 0), 'b': (1, 2), 'c': (2, 1)}
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

from tidegate.time import Poset

__all__ = ["GAP", "Points", "canonical", "grown", "is_faithful", "keeps", "numbered", "realizer"]

#: The distance between the numbers of two neighbours in a new order.
GAP = 2**54

#: How many points are tried for the new elements of an order that has grown.
_TRIES = 100_000
#: How often to look for a realizer with few extensions, if the order is small.
_ATTEMPTS = 40

#: The numbers of each element, one for each axis.
Points: TypeAlias = dict[Hashable, tuple[int, ...]]


def canonical(order: Poset) -> Poset:
    """Return the same order with its elements listed in a fixed way, whatever the order in which its pairs were given.

    Elements are listed branch by branch: after an element come those above it of which everything below is listed,
    the least value first. For a tree, this list and one more are a realizer.

    >>> canonical(Poset([("root", "b"), ("root", "a"), ("a", "c"), ("b", "d")])).elements
    ('root', 'a', 'c', 'b', 'd')
    """
    values: list[Any] = sorted(order.elements)
    above = {x: [y for y in values if y != x and order.le(x, y)] for x in values}
    waits = Counter(y for found in above.values() for y in found)
    free = [x for x in reversed(values) if not waits[x]]
    listed: list[Hashable] = []
    while free:
        listed.append(free.pop())
        for y in reversed(above[listed[-1]]):
            waits[y] -= 1
            if not waits[y]:
                free.append(y)
    return Poset([(x, y) for x, found in above.items() for y in found], elements=listed)


def realizer(order: Poset) -> list[tuple[Hashable, ...]]:
    """Return linear extensions, the first being `Poset.elements`, such that x <= y if x is before y in all of them.

    There are at least two. A few attempts are made, and the one with the fewest is returned; to find the fewest
    possible is a hard problem.

    >>> realizer(Poset([("a", "b"), ("a", "c")]))
    [('a', 'b', 'c'), ('a', 'c', 'b')]
    """
    attempts = (_attempt(order, random.Random(seed)) for seed in range(_ATTEMPTS if len(order.elements) < 40 else 1))
    best = next(attempts)
    for found in attempts:
        if len(best) == 2:
            break
        best = min(best, found, key=len)
    return best if len(best) > 1 else best * 2


def _attempt(order: Poset, chance: random.Random) -> list[tuple[Hashable, ...]]:
    """Return a realizer. Each extension reverses many of the unrelated pairs that all before it list the same way."""
    elements = order.elements
    found = [elements]
    one_way = [
        (i, j) for i, x in enumerate(elements) for j in range(i + 1, len(elements)) if not order.le(x, elements[j])
    ]
    below = [sum(1 << i for i, x in enumerate(elements) if order.le(x, y)) for y in elements]
    while one_way:
        chance.shuffle(one_way)
        extension = _reversing(
            below, sorted(one_way, key=lambda pair: pair[1] - pair[0]) if len(found) % 2 else one_way
        )
        place = {i: n for n, i in enumerate(extension)}
        found.append(tuple(elements[i] for i in extension))
        one_way = [(i, j) for i, j in one_way if place[i] < place[j]]
    return found


def _reversing(below: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return a linear extension of numbered elements that has j before i for many pairs (i, j), and for at least one.

    ``below`` has a number for each element, whose bits are the elements at or below it.
    """
    before = list(below)
    for i, j in pairs:
        # If i must already be before j, j cannot be before i. If j is already before i, there is nothing to do.
        if not before[j] >> i & 1 and not before[i] >> j & 1:
            before = [bits | before[j] if bits >> i & 1 else bits for bits in before]
    return sorted(range(len(before)), key=lambda i: (before[i].bit_count(), i))


def numbered(order: Poset) -> Points:
    """Return the numbers of all elements; the first axis lists them as `Poset.elements` does."""
    places = [{x: i * GAP for i, x in enumerate(extension)} for extension in realizer(order)]
    return {x: tuple(place[x] for place in places) for x in order.elements}


def is_faithful(order: Poset, points: Points) -> bool:
    """Whether all elements have points, and the points compare as the elements do."""
    return set(points) == set(order.elements) and _agree(order, points)


def grown(order: Poset, points: Points) -> Points | None:
    """Return the numbers of all elements of an order that has grown; old elements keep theirs.

    None if that is impossible: the old elements are ordered differently now, or there is no room.
    """
    if not keeps(order, points):
        return None
    known = {x: points[x] for x in order.elements if x in points}
    new = [x for x in order.elements if x not in known]
    return _with_all(order, new, known, iter(range(_TRIES)))


def keeps(order: Poset, points: Points) -> bool:
    """Whether an order has all elements that have points, and they are ordered as their points are.

    >>> points = numbered(Poset([("a", "b")]))
    >>> keeps(Poset([("a", "b"), ("b", "c")]), points), keeps(Poset([("b", "a")]), points)
    (True, False)
    """
    return all(map(order.contains, points)) and _agree(order, points)


def _agree(order: Poset, points: Points) -> bool:
    """Whether the points compare as their elements do."""
    return all(
        order.le(x, y) == all(a <= b for a, b in zip(points[x], points[y], strict=True)) for x in points for y in points
    )


def _with_all(order: Poset, new: Sequence[Hashable], known: Points, tries: Iterator[int]) -> Points | None:
    """Return the numbers of all elements after placing the new ones, one after the other; None if that fails."""
    if not new:
        return known
    for point in _places(order, new[0], known, tries):
        found = _with_all(order, new[1:], known | {new[0]: point}, tries)
        if found is not None:
            return found
    return None


def _places(order: Poset, x: Hashable, known: Points, tries: Iterator[int]) -> Iterator[tuple[int, ...]]:
    """Return points that a new element can have: unrelated to those of all elements that it is unrelated to."""
    apart = [point for y, point in known.items() if not order.comparable(x, y)]
    axes = range(len(next(iter(known.values()))))
    for point in product(*(list(_free(order, x, known, axis)) for axis in axes)):
        if next(tries, None) is None:
            return
        above = (any(a > b for a, b in zip(point, other, strict=True)) for other in apart)
        below = (any(a < b for a, b in zip(point, other, strict=True)) for other in apart)
        if all(above) and all(below):
            yield point


def _free(order: Poset, x: Hashable, known: Points, axis: int) -> Iterator[int]:
    """Return the numbers that an element can have on an axis: those at the end first, then from below."""
    taken = sorted(point[axis] for point in known.values())
    low = max((point[axis] for y, point in known.items() if order.le(y, x)), default=None)
    high = min((point[axis] for y, point in known.items() if order.le(x, y)), default=None)
    if high is None:
        yield taken[-1] + GAP
    gaps = list(zip([taken[0] - 2 * GAP, *taken], taken, strict=False))
    for a, b in gaps:
        inside = (low is None or a >= low) and (high is None or b <= high)
        if inside and b - a > 1:
            yield (a + b) // 2
