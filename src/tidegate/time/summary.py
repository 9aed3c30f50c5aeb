"""Summaries: the least change to a time along a path, how two follow each other, and what time results.

>>> from tidegate.time import Nat, Product
>>> summaries = Product(Nat(), Nat()).summaries
>>> summaries.neutral
(0, 0)
>>> summaries.results_in((3, 4), (0, 1))
(3, 5)
>>> summaries.followed_by((0, 1), (2, 0))
(2, 1)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tidegate.errors import BadValue
from tidegate.time.order import TOP, Bound

if TYPE_CHECKING:
    from tidegate.time.poset import Poset

__all__ = ["Summaries"]

T = TypeVar("T", bound=Hashable)
S = TypeVar("S", bound=Hashable)


class Summaries(ABC, Generic[T, S]):
    """The summaries of an order: monotone maps that never lower a time, with a neutral one and composition."""

    @property
    @abstractmethod
    def neutral(self) -> S:
        """The summary that changes nothing."""

    @abstractmethod
    def followed_by(self, first: S, second: S) -> S:
        """Return the summary of a path that goes through ``first`` and then through ``second``."""

    @abstractmethod
    def results_in(self, t: T, s: S) -> T:
        """Return the least time that ``t`` becomes along ``s``. `TOP` stays: nothing comes after it."""

    @abstractmethod
    def le(self, a: S, b: S) -> bool:
        """Return whether for every time the result of ``a`` is at or below that of ``b``."""

    @abstractmethod
    def lt_everywhere(self, a: S, b: S) -> bool:
        """Return whether for every time the result of ``a`` is strictly below that of ``b``."""

    @abstractmethod
    def contains(self, s: object) -> bool:
        """Return whether ``s`` is a summary of this order."""

    def strict(self, s: S) -> bool:  # noqa: ARG002
        """Return whether ``s`` keeps times apart: ``t < u`` gives results that are ``<`` too."""
        return True

    def advances(self, s: S) -> bool:
        """Return whether ``s`` strictly increases every time."""
        return self.lt_everywhere(self.neutral, s)

    def check(self, s: object) -> None:
        """Raise `BadValue` unless ``s`` is a summary of this order."""
        if not self.contains(s):
            raise BadValue(f"expected a summary, {self._expected()}; got {s!r} ({type(s).__name__})")

    @abstractmethod
    def _expected(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Steps(Summaries[int, int]):
    """Summaries of integers: how many to add."""

    @property
    def neutral(self) -> int:
        return 0

    def followed_by(self, first: int, second: int) -> int:
        return first + second

    def results_in(self, t: int, s: int) -> int:
        return t if isinstance(t, Bound) else t + s

    def le(self, a: int, b: int) -> bool:
        return a <= b

    def lt_everywhere(self, a: int, b: int) -> bool:
        return a < b

    def contains(self, s: object) -> bool:
        return isinstance(s, int) and not isinstance(s, bool) and s >= 0

    def _expected(self) -> str:
        return "an integer of at least 0"


@dataclass(frozen=True, slots=True)
class Spans(Summaries[date, timedelta]):
    """Summaries of event time: the span to add, a multiple of the unit."""

    unit: timedelta

    @property
    def neutral(self) -> timedelta:
        return timedelta(0)

    def followed_by(self, first: timedelta, second: timedelta) -> timedelta:
        return first + second

    def results_in(self, t: date, s: timedelta) -> date:
        if isinstance(t, Bound):
            return t
        try:
            return t + s
        except OverflowError:
            return cast(date, TOP)

    def le(self, a: timedelta, b: timedelta) -> bool:
        return a <= b

    def lt_everywhere(self, a: timedelta, b: timedelta) -> bool:
        return a < b

    def contains(self, s: object) -> bool:
        return isinstance(s, timedelta) and s >= timedelta(0) and not s % self.unit

    def _expected(self) -> str:
        return f"a timedelta of at least 0 in steps of {self.unit}"


class Componentwise(Summaries[tuple[Any, ...], tuple[Any, ...]]):
    """Summaries of tuples: one for each component."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Summaries[Any, Any], ...]) -> None:
        self.parts = parts

    @property
    def neutral(self) -> tuple[Any, ...]:
        return tuple(p.neutral for p in self.parts)

    def followed_by(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(p.followed_by(a, b) for p, a, b in zip(self.parts, first, second, strict=True))

    def results_in(self, t: tuple[Any, ...], s: tuple[Any, ...]) -> tuple[Any, ...]:
        if isinstance(t, Bound):
            return t
        return tuple(p.results_in(x, y) for p, x, y in zip(self.parts, t, s, strict=True))

    def le(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return all(p.le(x, y) for p, x, y in zip(self.parts, a, b, strict=True))

    def lt_everywhere(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return self.le(a, b) and any(p.lt_everywhere(x, y) for p, x, y in zip(self.parts, a, b, strict=True))

    def contains(self, s: object) -> bool:
        return (
            isinstance(s, tuple)
            and len(s) == len(self.parts)
            and all(p.contains(x) for p, x in zip(self.parts, s, strict=True))
        )

    def strict(self, s: tuple[Any, ...]) -> bool:
        return all(p.strict(x) for p, x in zip(self.parts, s, strict=True))

    def _expected(self) -> str:
        return f"a tuple of {len(self.parts)}: " + "; ".join(p._expected() for p in self.parts)


class LexicographicSummaries(Componentwise):
    """Summaries of a lexicographic order: one for each component. All but the last are strict, to keep the order."""

    __slots__ = ()

    def le(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return self._decide(a, b, undecided=True)

    def lt_everywhere(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return self._decide(a, b, undecided=False)

    def _decide(self, a: tuple[Any, ...], b: tuple[Any, ...], *, undecided: bool) -> bool:
        for p, x, y in zip(self.parts, a, b, strict=True):
            if p.lt_everywhere(x, y):
                return True
            if not p.le(x, y):
                return False
        return undecided

    def contains(self, s: object) -> bool:
        return super().contains(s) and all(
            p.strict(x) for p, x in zip(self.parts[:-1], cast(tuple[Any, ...], s)[:-1], strict=True)
        )


class SumSummaries(Summaries[Any, tuple[Any, Any]]):
    """Summaries of a disjoint sum: a pair, the first for the left side and the second for the right."""

    __slots__ = ("left", "right")

    def __init__(self, left: Summaries[Any, Any], right: Summaries[Any, Any]) -> None:
        self.left = left
        self.right = right

    @property
    def neutral(self) -> tuple[Any, Any]:
        return (self.left.neutral, self.right.neutral)

    def followed_by(self, first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
        return (self.left.followed_by(first[0], second[0]), self.right.followed_by(first[1], second[1]))

    def results_in(self, t: Any, s: tuple[Any, Any]) -> Any:
        if isinstance(t, Bound):
            return t
        side, change = (self.left, s[0]) if t.is_left else (self.right, s[1])
        return type(t)(side.results_in(t.t, change))

    def le(self, a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
        return self.left.le(a[0], b[0]) and self.right.le(a[1], b[1])

    def lt_everywhere(self, a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
        return self.left.lt_everywhere(a[0], b[0]) and self.right.lt_everywhere(a[1], b[1])

    def contains(self, s: object) -> bool:
        return isinstance(s, tuple) and len(s) == 2 and self.left.contains(s[0]) and self.right.contains(s[1])

    def strict(self, s: tuple[Any, Any]) -> bool:
        return self.left.strict(s[0]) and self.right.strict(s[1])

    def _expected(self) -> str:
        return f"a pair, for the left side {self.left._expected()}, for the right side {self.right._expected()}"


class Moves(Summaries[Any, frozenset[tuple[Any, Any]]]):
    """Summaries of a finite order: the set of ``(from, to)`` for the elements that move; the others stay."""

    __slots__ = ("order",)

    def __init__(self, order: Poset) -> None:
        self.order = order

    @property
    def neutral(self) -> frozenset[tuple[Any, Any]]:
        return frozenset()

    def followed_by(
        self, first: frozenset[tuple[Any, Any]], second: frozenset[tuple[Any, Any]]
    ) -> frozenset[tuple[Any, Any]]:
        ends = {x: self.results_in(self.results_in(x, first), second) for x in self.order.elements}
        return frozenset((x, y) for x, y in ends.items() if x != y)

    def results_in(self, t: Any, s: frozenset[tuple[Any, Any]]) -> Any:
        return dict(s).get(t, t)

    def le(self, a: frozenset[tuple[Any, Any]], b: frozenset[tuple[Any, Any]]) -> bool:
        return all(self.order.le(self.results_in(x, a), self.results_in(x, b)) for x in self.order.elements)

    def lt_everywhere(self, a: frozenset[tuple[Any, Any]], b: frozenset[tuple[Any, Any]]) -> bool:
        return all(self.order.lt(self.results_in(x, a), self.results_in(x, b)) for x in self.order.elements)

    def contains(self, s: object) -> bool:
        if not isinstance(s, frozenset) or not all(isinstance(p, tuple) and len(p) == 2 for p in s):
            return False
        moves = dict(s)
        elements = self.order.elements
        if len(moves) != len(s) or not set(moves) | set(moves.values()) <= set(elements):
            return False
        inflates = all(self.order.lt(x, y) for x, y in moves.items())
        return inflates and all(
            self.order.le(moves.get(x, x), moves.get(y, y))
            for x, y in product(elements, repeat=2)
            if self.order.le(x, y)
        )

    def strict(self, s: frozenset[tuple[Any, Any]]) -> bool:
        pairs = product(self.order.elements, repeat=2)
        return all(self.order.lt(self.results_in(x, s), self.results_in(y, s)) for x, y in pairs if self.order.lt(x, y))

    def _expected(self) -> str:
        return "a frozenset of (from, to) that moves elements up and keeps their order"
