"""Signed multisets: every element has a count, which may be negative."""

from __future__ import annotations

from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["ZMultiset"]

X = TypeVar("X", bound=Hashable)
Y = TypeVar("Y", bound=Hashable)


class ZMultiset(Generic[X]):
    """An immutable multiset with integer counts; elements with count zero are not in it.

    >>> a = ZMultiset({"x": 2, "y": -1})
    >>> b = ZMultiset(["x", "y"])
    >>> a + b, a - b
    (ZMultiset({'x': 3}), ZMultiset({'x': 1, 'y': -2}))
    >>> a["x"], a["z"], "y" in a
    (2, 0, True)
    """

    __slots__ = ("_counts", "_hash")

    def __init__(self, counts: Mapping[X, int] | Iterable[X] = ()) -> None:
        found: dict[X, int] = {}
        if isinstance(counts, Mapping):
            found = {x: n for x, n in counts.items() if n}
        else:
            for x in counts:
                found[x] = found.get(x, 0) + 1
        self._counts = found
        self._hash: int | None = None

    def __getitem__(self, x: X) -> int:
        return self._counts.get(x, 0)

    def __contains__(self, x: object) -> bool:
        return x in self._counts

    def __iter__(self) -> Iterator[X]:
        return iter(self._counts)

    def __len__(self) -> int:
        """Return how many distinct elements have a count."""
        return len(self._counts)

    def items(self) -> ItemsView[X, int]:
        """Return the elements with their counts."""
        return self._counts.items()

    def __add__(self, other: ZMultiset[X]) -> ZMultiset[X]:
        counts = dict(self._counts)
        for x, n in other._counts.items():
            counts[x] = counts.get(x, 0) + n
        return ZMultiset(counts)

    def __neg__(self) -> ZMultiset[X]:
        return ZMultiset({x: -n for x, n in self._counts.items()})

    def __sub__(self, other: ZMultiset[X]) -> ZMultiset[X]:
        return self + -other

    def add(self, x: X, n: int = 1) -> ZMultiset[X]:
        """Return this multiset with ``n`` more of ``x``."""
        return ZMultiset({**self._counts, x: self[x] + n})

    def positive(self) -> ZMultiset[X]:
        """Return the part with positive counts."""
        return ZMultiset({x: n for x, n in self._counts.items() if n > 0})

    def negative(self) -> ZMultiset[X]:
        """Return the part with negative counts; they stay negative."""
        return ZMultiset({x: n for x, n in self._counts.items() if n < 0})

    def map(self, f: Callable[[X], Y]) -> ZMultiset[Y]:
        """Return the image under ``f``; counts of elements that become equal add up.

        >>> ZMultiset({1: 2, -1: 3}).map(abs)
        ZMultiset({1: 5})
        """
        counts: dict[Y, int] = {}
        for x, n in self._counts.items():
            y = f(x)
            counts[y] = counts.get(y, 0) + n
        return ZMultiset(counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZMultiset) and self._counts == other._counts

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._counts.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"ZMultiset({self._counts!r})"
