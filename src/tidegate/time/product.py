"""Orders on tuples: pointwise (`Product`) and from left to right (`Lexicographic`)."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import Any, TypeAlias

from tidegate.time.order import BOTTOM, TOP, Bound, Order, le_bound, maximal, minimal
from tidegate.time.summary import Componentwise, LexicographicSummaries, Summaries

__all__ = ["Lexicographic", "Product"]

Tuple: TypeAlias = tuple[Any, ...]


class _Tuples(Order[Tuple]):
    """What both orders on tuples share: their components and what a time looks like."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Order[Any]) -> None:
        name = type(self).__name__
        if not parts:
            raise ValueError(f"expected at least one order in {name}(…), got none")
        for part in parts:
            if not isinstance(part, Order):
                got = f"{part!r} ({type(part).__name__})"
                raise TypeError(f"expected an order in {name}(…), got {got}; write Nat(), not Nat")
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    def contains(self, t: object, *, extended: bool = False) -> bool:
        if isinstance(t, Bound):
            return extended
        return (
            isinstance(t, tuple)
            and len(t) == len(self.parts)
            and all(part.contains(x, extended=extended) for part, x in zip(self.parts, t, strict=True))
        )

    def le(self, a: Tuple, b: Tuple) -> bool:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return le_bound(a, b)
        try:
            return self._le(a, b)
        except (TypeError, ValueError):
            for t in (a, b):
                self.check(t, extended=True)
            raise

    def not_above(self, f: Tuple) -> list[Tuple]:
        if isinstance(f, Bound):
            return self.tops() if f is TOP else []
        return maximal(self, self._apart(f, "not_above", "tops"))

    def not_below(self, c: Tuple) -> list[Tuple]:
        if isinstance(c, Bound):
            return self.bottoms() if c is BOTTOM else []
        return minimal(self, self._apart(c, "not_below", "bottoms"))

    @abstractmethod
    def _le(self, a: Tuple, b: Tuple) -> bool:
        """Compare two tuples, neither of which is a bound; tuples of different lengths are a `ValueError`."""

    @abstractmethod
    def _apart(self, t: Tuple, method: str, ends: str) -> list[Tuple]:
        """Return tuples that miss ``t``: a ``method`` of a component says how; the others have values of ``ends``."""

    def tops(self) -> list[Tuple]:
        return list(product(*(part.tops() for part in self.parts)))

    def bottoms(self) -> list[Tuple]:
        return list(product(*(part.bottoms() for part in self.parts)))

    def key(self, t: Tuple) -> Any:
        # A bound of the whole is a tuple of bounds here, so that keys stay comparable.
        if isinstance(t, Bound):
            return (t,) * len(self.parts)
        return tuple(part.key(x) for part, x in zip(self.parts, t, strict=True))

    def _hint(self) -> str:
        return f"a tuple of {len(self.parts)}, one time for each of {', '.join(map(repr, self.parts))}"


