"""A-infinity, state that outlives windows: `A_infinity` by its definition, `composed_infinity` out of A and a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from tidegate.spec.aggregate.aggregate import A, Aggregate, check_key
from tidegate.spec.aggregate.dedicated import M
from tidegate.spec.aggregate.loop import loop_op
from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.aggregate.watermarks import c1_op, check_bound
from tidegate.spec.aggregate.window import Key, Window, WindowInstance
from tidegate.spec.basic import comp_op, map_op
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.time import Order

__all__ = ["A_infinity", "Folding", "composed_infinity"]


@dataclass(frozen=True, slots=True)
class Folding:
    """What A-infinity does with data: create a state, add to it, merge two of them, and compute an answer."""

    f_c: Callable[[Any], Any]
    f_a: Callable[[Any, Any], Any]
    f_m: Callable[[Any, Any], Any]
    f_o: Callable[[Any], Any]

    def add(self, state: tuple[Any, ...], data: Iterable[Any]) -> tuple[Any, ...]:
        """Add data to a state, which is empty or one value."""
        for d in data:
            state = (self.f_a(state[0], d) if state else self.f_c(d),)
        return state


@dataclass(frozen=True, slots=True)
class _Infinity(Operator[Event, Event]):
    ticks: Ticks
    folding: Folding
    period: int
    key: Key
    W: Tick = -math.inf
    waiting: dict[Hashable, tuple[tuple[Any, Any], ...]] = field(default_factory=dict)
    # For each key that has a state: the state, and the end of the last period that it covers.
    states: dict[Hashable, tuple[int, Any]] = field(default_factory=dict)

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_event(self.ticks.order, event)
        if isinstance(event, DT):
            if self.ticks.of(event.t) < self.W:
                return self, []
            key = check_key(self.key(event.t, event.d), event)
            more = (*self.waiting.get(key, ()), (event.t, event.d))
            return replace(self, waiting={**self.waiting, key: more}), []
        after, outputs = self._until(self.ticks.W(event))
        return after, [*outputs, event]

    def exit(self) -> Iterable[Event]:
        return self._until(math.inf)[1]

    def _until(self, W: Tick) -> tuple[_Infinity, list[Event]]:
        after, outputs = replace(self, W=max(self.W, W)), list[Event]()
        # Without an end, answers would go on for ever: they stop when there is nothing left to answer.
        while (end := after._next_end()) is not None and end + 1 <= W and (math.inf > W or any(after.waiting.values())):
            after, more = after._answer(end)
            outputs += more
        return after, outputs

    def _next_end(self) -> int | None:
        ends = [end + self.period for end, _ in self.states.values()]
        ends += [self._end(t) for tuples in self.waiting.values() for t, _ in tuples]
        return min(ends, default=None)

    def _end(self, t: Any) -> int:
        return (self.ticks.of(t) // self.period + 1) * self.period

    def _answer(self, end: int) -> tuple[_Infinity, list[Event]]:
        waiting, states, outputs = dict(self.waiting), dict(self.states), list[Event]()
        for key in dict.fromkeys([*states, *waiting]):
            due = [(t, d) for t, d in waiting.get(key, ()) if self._end(t) <= end]
            waiting[key] = tuple(td for td in waiting.get(key, ()) if self._end(td[0]) > end)
            state = self.folding.add(tuple(s for _, s in [states[key]]) if key in states else (), [d for _, d in due])
            if state:
                states[key] = (end, state[0])
                outputs.append(DT(self.ticks.time(end), self.folding.f_o(state[0])))
        return replace(self, waiting=waiting, states=states), outputs


def A_infinity(order: Order[Any], folding: Folding, period: int, key: Key) -> Operator[Event, Event]:
    """Build A-infinity: for each key, at the end of each period, the answer over all data before it.

    Periods ``[k * period, (k + 1) * period)`` answer at ``(k + 1) * period``, from the first that has data on, even if
    there is no new data. Data of a period is added in the order of its arrival.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> total = Folding(lambda d: d, lambda s, d: s + d, lambda s, r: s + r, lambda s: s)
    >>> op = A_infinity(Nat(), total, 5, lambda t, d: None)
    >>> list(produce(op, [DT(1, 1), DT(3, 2), WM(5), DT(12, 4), WM(10)]))
    [DT(5, 3), WM(5), DT(10, 3), WM(10), DT(15, 7)]
    """
    return _Infinity(Ticks(order), folding, Window(period, period).size, key)


@dataclass(frozen=True, slots=True)
class _Carried:
    """The one type of tuples in the loop: an input, or the state of a key. Listing 6 leaves out the key of a state."""

    key: Hashable
    input: tuple[Any, ...] = ()
    state: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class _HoldForState(Operator[Event, Event]):
    """C2 for A-infinity: each watermark waits until the states that the one before it sent round have come back.

    Listing 4 counts successors down to none, but here there is always another one. A key has one state under way at a
    time: it leaves when the watermark passes the end of the key's instance, and comes back at the beginning of the
    next.
    """

    ticks: Ticks
    period: int
    W: Tick = -math.inf
    begins: dict[Hashable, int] = field(default_factory=dict)
    pending: tuple[WM[Any], ...] = ()

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        if isinstance(event, WM):
            return replace(self, pending=(*self.pending, event))._release([])
        l = self.ticks.of(event.t) // self.period * self.period
        before = self.begins.get(event.d.key, l)
        begins = {**self.begins, event.d.key: l if event.d.state else min(l, before)}
        return replace(self, begins=begins)._release([event])

    def _release(self, outputs: list[Event]) -> tuple[_HoldForState, list[Event]]:
        after = self
        while after.pending and not any(l + self.period + 1 <= after.W for l in after.begins.values()):
            first, *rest = after.pending
            after = replace(after, W=max(after.W, self.ticks.W(first)), pending=tuple(rest))
            outputs = [*outputs, first]
        return after, outputs


def composed_infinity(
    order: Order[Any], folding: Folding, period: int, key: Key, *, d: int, schedule: Sequence[int] | None = None
) -> Operator[Event, Event]:
    """Build A-infinity out of a sliding Aggregate whose answer is fed into its next instance (Listing 6, corrected).

    Instances cover a period and one unit more, so that the answer of one falls into the next. ``d``, the bound of C1,
    may be at most the period.
    """
    ticks = Ticks(order)
    check_bound(d, most=Window(period, period).size)

    def f_O(instance: WindowInstance) -> list[_Carried]:
        boundary = ticks.of(instance.l) + period
        mine = [d for t, d in instance.tuples if ticks.of(t) != boundary]
        states = [s for carried in mine for s in carried.state]
        merged = (reduce(folding.f_m, states),) if states else ()
        state = folding.add(merged, [x for carried in mine for x in carried.input])
        return [_Carried(instance.key, state=state)] if state else []

    def closing(body: Aggregate) -> Tick | None:
        unheard = any(
            carried.input and ticks.of(t) != place[0] + period
            for place, tuples in body.instances.items()
            if body.end(place) > body.W
            for t, carried in tuples
        )
        return min(body.open_ends()) if unheard else None

    # A lateness beyond 0 is not only unnecessary, but wrong: the state falls into the last unit of the instance that it
    # came from, which would then answer again, for ever.
    body = A(order, Window(period, period + 1, lambda _, carried: carried.key), f_O)
    passes = map_op(lambda _, carried: carried)
    into = comp_op(c1_op(order, d), map_op(lambda t, x: _Carried(check_key(key(t, x), DT(t, x)), input=(x,))))
    looped = loop_op(_HoldForState(ticks, period), body, passes, closing=closing, schedule=schedule)
    return comp_op(comp_op(into, looped), M(lambda _, carried: [folding.f_o(carried.state[0])]))
