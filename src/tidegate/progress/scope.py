"""Scopes: how the times inside of a scope are made from the times outside.

A scope adds a component to the time. Its locations have the order ``Product(outer, inner)``. If the outer order is
itself a product, it may also be the longer product: both ``Product(Product(a, b), c)`` and ``Product(a, b, c)`` are one
scope inside of ``Product(a, b)``. `Lexicographic` orders nest in the same way.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from tidegate.time import Lexicographic, Order, Product

__all__ = ["AnyOrder", "Enter", "Leave", "append", "depth", "drop", "inner", "outer", "split"]

AnyOrder: TypeAlias = Order[Any]


class Enter:
    """The summary of an edge into a scope: it appends the least element of the inner order.

    Both ``Enter`` and ``Enter()`` may be written.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Enter()"


class Leave:
    """The summary of an edge out of a scope: it drops the innermost component.

    Both ``Leave`` and ``Leave()`` may be written.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Leave()"


def outer(order: AnyOrder) -> AnyOrder | None:
    """Return the order around a scope whose times have ``order``, or None if its times have one component only.

    >>> from tidegate.time import Nat
    >>> outer(Product(Nat(), Nat())), outer(Product(Nat(), Nat(), Nat())), outer(Nat())
    (Nat(), Product(Nat(), Nat()), None)
    """
    if not isinstance(order, Product | Lexicographic) or len(order.parts) < 2:
        return None
    return order.parts[0] if len(order.parts) == 2 else type(order)(*order.parts[:-1])


def inner(order: AnyOrder) -> AnyOrder:
    """Return the order of the component that the scope adds."""
    return cast(AnyOrder, order.parts[-1])  # type: ignore[attr-defined]


def depth(order: AnyOrder) -> int:
    """Return how many scopes can be left, one after the other, from times of ``order``."""
    around = outer(order)
    return 0 if around is None else 1 + depth(around)


def append(order: AnyOrder, t: Any, x: Any) -> tuple[Any, ...]:
    """Return the time of the scope's ``order`` that is ``t`` outside and ``x`` inside."""
    return (t, x) if _is_pair(order) else (*t, x)


def drop(order: AnyOrder, t: Any) -> Any:
    """Return a time of the scope's ``order`` without the scope's component."""
    return t[0] if _is_pair(order) else t[:-1]


def split(order: AnyOrder, change: Any) -> tuple[Any, Any]:
    """Return what a summary of the scope's ``order`` does to the outer part and to the inner component."""
    return drop(order, change), change[-1]


def _is_pair(order: AnyOrder) -> bool:
    return len(order.parts) == 2  # type: ignore[attr-defined]
