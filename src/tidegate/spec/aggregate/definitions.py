"""Definitions 1 to 4: successors, correct execution, the watermark of an operator, and what a watermark triggers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.spec.aggregate.aggregate import Aggregate
from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.aggregate.window import Window, WindowInstance
from tidegate.spec.events import DT, WM, Event
from tidegate.time import Order

__all__ = ["groups", "processed", "succ", "trig", "watermark"]


def succ(op: Aggregate, event: DT[Any, Any]) -> list[DT[Any, Any]]:
    """Return the successors of ``event`` at ``op`` (Definition 1): what it makes ``op`` put out, and so on.

    They are finite in number for the loop of `unfold`, and endless for that of A-infinity.
    """
    found: list[DT[Any, Any]] = []
    queue: list[DT[Any, Any]] = [event]
    while queue:
        op, outputs = op.apply(queue.pop(0))
        new = [e for e in outputs if isinstance(e, DT)]
        found += new
        queue += new
    return found


def groups(order: Order[Any], window: Window, events: Iterable[Event]) -> Counter[tuple[Any, Any, frozenset[Any]]]:
    """Return what must be processed together, and exactly once (Definition 2): the tuples of one key in one window."""
    ticks = Ticks(order)
    found: dict[tuple[int, Any], list[Any]] = {}
    for e in events:
        if isinstance(e, DT):
            for l in window.starts(ticks.of(e.t), ticks):
                found.setdefault((l, window.key(e.t, e.d)), []).append((e.t, e.d))
    return Counter((ticks.time(l), key, _multiset(tuples)) for (l, key), tuples in found.items())


def processed(instances: Iterable[WindowInstance]) -> Counter[tuple[Any, Any, frozenset[Any]]]:
    """Return what f_O was called with, in the same form as `groups`."""
    return Counter((i.l, i.key, _multiset(i.tuples)) for i in instances)


def _multiset(tuples: Iterable[Any]) -> frozenset[Any]:
    return frozenset(Counter(tuples).items())


def watermark(order: Order[Any], events: Sequence[Event]) -> Tick:
    """Return the paper's watermark after ``events`` (Definition 3): the earliest tick that may still come.

    >>> from tidegate.time import Nat
    >>> watermark(Nat(), [WM(3), WM(1)])
    4
    """
    return max((Ticks(order).W(e) for e in events if isinstance(e, WM)), default=-math.inf)


def trig(op: Aggregate, W: WM[Any]) -> list[DT[Any, Any]]:
    """Return what ``op`` puts out because its watermark grows to ``W`` (Definition 4).

    >>> from tidegate.spec import fproduce
    >>> from tidegate.spec.aggregate import A
    >>> from tidegate.time import Nat
    >>> trig(fproduce(A(Nat(), Window(1, 1), lambda γ: [γ.l]), [DT(0, "a"), DT(2, "b")])[0], WM(1))
    [DT(0, 0)]
    """
    return [e for e in op.apply(W)[1] if isinstance(e, DT)]
