"""X, which unfolds embedded tuples one by one, as two Aggregates and a loop (Figure 6, Listing 3 corrected)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.spec.aggregate.aggregate import A
from tidegate.spec.aggregate.embed import Embedded, unit
from tidegate.spec.aggregate.loop import Loop, loop_op
from tidegate.spec.aggregate.watermarks import c1_op, c2_op, c3_op, check_bound
from tidegate.spec.aggregate.window import WindowInstance
from tidegate.spec.basic import comp_op
from tidegate.spec.events import Event
from tidegate.spec.operator import Operator
from tidegate.time import Order

__all__ = ["unfold", "unfold_loop"]


def _A1(instance: WindowInstance) -> list[Embedded]:
    _, first = instance.tuples[0]
    if first.index == -1:
        return [Embedded(first.data, 0, len(instance.tuples))] if first.data else []
    # The last index is total - 1; the printed test lets it run one past the end.
    following = Embedded(first.data, first.index + 1, first.copies)
    return [following] if following.index < first.total else []


def _A2(instance: WindowInstance) -> list[Any]:
    _, t = instance.tuples[0]
    return [t.data[t.index % len(t.data)]]


def unfold_loop(
    order: Order[Any], d: int, *, lateness: int | None = None, schedule: Sequence[int] | None = None
) -> Loop:
    """Build A_1 with its loop. It puts out the stream S_A2, which goes to A_2 and, round the loop, back to A_1.

    ``d`` is the bound of C1 on its input, ``lateness`` the L' of A_1, by default d.
    """
    lateness = check_bound(d) if lateness is None else lateness
    check_bound(d, lateness=lateness)
    return loop_op(c2_op(order, lateness), A(order, unit(lateness=lateness), _A1), c3_op(order), schedule=schedule)


def unfold(
    order: Order[Any], d: int, *, lateness: int | None = None, schedule: Sequence[int] | None = None
) -> Operator[Event, Event]:
    """Build X, which puts out every element that a tuple carries, at the tuple's time, and none of them late.

    The input must keep C1 with the bound ``d``, or `NotBounded` is raised; ``schedule`` delays what comes round.

    >>> from tidegate.spec import DT, WM, produce
    >>> from tidegate.time import Nat
    >>> list(produce(unfold(Nat(), 2), [DT(0, Embedded(("b", "b", "a"))), WM(0)]))
    [DT(0, 'b'), DT(0, 'b'), DT(0, 'a'), WM(0)]
    """
    looped = comp_op(c1_op(order, d), unfold_loop(order, d, lateness=lateness, schedule=schedule))
    return comp_op(looped, A(order, unit(), _A2))
