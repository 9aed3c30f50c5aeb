"""Pointstamps, which the protocols count, and their partial order, which says which could lead to which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from tidegate.errors import WrongType
from tidegate.progress.errors import Forbidden
from tidegate.progress.graph import Graph, Pointstamp
from tidegate.time import ZMultiset

__all__ = ["Bag", "CouldResultIn", "PartialOrder", "check_partial_order", "is_count", "multiset", "not_a_count"]

P = TypeVar("P", bound=Hashable)
P_contra = TypeVar("P_contra", contravariant=True)

Bag: TypeAlias = ZMultiset[P] | Mapping[P, int] | Iterable[P]


class PartialOrder(Protocol[P_contra]):
    """The methods that the exchange of progress needs for comparing pointstamps; every `Order` has them."""

    def le(self, a: P_contra, b: P_contra, /) -> bool:
        """Whether ``a`` is at or below ``b``."""

    def lt(self, a: P_contra, b: P_contra, /) -> bool:
        """Whether ``a`` is strictly below ``b``."""

    def check(self, t: object, /) -> None:
        """Raise an error unless ``t`` is a pointstamp."""


class CouldResultIn:
    """The could-result-in order on the pointstamps of a graph (section 6).

    >>> from tidegate.time import Nat
    >>> order = CouldResultIn(Graph(Nat(), {("a", "b"): 1}))
    >>> order.le(("a", 2), ("b", 3)), order.lt(("a", 2), ("b", 2))
    (True, False)
    """

    __slots__ = ("_known", "graph")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # An exploration compares the same few pointstamps many times.
        self._known: dict[tuple[Pointstamp, Pointstamp], bool] = {}

    def le(self, a: Pointstamp, b: Pointstamp) -> bool:
        """Whether ``a`` could result in ``b``."""
        known = self._known.get((a, b))
        if known is None:
            known = self._known[a, b] = self.graph.leads_to(a, b)
        return known

    def lt(self, a: Pointstamp, b: Pointstamp) -> bool:
        """Whether ``a`` could result in ``b`` and is another pointstamp."""
        return a != b and self.le(a, b)

    def check(self, t: object) -> None:
        """Raise an error unless ``t`` is a pair of a location and one of its times."""
        if not isinstance(t, tuple) or len(t) != 2:
            raise WrongType(f"expected a pointstamp, a pair of a location and a time, got {t!r}", hint="write ('a', 3)")
        self.graph.check(t[0], t[1])


def check_partial_order(order: object) -> None:
    """Raise `WrongType` unless ``order`` is a `PartialOrder`, and not the class of one."""
    if isinstance(order, type) or not all(hasattr(order, name) for name in ("le", "lt", "check")):
        raise WrongType(f"expected a partial order of pointstamps, got {order!r}", hint="write Nat(), not Nat")


def is_count(n: object) -> bool:
    """Whether ``n`` is an integer, and not a bool."""
    return isinstance(n, int) and not isinstance(n, bool)


def not_a_count(n: object) -> WrongType:
    """Build the error that says that ``n`` is not a count."""
    return WrongType(f"expected an integer to count with, got {n!r} ({type(n).__name__})")


def multiset(given: Bag[P]) -> ZMultiset[P]:
    """Build an unsigned multiset from counts or from a collection; raise if it is neither.

    >>> multiset(["x", "x"]) == multiset({"x": 2})
    True
    """
    counts = given if isinstance(given, ZMultiset) else _counted(given)
    for x, n in counts.items():
        if not is_count(n):
            raise not_a_count(n).at(f"pointstamp {x!r}")
        if n < 0:
            raise Forbidden("unsigned multisets", f"expected counts of at least 0, got {n} of {x!r}")
    return counts


def _counted(given: Any) -> ZMultiset[Any]:
    if not isinstance(given, Iterable):
        raise WrongType(
            f"expected a collection of pointstamps, or a mapping to their counts, got {given!r}",
            hint=f"write [{given!r}]",
        )
    if isinstance(given, Mapping):
        for x, n in given.items():
            if not is_count(n):  # also False and 0.0, which would not be kept
                raise not_a_count(n).at(f"pointstamp {x!r}")
        return ZMultiset(given)
    pointstamps = list(given)
    try:
        return ZMultiset(pointstamps)
    except TypeError:
        raise WrongType(
            f"expected pointstamps that can be hashed, got {pointstamps!r}", hint="write tuples, not lists"
        ) from None
