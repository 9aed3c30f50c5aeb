"""What a time is: a value of an `Order`, which may be partial, and the two bounds `TOP` and `BOTTOM`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.time.summary import Summaries

__all__ = ["BOTTOM", "TOP", "Bound", "NoSuchTime", "NotATime", "Order", "maximal", "minimal"]

T = TypeVar("T", bound=Hashable)


class NotATime(TidegateError, ValueError):
    """A value was used as a time of an order that does not contain it."""


class NoSuchTime(TidegateError, LookupError):
    """A least element, a join or a meet was asked for, but there is none."""


class Bound(Enum):
    """`TOP` or `BOTTOM`: above or below every time of every order, and not itself a time."""

    BOTTOM = "BOTTOM"
    TOP = "TOP"

    # The comparisons are total against anything, so that total orders can use Python's own operators.
    def __le__(self, other: object) -> bool:
        return self is Bound.BOTTOM or other is Bound.TOP

    def __lt__(self, other: object) -> bool:
        return self is not other and self <= other

    def __ge__(self, other: object) -> bool:
        return self is Bound.TOP or other is Bound.BOTTOM

    def __gt__(self, other: object) -> bool:
        return self is not other and self >= other

    def __repr__(self) -> str:
        return self.name


BOTTOM: Final = Bound.BOTTOM
"""Below every time of a component: inside of watermarks and frontiers, "from the first value on"."""

TOP: Final = Bound.TOP
"""Above every time of a component: in a watermark of several time columns, it stands for every value of one."""


def le_bound(a: object, b: object) -> bool:
    """Return whether ``a`` is at or below ``b``, where at least one of them is a `Bound`."""
    return a is BOTTOM or b is TOP


class Order(ABC, Generic[T]):
    """A partial order on times.

    Orders are values: two that are built alike are equal. `le` also takes *extended* times: `TOP` or `BOTTOM` in place
    of a whole time or, in a composed order, of a component. They occur in watermarks and frontiers, not on data.

    >>> from tidegate.time import Nat, Product
    >>> order = Product(Nat(), Nat())
    >>> order.le((1, 2), (1, 5)), order.le((1, 2), (2, 1)), order.le((1, 2), (TOP, 2))
    (True, False, True)
    """

    __slots__ = ()

    #: Whether any two times are comparable.
    total: bool = False

    @abstractmethod
    def le(self, a: T, b: T) -> bool:
        """Return whether ``a`` is at or below ``b``."""

    @abstractmethod
    def contains(self, t: object, *, extended: bool = False) -> bool:
        """Return whether ``t`` is a time of this order; with ``extended``, whether it may be in a frontier."""

    @abstractmethod
    def key(self, t: T) -> Any:
        """Return a value to sort by; sorting by it gives a total order that agrees with this one."""

    @property
    @abstractmethod
    def summaries(self) -> Summaries[T, Any]:
        """The least changes to a time along a path; see `tidegate.time.summary`."""

    @abstractmethod
    def tops(self) -> list[T]:
        """Return the least extended times: every time is at or above one of them."""

    @abstractmethod
    def bottoms(self) -> list[T]:
        """Return the greatest extended times: every time is at or below one of them."""

    @abstractmethod
    def not_above(self, f: T) -> list[T]:
        """Return the greatest extended times that are not at or above ``f``."""

    @abstractmethod
    def not_below(self, c: T) -> list[T]:
        """Return the least extended times that are not at or below ``c``."""

    @abstractmethod
    def lower_bounds(self, a: T, b: T) -> list[T]:
        """Return the greatest extended times that are at or below both."""

    @abstractmethod
    def upper_bounds(self, a: T, b: T) -> list[T]:
        """Return the least extended times that are at or above both."""

    def lt(self, a: T, b: T) -> bool:
        """Return whether ``a`` is strictly below ``b``."""
        return a != b and self.le(a, b)

    def comparable(self, a: T, b: T) -> bool:
        """Return whether one of the two is at or below the other."""
        return self.le(a, b) or self.le(b, a)

    def check(self, t: object, *, extended: bool = False) -> None:
        """Raise `NotATime` unless ``t`` is a time of this order.

        >>> from tidegate.time import Nat
        >>> Nat().check(-1)
        Traceback (most recent call last):
        tidegate.time.order.NotATime: expected a time of Nat(), got -1 (int)
          hint: a natural number: 0, 1, 2, …
        """
        if not self.contains(t, extended=extended):
            raise self.not_a_time(t)

    def not_a_time(self, t: object) -> NotATime:
        """Build the error for a value that is not a time of this order."""
        return NotATime(f"expected a time of {self!r}, got {t!r} ({type(t).__name__})", hint=self._hint())

    def least(self) -> T:
        """Return the least time, or raise `NoSuchTime`.

        >>> from tidegate.time import Nat, Product
        >>> Product(Nat(), Nat()).least()
        (0, 0)
        """
        return self._only(self.bottoms(), "least time")

    def join(self, a: T, b: T) -> T:
        """Return the least time at or above both, or raise `NoSuchTime`.

        >>> from tidegate.time import Nat, Product
        >>> Product(Nat(), Nat()).join((1, 5), (2, 3))
        (2, 5)
        """
        return self._only(self.upper_bounds(a, b), f"join of {a!r} and {b!r}", extended=True)

    def meet(self, a: T, b: T) -> T:
        """Return the greatest time at or below both, or raise `NoSuchTime`.

        >>> from tidegate.time import Nat, Product
        >>> Product(Nat(), Nat()).meet((1, 5), (2, 3))
        (1, 3)
        """
        return self._only(self.lower_bounds(a, b), f"meet of {a!r} and {b!r}", extended=True)

    def successors(self, t: T) -> list[T]:
        """Return the times directly above ``t``.

        >>> from tidegate.time import Nat, Product
        >>> Product(Nat(), Nat()).successors((1, 5))
        [(2, 5), (1, 6)]
        """
        return [s for s in self.above(t) if self.contains(s)]

    def predecessors(self, t: T) -> list[T]:
        """Return the times directly below ``t``.

        >>> from tidegate.time import Nat, Product
        >>> Product(Nat(), Nat()).predecessors((0, 5))
        [(0, 4)]
        """
        return [s for s in self.below(t) if self.contains(s)]

    def above(self, t: T) -> list[T]:
        """Return the least extended times whose upward closure is all that is strictly above ``t``."""
        return minimal(self, [u for c in self.not_below(t) for u in self.upper_bounds(t, c)])

    def below(self, t: T) -> list[T]:
        """Return the greatest extended times whose downward closure is all that is strictly below ``t``."""
        return maximal(self, [u for f in self.not_above(t) for u in self.lower_bounds(t, f)])

    def _only(self, found: list[T], what: str, *, extended: bool = False) -> T:
        # A join of extended times may itself be extended; the least element of the order may not.
        if len(found) == 1 and self.contains(found[0], extended=extended):
            return found[0]
        raise NoSuchTime(f"{self!r} has no {what}", hint="use an order that has one, or an antichain of times")

    def _hint(self) -> str:
        return "use a time of this order"

    def _extremal(self, xs: list[T], *, greatest: bool) -> list[T]:
        # In a linear extension nothing is below anything earlier, so compare each candidate with those already kept.
        kept: list[T] = []
        for x in sorted(xs, key=self.key, reverse=greatest):
            if greatest:
                if not any(self.le(x, k) for k in kept):
                    kept.append(x)
            elif not any(self.le(k, x) for k in kept):
                kept.append(x)
        return kept


def maximal(order: Order[T], xs: Iterable[T]) -> list[T]:
    """Return the distinct maximal elements of ``xs``, in the order of their first occurrence.

    >>> from tidegate.time import Nat, Product
    >>> maximal(Product(Nat(), Nat()), [(0, 1), (2, 0), (0, 3), (2, 0)])
    [(2, 0), (0, 3)]
    """
    return _extremal(order, xs, greatest=True)


def minimal(order: Order[T], xs: Iterable[T]) -> list[T]:
    """Return the distinct minimal elements of ``xs``, in the order of their first occurrence.

    >>> from tidegate.time import Nat, Product
    >>> minimal(Product(Nat(), Nat()), [(2, 0), (0, 1), (0, 3), (2, 0)])
    [(2, 0), (0, 1)]
    """
    return _extremal(order, xs, greatest=False)


def _extremal(order: Order[T], xs: Iterable[T], *, greatest: bool) -> list[T]:
    distinct = list(dict.fromkeys(xs))
    if len(distinct) < 2:
        return distinct
    kept = set(order._extremal(distinct, greatest=greatest))
    return [x for x in distinct if x in kept]
