"""Finite partial orders, given by some of their pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from tidegate.errors import TidegateError
from tidegate.time.order import Bound, Order, le_bound
from tidegate.time.summary import Moves, Summaries

__all__ = ["CyclicOrder", "Poset"]


class CyclicOrder(TidegateError, ValueError):
    """The pairs given for a `Poset` form a cycle."""


class Poset(Order[Hashable]):
    """A finite order: the least one that contains the given pairs ``(lower, upper)``.

    Elements that are comparable to no other are given as ``elements``.

    >>> order = Poset([("t0", "t1"), ("t1", "t4"), ("t0", "t2")])
    >>> order.le("t0", "t4"), order.comparable("t1", "t2")
    (True, False)
    >>> Poset([("a", "b"), ("b", "c"), ("c", "a")])
    Traceback (most recent call last):
    ...
    tidegate.time.poset.CyclicOrder: expected a partial order, got a cycle: 'c' < 'a' < 'b' < 'c'
      hint: leave out one of these pairs
    """

    __slots__ = ("_above", "_index", "_pairs", "elements", "total")

    def __init__(self, pairs: Iterable[tuple[Hashable, Hashable]], *, elements: Iterable[Hashable] = ()) -> None:
        direct: dict[Hashable, list[Hashable]] = {x: [] for x in elements}
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"expected pairs (lower, upper) in Poset(…), got {pair!r}")
            lower, upper = pair
            direct.setdefault(lower, [])
            direct.setdefault(upper, [])
            if lower != upper:
                direct[lower].append(upper)
        #: The elements, in a linear extension of the order.
        self.elements: tuple[Hashable, ...] = tuple(_topological(direct))
        self._index = {x: i for i, x in enumerate(self.elements)}
        # The set of elements at or above each one, as the bits of an integer.
        self._above: dict[Hashable, int] = {}
        for x in reversed(self.elements):
            mask = 1 << self._index[x]
            for y in direct[x]:
                mask |= self._above[y]
            self._above[x] = mask
        # All pairs of the order: what makes two of them equal. A frozenset remembers its hash.
        self._pairs = frozenset((a, b) for a in self.elements for b in self.elements if self.le(a, b))
        self.total = all(self.comparable(a, b) for a, b in zip(self.elements, self.elements[1:], strict=False))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poset) and self._pairs == other._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        covers = [(a, b) for a in self.elements for b in self.successors(a)]
        alone = [x for x in self.elements if not any(x in pair for pair in covers)]
        return f"Poset({covers!r}, elements={alone!r})" if alone else f"Poset({covers!r})"

    def le(self, a: Hashable, b: Hashable) -> bool:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return le_bound(a, b)
        try:
            return bool(self._above[a] >> self._index[b] & 1)
        except (KeyError, TypeError):
            raise self.not_a_time(b if self.contains(a) else a) from None

    def contains(self, t: object, *, extended: bool = False) -> bool:
        if isinstance(t, Bound):
            return extended
        try:
            return t in self._index
        except TypeError:
            return False

    def not_a_time(self, t: object) -> Any:
        # A message with all pairs of a large order would hide the value that is wrong.
        error = super().not_a_time(t)
        error.what = f"expected one of the {len(self.elements)} elements of a Poset, got {t!r} ({type(t).__name__})"
        return error

    def _hint(self) -> str:
        shown = ", ".join(map(repr, self.elements[:8]))
        return f"the elements are {shown}" + (", …" if len(self.elements) > 8 else "")

    def key(self, t: Hashable) -> Any:
        return t if isinstance(t, Bound) else self._index[t]

    @property
    def summaries(self) -> Summaries[Hashable, Any]:
        return Moves(self)

    def tops(self) -> list[Hashable]:
        return self._ends(self.elements, greatest=True)

    def bottoms(self) -> list[Hashable]:
        return self._ends(self.elements, greatest=False)

    def not_above(self, f: Hashable) -> list[Hashable]:
        return self._ends((x for x in self.elements if not self.le(f, x)), greatest=True)

    def not_below(self, c: Hashable) -> list[Hashable]:
        return self._ends((x for x in self.elements if not self.le(x, c)), greatest=False)

    def lower_bounds(self, a: Hashable, b: Hashable) -> list[Hashable]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [a if self.le(a, b) else b]
        return self._ends((x for x in self.elements if self.le(x, a) and self.le(x, b)), greatest=True)

    def upper_bounds(self, a: Hashable, b: Hashable) -> list[Hashable]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [b if self.le(a, b) else a]
        return self._ends((x for x in self.elements if self.le(a, x) and self.le(b, x)), greatest=False)

    def _ends(self, xs: Iterable[Hashable], *, greatest: bool) -> list[Hashable]:
        return sorted(self._extremal(list(xs), greatest=greatest), key=self.key)


def _topological(direct: dict[Hashable, list[Hashable]]) -> list[Hashable]:
    """Order the elements from below to above; raise an error that names the cycle if there is one."""
    done: dict[Hashable, None] = {}
    path: dict[Hashable, None] = {}
    for root in reversed(direct):
        stack: list[tuple[Hashable, bool]] = [(root, False)]
        while stack:
            x, leaving = stack.pop()
            if leaving:
                path.pop(x)
                done[x] = None
            elif x in path:
                walked = list(path)
                cycle = [*walked[walked.index(x) :], x]
                raise CyclicOrder(
                    f"expected a partial order, got a cycle: {' < '.join(map(repr, cycle))}",
                    hint="leave out one of these pairs",
                )
            elif x not in done:
                path[x] = None
                stack.append((x, True))
                stack += ((y, False) for y in reversed(direct[x]))
    return list(reversed(done))
