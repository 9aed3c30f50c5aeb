"""The dedicated operators `M`, `F` and `J`, straight from their definitions: what compositions are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.errors import BadValue
from tidegate.spec.aggregate.aggregate import check_key
from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.aggregate.window import Window
from tidegate.spec.basic import comp_op, flatten_op, map_op
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.time import Bound, Inl, Order, Sum

__all__ = ["F", "J", "M", "Matches", "aligned"]

#: f_P: whether two tuples ``(t, d)`` match.
Matches = Callable[[tuple[Any, Any], tuple[Any, Any]], bool]


def M(f: Callable[[Any, Any], Iterable[Any]]) -> Operator[Event, Event]:
    """Build the Map: ``f(t, d)`` returns zero, one or more data, put out at the same time; watermarks pass.

    >>> from tidegate.spec import produce
    >>> list(produce(M(lambda t, d: d.split()), [DT(3, "a b"), DT(4, ""), WM(4)]))
    [DT(3, 'a'), DT(3, 'b'), WM(4)]
    """
    return comp_op(map_op(lambda t, d: list(f(t, d))), flatten_op())


def F(condition: Callable[[Any, Any], bool]) -> Operator[Event, Event]:
    """Build the Filter, which is a Map that gives its input or nothing.

    >>> from tidegate.spec import produce
    >>> list(produce(F(lambda t, d: d > 1), [DT(3, 1), DT(3, 2), WM(3)]))
    [DT(3, 2), WM(3)]
    """
    return M(lambda t, d: [d] if condition(t, d) else [])


def aligned(left: Window, right: Window) -> None:
    """Raise unless the windows of both sides of a Join are the same except for their keys."""
    if (left.advance, left.size, left.lateness) != (right.advance, right.size, right.lateness):
        raise BadValue(
            f"expected the same advance, size and lateness on both sides of a Join, got {left!r}, {right!r}",
            hint="only the keys may differ",
        )


@dataclass(frozen=True, slots=True)
class _J(Operator[Event, Event]):
    ticks: Ticks
    windows: tuple[Window, Window]
    p: Matches
    Ws: tuple[Tick, Tick] = (-math.inf, -math.inf)
    instances: dict[tuple[int, Hashable], tuple[tuple[Any, ...], tuple[Any, ...]]] = field(default_factory=dict)

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        both = Sum(self.ticks.order, self.ticks.order)
        check_event(both, event)
        if isinstance(event.t, Bound):
            raise both.not_a_time(event.t)
        side = 0 if isinstance(event.t, Inl) else 1
        if isinstance(event, WM):
            return self._advance(side, self.ticks.W(WM(event.t.t)))
        return self._add(side, event.t.t, event.d)

    def _add(self, side: int, t: Any, d: Any) -> tuple[Operator[Event, Event], list[Event]]:
        window, instances, outputs = self.windows[side], dict(self.instances), list[Event]()
        key = check_key(window.key(t, d), DT(t, d))
        for l in window.starts(self.ticks.of(t), self.ticks):
            if min(self.Ws) >= l + window.size + window.lateness:
                continue
            lefts, rights = instances.get((l, key), ((), ()))
            pairs = [((t, d), other) for other in rights] if side == 0 else [(other, (t, d)) for other in lefts]
            at = self.ticks.time(l + window.size - 1)
            outputs += [DT(at, pair) for pair in pairs if self.p(*pair)]
            instances[l, key] = ((*lefts, (t, d)), rights) if side == 0 else (lefts, (*rights, (t, d)))
        return replace(self, instances=instances), outputs

    def _advance(self, side: int, W: Tick) -> tuple[Operator[Event, Event], list[Event]]:
        Ws = (max(self.Ws[0], W), self.Ws[1]) if side == 0 else (self.Ws[0], max(self.Ws[1], W))
        window = self.windows[0]
        kept = {p: both for p, both in self.instances.items() if min(Ws) < p[0] + window.size + window.lateness}
        grown = min(Ws) > min(self.Ws)
        return replace(self, Ws=Ws, instances=kept), list(self.ticks.WM(min(Ws))) if grown else []


def J(order: Order[Any], left: Window, right: Window, p: Matches) -> Operator[Event, Event]:
    """Build the Join: pairs that fall into aligned instances, have the same key and match, at the instance's last time.

    Its input has times ``Inl(t)`` and ``Inr(t)``, like that of `join_op`; the data of an output is
    ``((t1, d1), (t2, d2))``. A pair comes out once for each instance that both fall into.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Inr, Nat
    >>> window = Window(2, 2, key=lambda t, d: d[0])
    >>> stream = [DT(Inl(0), "ax"), DT(Inr(1), "ay"), DT(Inr(1), "by"), WM(Inl(1)), WM(Inr(3))]
    >>> list(produce(J(Nat(), window, window, lambda t1, t2: True), stream))
    [DT(1, ((0, 'ax'), (1, 'ay'))), WM(1)]
    """
    aligned(left, right)
    return _J(Ticks(order), (left, right), p)
