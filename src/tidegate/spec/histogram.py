"""Incremental histograms: how often each datum occurs at or below a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.errors import BadValue, WrongType
from tidegate.spec.basic import comp_op, map_op
from tidegate.spec.batching import Batch, incr_batch_op
from tidegate.spec.buffer import Buffer
from tidegate.spec.events import DT, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.time import Order, maximal

__all__ = ["S_coll", "S_paths", "ihist_linear_op", "ihist_op", "ihist_paths_op"]


def mset(data: Iterable[Any]) -> Counter[Any]:
    """Return the multiset of some data."""
    try:
        return Counter(data)
    except TypeError as error:
        raise WrongType(
            f"expected data that can be counted, got some that is {error}",
            hint="map it to a hashable form first, for example a tuple",
        ) from None


def S_coll(order: Order[Any], t: Any, xs: Batch) -> Counter[Any]:
    """Return the sum of the collections of a batch at or below ``t``.

    >>> from tidegate.time import Nat
    >>> S_coll(Nat(), 1, [(0, "a"), (2, "a"), (1, "b"), (1, "b")])
    Counter({'b': 2, 'a': 1})
    """
    return mset(d for u, d in xs if order.le(u, t))


def ihist_op(
    order: Order[Any], tds: Iterable[tuple[Any, Any]] = (), abs: Iterable[tuple[Any, Any]] = ()
) -> Operator[Event, Event]:
    """Build the incremental histogram on any order: each collection at or below a time counts once.

    >>> from tidegate.spec import WM, produce
    >>> from tidegate.time import Nat
    >>> list(produce(ihist_op(Nat()), [DT(1, "a"), WM(1), DT(2, "a"), WM(2)]))
    [DT(1, Counter({'a': 1})), WM(1), DT(2, Counter({'a': 2})), WM(2)]
    """
    return comp_op(incr_batch_op(order, tds, abs), map_op(partial(S_coll, order)))


@dataclass(frozen=True, slots=True)
class _IhistLinear(Operator[Event, Event]):
    order: Order[Any]
    H: Counter[Any]
    buf: Buffer[tuple[Any, Any]]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_event(self.order, event)
        if isinstance(event, DT):
            return _IhistLinear(self.order, self.H, self.buf.append((event.t, event.d))), []
        out, rest = self.buf.split(lambda td: self.order.le(td[0], event.t))
        H, histograms = self._histograms(out)
        return _IhistLinear(self.order, H, rest), [*histograms, event]

    def exit(self) -> Iterable[Event]:
        return self._histograms(list(self.buf))[1]

    def _histograms(self, out: Batch) -> tuple[Counter[Any], list[Event]]:
        # One sort, one running sum: the histogram of each time grows out of the one before it.
        collections: dict[Any, list[Any]] = {}
        for t, d in out:
            collections.setdefault(t, []).append(d)
        H = self.H
        found: dict[Any, Counter[Any]] = {}
        for t in sorted(collections, key=self.order.key):
            H = H.copy()
            H.update(mset(collections[t]))
            found[t] = H
        # What is put out belongs to the receiver, so the state is a copy.
        return H.copy(), [DT(t, found[t]) for t in collections]


def ihist_linear_op(
    order: Order[Any], H: Counter[Any] | None = None, buf: Iterable[tuple[Any, Any]] = ()
) -> Operator[Event, Event]:
    """Build the incremental histogram for total orders (Figure 7), which keeps only the last histogram.

    On monotone streams it equals `ihist_op`, by (24).

    >>> from tidegate.spec import WM, produce
    >>> from tidegate.time import Nat
    >>> list(produce(ihist_linear_op(Nat()), [DT(1, "a"), WM(1), DT(2, "a"), WM(2)]))
    [DT(1, Counter({'a': 1})), WM(1), DT(2, Counter({'a': 2})), WM(2)]
    """
    if not order.total:
        raise BadValue(
            f"expected a total order for ihist_linear_op, got {order!r}", hint="use ihist_op, which takes any order"
        )
    return _IhistLinear(order, Counter(H or ()), Buffer(buf))


def S_paths(order: Order[Any], t: Any, xs: Batch) -> Counter[Any]:
    """Return the histogram of ``t`` that counts along paths: its collection and its predecessors' histograms.

    >>> from tidegate.time import Poset
    >>> diamond = Poset([("bottom", "left"), ("bottom", "right"), ("left", "top"), ("right", "top")])
    >>> S_paths(diamond, "top", [("bottom", "a"), ("left", "b"), ("right", "c"), ("top", "d")])
    Counter({'a': 2, 'd': 1, 'b': 1, 'c': 1})
    """
    collections: dict[Any, list[Any]] = {t: []}
    for u, d in xs:
        collections.setdefault(u, []).append(d)
    below = sorted((u for u in collections if order.le(u, t)), key=order.key)
    found: dict[Any, Counter[Any]] = {}
    for u in below:
        found[u] = mset(collections[u])
        for p in maximal(order, [v for v in found if order.lt(v, u)]):
            found[u].update(found[p])
    return found[t]


def ihist_paths_op(
    order: Order[Any], tds: Iterable[tuple[Any, Any]] = (), abs: Iterable[tuple[Any, Any]] = ()
) -> Operator[Event, Event]:
    """Build the incremental histogram of section 5.1's second variant, which counts a collection once for each path.

    A time's histogram is its collection plus the histograms of its immediate predecessors among the times with data.
    """
    return comp_op(incr_batch_op(order, tds, abs), map_op(partial(S_paths, order)))
