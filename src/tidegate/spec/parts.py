"""What the specification's operators are made of: names, orders, and what depends on the order of incomparable times.

An operator that is given complete times one after the other sees them in a linear extension of their order. A partial
order has several linear extensions, and some operators answer differently for each.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tidegate.spec.basic import _Bulk, _Comp, _Count, _Flatten, _Map, _Skip
from tidegate.spec.batching import _Batch, _Incr
from tidegate.spec.histogram import S_coll, S_paths, _IhistLinear
from tidegate.spec.join import _Union
from tidegate.time import Order

__all__ = ["depends_on_extension", "gives_batches", "name_of", "orders_of", "parts_of", "takes_batches", "takes_two"]

_NAMES: dict[type, str] = {
    _Batch: "batch_op",
    _Bulk: "bulk_op",
    _Count: "count_op",
    _Flatten: "flatten_op",
    _IhistLinear: "ihist_linear_op",
    _Incr: "incr_op",
    _Map: "map_op",
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
        name = _NAMES.get(type(part), type(part).__name__)
        if name == "incr_op" and found[-1:] == ["batch_op"]:
            found[-1:] = ["incr_batch_op"]
        elif found[-1:] == ["incr_batch_op"] and (histogram := _histogram(part)):
            found[-1:] = [histogram]
        else:
            found.append(name)
    return " then ".join(found)


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
        elif isinstance(before, _Incr) and _histogram(part):
            found = ""
        before = part
    return found


def orders_of(op: Any) -> list[Order[Any]]:
    """Return the orders that the parts of an operator were built with."""
    parts = parts_of(op)
    found = [part.order for part in parts if isinstance(part, _Batch | _IhistLinear | _Union)]
    return found + [part.f.args[0] for part in parts if _histogram(part)]


def takes_two(op: Any) -> bool:
    """Whether an operator merges two streams, whose times are ``Inl`` and ``Inr``: `union_op`, `join_op`."""
    return any(isinstance(part, _Union) for part in parts_of(op))


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