class Product(_Tuples):
    """The pointwise order on tuples: ``t <= u`` if each component is.

    >>> from tidegate.time import Nat
    >>> order = Product(Nat(), Nat())
    >>> order.le((1, 2), (3, 2)), order.comparable((1, 2), (2, 1))
    (True, False)
    """

    __slots__ = ("total",)

    def __init__(self, *parts: Order[Any]) -> None:
        super().__init__(*parts)
        self.total = len(parts) == 1 and parts[0].total

    def _le(self, a: Tuple, b: Tuple) -> bool:
        # A loop and not all(…): no comparison is made more often than this one.
        for part, x, y in zip(self.parts, a, b, strict=True):  # noqa: SIM110
            if not part.le(x, y):
                return False
        return True

    @property
    def summaries(self) -> Summaries[Tuple, Any]:
        return Componentwise(tuple(part.summaries for part in self.parts))

    def _apart(self, t: Tuple, method: str, ends: str) -> list[Tuple]:
        # To miss ``t`` it is enough to miss it in one component, whatever the others are.
        found: list[Tuple] = []
        free = [getattr(part, ends)() for part in self.parts]
        for i, (part, x) in enumerate(zip(self.parts, t, strict=True)):
            found += product(*free[:i], getattr(part, method)(x), *free[i + 1 :])
        return found

    def lower_bounds(self, a: Tuple, b: Tuple) -> list[Tuple]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [a if self.le(a, b) else b]
        return list(product(*(part.lower_bounds(x, y) for part, x, y in zip(self.parts, a, b, strict=True))))

    def upper_bounds(self, a: Tuple, b: Tuple) -> list[Tuple]:
        if isinstance(a, Bound) or isinstance(b, Bound):
            return [b if self.le(a, b) else a]
        return list(product(*(part.upper_bounds(x, y) for part, x, y in zip(self.parts, a, b, strict=True))))

    def _extremal(self, xs: list[Tuple], *, greatest: bool) -> list[Tuple]:
        if len(self.parts) != 2 or not all(part.total for part in self.parts):
            return super()._extremal(xs, greatest=greatest)
        # Two total orders: along the first component, the second must improve strictly to be kept.
        kept: list[Tuple] = []
        for x in sorted(xs, key=self.key, reverse=greatest):
            y = kept[-1] if kept else None
            if y is None or not (self.le(x, y) if greatest else self.le(y, x)):
                kept.append(x)
        return kept


class Lexicographic(_Tuples):
    """The order of tuples from left to right: the first component that differs decides.

    >>> from tidegate.time import Nat
    >>> Lexicographic(Nat(), Nat()).le((1, 9), (2, 0))
    True
    """

    __slots__ = ("total",)

    def __init__(self, *parts: Order[Any]) -> None:
        super().__init__(*parts)
        self.total = all(part.total for part in parts)

    def _le(self, a: Tuple, b: Tuple) -> bool:
        for part, x, y in zip(self.parts, a, b, strict=True):
            if x != y:
                return part.le(x, y)
        return True

    @property
    def summaries(self) -> Summaries[Tuple, Any]:
        return LexicographicSummaries(tuple(part.summaries for part in self.parts))

    def _apart(self, t: Tuple, method: str, ends: str) -> list[Tuple]:
        # Either a component misses ``t`` after a common beginning, and then the rest is free; or none does.
        found: list[Tuple] = []
        for i, (part, x) in enumerate(zip(self.parts, t, strict=True)):
            rest = [getattr(p, ends)() for p in self.parts[i + 1 :]]
            found += product(*([y] for y in t[:i]), getattr(part, method)(x), *rest)
            if not part.contains(x):
                break  # no time begins with an extended component, so nothing is equal up to here
        return found

    def lower_bounds(self, a: Tuple, b: Tuple) -> list[Tuple]:
        return self._bounds(a, b, "lower_bounds", "below", "tops")

    def upper_bounds(self, a: Tuple, b: Tuple) -> list[Tuple]:
        return self._bounds(a, b, "upper_bounds", "above", "bottoms")

    def _bounds(self, a: Tuple, b: Tuple, method: str, beyond: str, ends: str) -> list[Tuple]:
        if self.le(a, b):
            return [a if method == "lower_bounds" else b]
        if self.le(b, a):
            return [b if method == "lower_bounds" else a]
        i = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
        rest = [getattr(p, ends)() for p in self.parts[i + 1 :]]
        found = list(product(*([x] for x in a[:i]), getattr(self.parts[i], method)(a[i], b[i]), *rest))
        # If the differing components have no common bound, go back along the common beginning, from its end.
        while not found and i > 0:
            i -= 1
            rest = [getattr(p, ends)() for p in self.parts[i + 1 :]]
            found = list(product(*([x] for x in a[:i]), getattr(self.parts[i], beyond)(a[i]), *rest))
        return found
