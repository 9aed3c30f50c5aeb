"""Map, Filter and Join composed of Aggregates alone: of `A`, with a loop, or of `A_plus`, without (section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from tidegate.errors import BadValue
from tidegate.spec.aggregate.aggregate import A_plus
from tidegate.spec.aggregate.dedicated import Matches
from tidegate.spec.aggregate.embed import aligned_pairs, embed_join, embed_map, matching_window, tagged, unit
from tidegate.spec.aggregate.merge import merge_op
from tidegate.spec.aggregate.unfold import unfold
from tidegate.spec.aggregate.window import Window, WindowInstance
from tidegate.spec.basic import comp_op
from tidegate.spec.events import Event
from tidegate.spec.operator import Operator
from tidegate.time import Order

__all__ = ["Using", "composed_F", "composed_J", "composed_M"]

Using = Literal["A", "A+"]


def _check(using: str) -> None:
    if using not in ("A", "A+"):
        raise BadValue(f'expected using="A" or using="A+", got {using!r}')


def composed_M(
    order: Order[Any],
    f: Callable[[Any, Any], Iterable[Any]],
    *,
    using: Using = "A+",
    d: int | None = None,
    schedule: Sequence[int] | None = None,
) -> Operator[Event, Event]:
    """Build the Map out of Aggregates; with ``using="A"``, ``d`` bounds the distance of watermarks (C1).

    >>> from tidegate.spec import DT, WM, produce
    >>> from tidegate.time import Nat
    >>> split = composed_M(Nat(), lambda t, d: d.split(), using="A", d=3)
    >>> list(produce(split, [DT(1, "a b"), DT(1, "c"), WM(1)]))
    [DT(1, 'a'), DT(1, 'c'), DT(1, 'b'), WM(1)]
    """
    _check(using)
    if using == "A":
        return comp_op(embed_map(order, f), unfold(order, d, schedule=schedule))  # type: ignore[arg-type]

    def f_O(instance: WindowInstance) -> list[Any]:
        return [x for t, d in instance.tuples for x in f(t, d)]

    return A_plus(order, unit(), f_O)


def composed_F(
    order: Order[Any],
    condition: Callable[[Any, Any], bool],
    *,
    using: Using = "A+",
    d: int | None = None,
    schedule: Sequence[int] | None = None,
) -> Operator[Event, Event]:
    """Build the Filter out of Aggregates: the Map that gives its input or nothing."""
    return composed_M(order, lambda t, x: [x] if condition(t, x) else [], using=using, d=d, schedule=schedule)


def composed_J(
    order: Order[Any],
    left: Window,
    right: Window,
    p: Matches,
    *,
    using: Using = "A+",
    d: int | None = None,
    schedule: Sequence[int] | None = None,
) -> Operator[Event, Event]:
    """Build the Join out of Aggregates, on times ``Inl(t)`` and ``Inr(t)`` like the dedicated one.

    >>> from tidegate.spec import DT, WM, produce
    >>> from tidegate.time import Inl, Inr, Nat
    >>> op = composed_J(Nat(), Window(2, 2), Window(2, 2), lambda t1, t2: True, using="A", d=2)
    >>> list(produce(op, [DT(Inl(0), "a"), DT(Inr(1), "b"), WM(Inl(1)), WM(Inr(1))]))
    [WM(0), DT(1, ((0, 'a'), (1, 'b'))), WM(1)]
    """
    _check(using)
    if using == "A":
        return comp_op(embed_join(order, left, right, p), unfold(order, d, schedule=schedule))  # type: ignore[arg-type]

    def f_O(instance: WindowInstance) -> list[Any]:
        return aligned_pairs(instance, p)

    return comp_op(comp_op(tagged(order), merge_op(order)), A_plus(order, matching_window(left, right), f_O))
