"""What the specification's operators are made of: names, orders, and what depends on the order of incomparable times.

An operator that is given complete times one after the other sees them in a linear extension of their order. A partial
order has several linear extensions, and some operators answer differently for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.spec.aggregate.aggregate import Aggregate
from tidegate.spec.aggregate.dedicated import _J
from tidegate.spec.aggregate.infinity import _Infinity
from tidegate.spec.aggregate.loop import Loop
from tidegate.spec.aggregate.merge import _Both, _Merge, _Sides, sum_of
from tidegate.spec.aggregate.ticks import Ticks
from tidegate.spec.aggregate.watermarks import _C1, _C2, _C3
from tidegate.spec.aggregate.window import Window
from tidegate.spec.basic import _Bulk, _Comp, _Count, _Flatten, _Map, _Skip
from tidegate.spec.batching import _Batch, _Incr
from tidegate.spec.histogram import S_coll, S_paths, _IhistLinear
from tidegate.spec.join import _Union
from tidegate.time import Order, Sum

__all__ = [
    "OrderOfPart",
    "answers_endlessly",
    "depends_on_extension",
    "gives_batches",
    "has_schedule",
    "later_answers",
    "long_window",
    "name_of",
    "orders_along",
    "parts_of",
    "takes_batches",
    "window_of",
]

_NAMES: dict[type, str] = {
    Loop: "loop_op",
    _Batch: "batch_op",
    _Both: "both_op",
    _Bulk: "bulk_op",
    _C1: "c1_op",
    _C2: "c2_op",
    _C3: "c3_op",
    _Count: "count_op",
    _Flatten: "flatten_op",
    _IhistLinear: "ihist_linear_op",
    _Incr: "incr_op",
    _Infinity: "A_infinity",
    _J: "J",
    _Map: "map_op",
    _Merge: "merge_op",
    _Sides: "sides_op",
    _Skip: "skip_op",
    _Union: "union_op",
}
#: Functions that, of all data so far, look only at what is at or below a time.
_BELOW: dict[Any, str] = {S_coll: "ihist_op", S_paths: "ihist_paths_op"}


def parts_of(op: Any) -> list[Any]:
    """Return the operators that one is composed of, in the order in which data passes them.

    An operator that skips outputs of another comes after the parts of that one.

    >>> from tidegate.spec import comp_op, flatten_op, map_op
    >>> len(parts_of(comp_op(map_op(str), comp_op(flatten_op(), map_op(str)))))
    3
    """
    match op:
        case _Comp():
            return [*parts_of(op.first), *parts_of(op.second)]
        case _Skip():
            return [*parts_of(op.op), op]
    return [op]


def name_of(op: Any) -> str:
    """Return the function that builds an operator of the specification, part by part; for any other, its class.

    >>> from tidegate.spec import batch_op, comp_op, ihist_op, map_op
    >>> from tidegate.time import Nat
    >>> name_of(comp_op(map_op(str), ihist_op(Nat())))
    'map_op then ihist_op'
    """
    found: list[str] = []
    for part in parts_of(op):
        name = _name(part)
        if name == "incr_op" and found[-1:] == ["batch_op"]:
            found[-1:] = ["incr_batch_op"]
        elif found[-1:] == ["incr_batch_op"] and (histogram := _histogram(part)):
            found[-1:] = [histogram]
        else:
            found.append(name)
    return " then ".join(found)


def _name(part: Any) -> str:
    if isinstance(part, Aggregate):
        return "A" if part.most < math.inf else "A_plus"
    return _NAMES.get(type(part), type(part).__name__)


def depends_on_extension(op: Any) -> str:
    """Return the part whose answers differ between linear extensions of a partial order; nothing if there is none.

    >>> from tidegate.spec import batch_op, ihist_op, incr_batch_op
    >>> from tidegate.time import Nat, Product
    >>> pairs = Product(Nat(), Nat())
    >>> [depends_on_extension(op) for op in (batch_op(pairs), ihist_op(pairs), incr_batch_op(pairs))]
    ['', '', 'incr_batch_op']
    """
    found, before = "", None
    for part in parts_of(op):
        if isinstance(part, _Incr) and not found:
            # All data so far includes data at times that are not below the one that it is put out for.
            found = "incr_batch_op" if isinstance(before, _Batch) else "incr_op"
        elif isinstance(part, _Bulk | _Count | _Skip):
            # These count all inputs, whatever their time.
            return _NAMES[type(part)]
        elif _has_sides(part) and (before is not None or isinstance(part, _Both)):
            # The sides of a stream of sums are unrelated to each other, but those that `both_op` makes are like it.
            found = found or depends_on_extension(part.left) or depends_on_extension(part.right)
        elif isinstance(before, _Incr) and _histogram(part):
            found = ""
        before = part
    return found


@dataclass(frozen=True, slots=True)
class OrderOfPart:
    """The order that a part of an operator was built with, and the order of the times that the part is given."""

    part: Any
    own: Order[Any]
    given: Order[Any]

    @property
    def in_units(self) -> bool:
        """Whether the part needs times that are counted in units, as Aggregates do."""
        return _ticks(self.part) is not None


def orders_along(op: Any, order: Order[Any]) -> tuple[list[OrderOfPart], Order[Any]]:
    """Return the orders of the parts of an operator that is given times of ``order``; and the order of its answers.

    Parts that take two streams need a sum, and put out times of one side; `both_op` makes a sum.

    >>> from tidegate.spec import comp_op
    >>> from tidegate.spec.aggregate import both_op, M, merge_op
    >>> from tidegate.time import Nat
    >>> merged, split = merge_op(Nat()), both_op(M(str), M(str))
    >>> [(each.own, each.given) for each in orders_along(merged, Nat())[0]]
    [(Sum(Nat(), Nat()), Nat())]
    >>> orders_along(split, Nat())[1], orders_along(comp_op(split, merged), Nat())[1]
    (Sum(Nat(), Nat()), Nat())
    """
    found: list[OrderOfPart] = []
    for part in parts_of(op):
        if _has_sides(part):
            left, right = (order.left, order.right) if isinstance(order, Sum) else (order, order)
            if isinstance(part, _Sides):
                found.append(OrderOfPart(part, Sum(left, right), order))
            else:
                left = right = order
            (lefts, left), (rights, right) = orders_along(part.left, left), orders_along(part.right, right)
            found += lefts + rights
            order = Sum(left, right)
        elif isinstance(part, _Union | _J | _Merge):
            own = _own_order(part)
            found.append(OrderOfPart(part, sum_of(own, len(part.Ws) if isinstance(part, _Merge) else 2), order))
            order = own
        elif (own := _own_order(part)) is not None:
            found.append(OrderOfPart(part, own, order))
    return found, order


def _own_order(part: Any) -> Any:
    """Return the order that a part was built with; None if it needs none."""
    if isinstance(part, _Batch | _IhistLinear | _Union):
        return part.order
    if (ticks := _ticks(part)) is not None:
        return ticks.order
    return part.f.args[0] if _histogram(part) else None


def _ticks(part: Any) -> Ticks | None:
    found = getattr(part.body if isinstance(part, Loop) else part, "ticks", None)
    return found if isinstance(found, Ticks) else None


def _has_sides(part: Any) -> bool:
    return isinstance(part, _Both | _Sides)


def long_window(op: Any) -> Any:
    """Return the first Aggregate or Join whose windows are longer than a unit; None if there is none.

    Its answers are at the last time of a window, a time at which there need not be data.
    """
    return next((p for p in _all_parts(op) if isinstance(p, Aggregate | _J) and window_of(p).size > 1), None)


def window_of(part: Aggregate | _J) -> Window:
    """Return the windows of an Aggregate, or of a Join, whose sides differ in their keys only."""
    return part.window if isinstance(part, Aggregate) else part.windows[0]


def later_answers(op: Any, t: Any) -> set[Any]:
    """Return the times at which windows end because of data at ``t``; also windows behind these, and so on.

    >>> from tidegate.spec import comp_op
    >>> from tidegate.spec.aggregate import A, Window
    >>> from tidegate.time import Nat
    >>> def windows(size):
    ...     return A(Nat(), Window(size, size), lambda γ: [γ.l])
    >>> sorted(later_answers(comp_op(windows(4), windows(10)), 1))
    [3, 9]
    """
    return _passing(op, {t})[0]


def _passing(op: Any, times: set[Any]) -> tuple[set[Any], set[Any]]:
    """Return the ends of windows for data at some times, and the times at which data comes out at the other end."""
    ends: set[Any] = set()
    for part in parts_of(op):
        if _has_sides(part):
            (lefts, left), (rights, right) = _passing(part.left, times), _passing(part.right, times)
            ends, times = ends | lefts | rights, left | right
        elif isinstance(part, Aggregate | _J):
            times = {t for each in times for t in window_of(part).last_times(each, part.ticks)}
            ends |= times
    return ends, times


def answers_endlessly(op: Any) -> bool:
    """Whether an operator answers again and again without new data, as A-infinity does at the end of each period."""
    return any(
        isinstance(part, _Infinity) or (isinstance(part, Loop) and part.body.window.size > 1) for part in _all_parts(op)
    )


def has_schedule(op: Any) -> bool:
    """Whether data that comes round a loop waits for events that have nothing to do with it."""
    return any(isinstance(part, Loop) and part.schedule is not None for part in _all_parts(op))


def _all_parts(op: Any) -> Iterator[Any]:
    """Return the parts of an operator, and those of both sides of a part that has sides."""
    for part in parts_of(op):
        yield part
        if _has_sides(part):
            yield from (*_all_parts(part.left), *_all_parts(part.right))


def takes_batches(op: Any) -> bool:
    """Whether an operator has to be given batches."""
    return isinstance(parts_of(op)[0], _Incr)


def gives_batches(op: Any) -> bool:
    """Whether an operator puts out batches: lists of times and data."""
    last = [part for part in parts_of(op) if not isinstance(part, _Skip)][-1]
    return isinstance(last, _Batch | _Incr)


def _histogram(part: Any) -> str:
    """Return the histogram that a part computes from all data so far; nothing if it is something else."""
    if isinstance(part, _Map) and isinstance(part.f, partial):
        return _BELOW.get(part.f.func, "")
    return ""
