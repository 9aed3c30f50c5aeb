"""E, the embedding of many tuples into one, as Aggregates: `embed_map` (Listing 1) and `embed_join` (Listing 2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from tidegate.errors import BadValue
from tidegate.spec.aggregate.aggregate import A
from tidegate.spec.aggregate.dedicated import Matches, aligned
from tidegate.spec.aggregate.merge import merge_op, sides_op
from tidegate.spec.aggregate.window import Key, Window, WindowInstance, whole
from tidegate.spec.basic import comp_op
from tidegate.spec.events import Event
from tidegate.spec.operator import Operator
from tidegate.time import Order

__all__ = ["Embedded", "aligned_pairs", "embed_join", "embed_map", "tagged", "unit"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """t_E: one tuple that carries the data of many, in their order, and the ``index`` of the one to put out next.

    What E makes has the index -1. ``copies`` says how many identical tuples of E are meant. Listing 3 unites their sets
    instead, and so loses copies; with lists, it could not tell two copies of ``[x]`` from one ``[x, x]``.
    """

    data: tuple[Any, ...]
    index: int = -1
    copies: int = 1

    @property
    def total(self) -> int:
        """How many tuples are carried, over all copies."""
        return len(self.data) * self.copies


def unit(key: Key = whole, lateness: int = 0) -> Window:
    """Return the window of Lemma 1, of one unit δ: a tuple falls into the one instance that begins at its time."""
    return Window(1, 1, key, lateness)


def embed_map(order: Order[Any], f: Callable[[Any, Any], Iterable[Any]]) -> Operator[Event, Event]:
    """Build E_M: identical tuples become one t_E, which carries what ``f`` returns for each of them, if anything.

    >>> from tidegate.spec import DT, WM, produce
    >>> from tidegate.time import Nat
    >>> list(produce(embed_map(Nat(), lambda t, d: d.split()), [DT(3, "a b"), DT(3, ""), WM(3)]))
    [DT(3, Embedded(data=('a', 'b'), index=-1, copies=1)), WM(3)]
    """

    def f_O(instance: WindowInstance) -> list[Embedded]:
        data = tuple(x for t, d in instance.tuples for x in f(t, d))
        return [Embedded(data)] if data else []

    return A(order, unit(), f_O)


def embed_join(order: Order[Any], left: Window, right: Window, p: Matches) -> Operator[Event, Event]:
    """Build E_J: aligned window instances become one t_E, which carries all their matching pairs.

    A_1 and A_2 give both sides one type, so that A_3 can read them as one stream (P1).

    >>> from tidegate.spec import DT, WM, produce
    >>> from tidegate.time import Inl, Inr, Nat
    >>> stream = [DT(Inl(0), "a"), DT(Inr(1), "b"), WM(Inl(1)), WM(Inr(1))]
    >>> list(produce(embed_join(Nat(), Window(2, 2), Window(2, 2), lambda t1, t2: True), stream))
    [DT(1, Embedded(data=(((0, 'a'), (1, 'b')),), index=-1, copies=1)), WM(1)]
    """

    def f_O(instance: WindowInstance) -> list[Embedded]:
        data = tuple(aligned_pairs(instance, p))
        return [Embedded(data)] if data else []

    window = matching_window(left, right)
    return comp_op(comp_op(tagged(order), merge_op(order)), A(order, window, f_O))


def tagged(order: Order[Any]) -> Operator[Event, Event]:
    """Build A_1 and A_2 of Listing 2: identical tuples become a pair, by side ``(tuples, ())`` or ``((), tuples)``."""

    def left(instance: WindowInstance) -> list[Any]:
        return [(instance.tuples, ())]

    def right(instance: WindowInstance) -> list[Any]:
        return [((), instance.tuples)]

    return sides_op(A(order, unit(), left), A(order, unit(), right))


def matching_window(left: Window, right: Window) -> Window:
    """Return the window of A_3, whose key is that of the side that a tuple came from."""
    aligned(left, right)
    if left.lateness:
        raise BadValue(
            f"expected windows without lateness in a Join that is composed of Aggregates, got {left!r}",
            hint="an instance that answers again would repeat its earlier pairs; use the dedicated J",
        )

    def f_K(t: Any, d: Any) -> Hashable:
        del t
        lefts, rights = d
        return left.key(*lefts[0]) if lefts else right.key(*rights[0])

    return Window(left.advance, left.size, f_K)


def aligned_pairs(instance: WindowInstance, p: Matches) -> list[tuple[Any, Any]]:
    """Return the matching pairs of a window instance of A_3."""
    lefts = [t for _, (side, _) in instance.tuples for t in side]
    rights = [t for _, (_, side) in instance.tuples for t in side]
    return [(t1, t2) for t1 in lefts for t2 in rights if p(t1, t2)]
