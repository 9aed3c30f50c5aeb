"""Two streams as one, on the disjoint sum of times: `union_op` brings them together, `join_op` pairs their data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.spec.basic import comp_op, flatten_op, map_op
from tidegate.spec.batching import Batch, incr_batch_op
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.time import Bound, Inl, Inr, Order, Sum, maximal

__all__ = ["join_list", "join_op", "producible", "swap", "union_op"]


def swap(t: Inl[Any] | Inr[Any]) -> Inl[Any] | Inr[Any]:
    """Return the same time on the other side."""
    return Inr(t.t) if isinstance(t, Inl) else Inl(t.t)


def join_list(join: Callable[[Any, Any], Any], st: Inl[Any] | Inr[Any], xs: Batch) -> list[Any]:
    """Return the joined pairs of a batch at exactly the time under ``st``, by the order of left data; None is no match.

    >>> join_list(lambda a, b: a + b, Inr(1), [(Inl(1), "a"), (Inr(1), "x"), (Inr(2), "y"), (Inr(1), "z")])
    ['ax', 'az']
    """
    lefts = [d for v, d in xs if isinstance(v, Inl) and v.t == st.t]
    rights = [d for v, d in xs if isinstance(v, Inr) and v.t == st.t]
    return [d for d1 in lefts for d2 in rights if (d := join(d1, d2)) is not None]


def producible(order: Order[Any], wm: Inl[Any] | Inr[Any], MA: Iterable[Inl[Any] | Inr[Any]]) -> bool:
    """Return whether a watermark at or above ``wm`` is known on the opposite side; ``order`` is that of one side.

    >>> from tidegate.time import Nat
    >>> producible(Nat(), Inl(1), [Inr(2)]), producible(Nat(), Inl(1), [Inl(2)])
    (True, False)
    """
    both = Sum(order, order)
    return any(both.le(wm, swap(w)) for w in MA)


@dataclass(frozen=True, slots=True)
class _Union(Operator[Event, Event]):
    order: Order[Any]
    wms: tuple[Inl[Any] | Inr[Any], ...]
    MA: frozenset[Inl[Any] | Inr[Any]]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        both = Sum(self.order, self.order)
        check_event(both, event)
        if isinstance(event.t, Bound):
            raise both.not_a_time(event.t)
        if isinstance(event, DT):
            return self, [DT(event.t.t, event.d)]
        MA = frozenset(maximal(both, [*self.MA, event.t]))
        # The newest watermark comes first.
        wms = (event.t, *self.wms)
        prds = {wm for wm in wms if producible(self.order, wm, MA)}
        waiting = tuple(wm for wm in wms if wm not in prds)
        return _Union(self.order, waiting, MA), [WM(wm.t) for wm in wms if wm in prds]


def union_op(
    order: Order[Any], wms: Iterable[Inl[Any] | Inr[Any]] = (), MA: Iterable[Inl[Any] | Inr[Any]] = ()
) -> Operator[Event, Event]:
    """Build the operator that merges two streams; a watermark passes when the other side has reached it too.

    Its input carries times ``Inl(t)`` and ``Inr(t)`` of ``order``, its output plain times. ``wms`` are watermarks that
    wait, newest first; ``MA`` is the maximal antichain of those seen.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> list(produce(union_op(Nat()), [DT(Inl(1), "a"), WM(Inl(1)), DT(Inr(0), "b"), WM(Inr(2))]))
    [DT(1, 'a'), DT(0, 'b'), WM(1)]
    """
    return _Union(order, tuple(wms), frozenset(MA))


def join_op(
    order: Order[Any],
    join: Callable[[Any, Any], Any],
    tds: Iterable[tuple[Any, Any]] = (),
    abs: Iterable[tuple[Any, Any]] = (),
    wms: Iterable[Inl[Any] | Inr[Any]] = (),
    MA: Iterable[Inl[Any] | Inr[Any]] = (),
) -> Operator[Event, Event]:
    """Build the relational join of two streams at equal times; ``join`` returns None for no match.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> stream = [DT(Inl(1), "a"), DT(Inr(1), "x"), WM(Inl(1)), DT(Inr(1), "y"), WM(Inr(1))]
    >>> list(produce(join_op(Nat(), lambda a, b: a + b), stream))
    [DT(1, 'ax'), DT(1, 'ay'), WM(1), WM(1)]
    """
    pairs = comp_op(map_op(partial(join_list, join)), flatten_op())
    return comp_op(comp_op(incr_batch_op(Sum(order, order), tds, abs), pairs), union_op(order, wms, MA))
