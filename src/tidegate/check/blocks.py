"""What the papers require of their own operators, in the form that `check_operator` takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidegate.check.operators import Completeness, Report, Soundness, check_operator
from tidegate.check.streams import Inputs, batched, plain, two_sided
from tidegate.spec import (
    DT,
    DTs,
    Event,
    Operator,
    S_lcoll,
    WMs,
    acc_batches,
    batch_op,
    batch_ts,
    coll,
    flatten_op,
    ihist_linear_op,
    ihist_op,
    incr_batch_op,
    incr_op,
    join_op,
    lcoll,
    map_op,
    producible,
    set_t,
    ts,
    union_op,
)
from tidegate.spec.statements.observation import data
from tidegate.time import Inl, Inr, Nat, Order, Product

__all__ = ["BLOCKS", "Block"]


@dataclass(frozen=True)
class Block:
    """An operator of the papers with its specification, for any order that it admits."""

    build: Callable[[Order[Any]], Operator[Event, Any]]
    soundness: Callable[[Order[Any]], Soundness]
    completeness: Callable[[Order[Any]], Completeness]
    inputs: Inputs
    order: Order[Any]

    def check(
        self, op: Operator[Event, Any] | None = None, *, order: Order[Any] | None = None, **options: Any
    ) -> Report:
        """Check this operator, or another one in its place, over its usual order or another one."""
        order = self.order if order is None else order
        return check_operator(
            self.build(order) if op is None else op,
            order,
            soundness=self.soundness(order),
            completeness=self.completeness(order),
            inputs=self.inputs,
            **options,
        )


def _time(event: Event) -> Any:
    return event.t


def _times(events: list[Event]) -> set[Any]:
    return set(map(_time, data(events)))


def _batch_sound(order: Order[Any]) -> Soundness:
    def sound(events: list[Event], out: DT[Any, Any]) -> bool:
        whole = all(coll(out.d, t) == lcoll(events, t) for t in set_t(out.d))
        return whole and set_t(out.d) == batch_ts(order, events, out.t)

    return sound


def _batch_complete(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: {t for out in data(outputs) for t in set_t(out.d)} == _times(events)


def _incr_sound(order: Order[Any]) -> Soundness:
    del order

    def sound(events: list[Event], out: DT[Any, Any]) -> bool:
        prefixes = (acc_batches(n, events) for n in range(len(events) + 1))
        return any(out.d == acc and out.t in set_t(acc) for acc in prefixes)

    return sound


def _incr_complete(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: (
        Counter(t for e in data(events) for t in set_t(e.d)) == Counter(map(_time, data(outputs)))
    )


def _incr_batch_sound(order: Order[Any]) -> Soundness:
    def sound(events: list[Event], out: DT[Any, Any]) -> bool:
        below = {t for t in set_t(out.d) if order.le(t, out.t)}
        return below == ts(order, events, out.t) and all(coll(out.d, t) == lcoll(events, t) for t in below)

    return sound


def _each_time_once(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: Counter(map(_time, data(outputs))) == Counter(_times(events))


def _histogram_sound(order: Order[Any]) -> Soundness:
    return lambda events, out: bool(out.d == S_lcoll(order, events, out.t))


def _joined(a: str, b: str) -> str | None:
    return None if a == b else a + b


def _pairs(events: list[Event]) -> Counter[Any]:
    times = {e.t.t for e in data(events)}
    return Counter(
        (t, _joined(a, b)) for t in times for a in DTs(events, Inl(t)) for b in DTs(events, Inr(t)) if _joined(a, b)
    )


def _join_sound(order: Order[Any]) -> Soundness:
    del order
    return lambda events, out: (out.t, out.d) in _pairs(events)


def _join_complete(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: Counter((e.t, e.d) for e in data(outputs)) == _pairs(events)


def _union_sound(order: Order[Any]) -> Soundness:
    del order
    return lambda events, out: any((e.t.t, e.d) == (out.t, out.d) for e in data(events))


def _union_complete(order: Order[Any]) -> Completeness:
    def complete(events: list[Event], outputs: list[Event]) -> bool:
        wms = WMs(events)
        reached = {wm.t for wm in wms if producible(order, wm, wms)}
        passed = [(e.t.t, e.d) for e in data(events)] == [(e.t, e.d) for e in data(outputs)]
        return passed and WMs(outputs) == reached

    return complete


def _map_sound(order: Order[Any]) -> Soundness:
    del order
    return lambda events, out: any((e.t, (e.t, e.d)) == (out.t, out.d) for e in data(events))


def _map_complete(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: [DT(e.t, (e.t, e.d)) for e in data(events)] == data(outputs)


def _flatten_sound(order: Order[Any]) -> Soundness:
    del order
    return lambda events, out: any(e.t == out.t and out.d in e.d for e in data(events))


def _flatten_complete(order: Order[Any]) -> Completeness:
    del order
    return lambda events, outputs: [DT(e.t, x) for e in data(events) for x in e.d] == data(outputs)


_PAIRS = Product(Nat(), Nat())

#: The papers' operators by name.
BLOCKS: dict[str, Block] = {
    "batch_op": Block(batch_op, _batch_sound, _batch_complete, plain(), _PAIRS),
    "incr_op": Block(lambda _: incr_op(), _incr_sound, _incr_complete, batched(), _PAIRS),
    "incr_batch_op": Block(incr_batch_op, _incr_batch_sound, _each_time_once, plain(), _PAIRS),
    "ihist_op": Block(ihist_op, _histogram_sound, _each_time_once, plain(), _PAIRS),
    "ihist_linear_op": Block(ihist_linear_op, _histogram_sound, _each_time_once, plain(), Nat()),
    "union_op": Block(union_op, _union_sound, _union_complete, two_sided(), _PAIRS),
    "join_op": Block(lambda order: join_op(order, _joined), _join_sound, _join_complete, two_sided(), _PAIRS),
    "map_op": Block(lambda _: map_op(lambda t, d: (t, d)), _map_sound, _map_complete, plain(), _PAIRS),
    "flatten_op": Block(lambda _: flatten_op(), _flatten_sound, _flatten_complete, batched(), _PAIRS),
}
