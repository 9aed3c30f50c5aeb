"""What the statements are about: collections, times, watermarks and batches of a stream (Figure 5 and after).

The names are the paper's. Streams are finite here: lists of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from tidegate.spec.batching import Batch
from tidegate.spec.events import DT, WM, Event
from tidegate.spec.histogram import S_coll, mset
from tidegate.time import Order, maximal

__all__ = [
    "DTs",
    "S_coll",
    "S_lcoll",
    "WMs",
    "acc_batches",
    "batch_ts",
    "coll",
    "incompletes",
    "lcoll",
    "ltake_DT",
    "map_filter",
    "set_t",
    "ts",
    "ws",
    "ws2",
]

X = TypeVar("X")
Y = TypeVar("Y")
T = TypeVar("T", bound=Hashable)


def map_filter(f: Callable[[X], Y | None], xs: Iterable[X]) -> list[Y]:
    """Return the results of ``f`` on the elements, without the Nones."""
    return [y for x in xs if (y := f(x)) is not None]


def DTs(lxs: Iterable[Event], t: Any) -> list[Any]:
    """Return the data at exactly ``t``, in the order of arrival."""
    return [e.d for e in lxs if isinstance(e, DT) and e.t == t]


def WMs(lxs: Iterable[Event]) -> set[Any]:
    """Return the times of the watermarks."""
    return {e.t for e in lxs if isinstance(e, WM)}


def lcoll(lxs: Iterable[Event], t: Any) -> Counter[Any]:
    """Return the collection of ``t`` in a stream: the multiset of data at exactly ``t``."""
    return mset(DTs(lxs, t))


def coll(xs: Batch, t: Any) -> Counter[Any]:
    """Return the collection of ``t`` in a batch."""
    return mset(d for u, d in xs if u == t)


def set_t(xs: Batch) -> set[Any]:
    """Return the times of a batch."""
    return {t for t, _ in xs}


def ts(order: Order[T], lxs: Iterable[Event], t: T) -> set[T]:
    """Return the times at or below ``t`` that carry data."""
    return {e.t for e in lxs if isinstance(e, DT) and order.le(e.t, t)}


def ws(lxs: Iterable[Event], wm: Any) -> set[Any]:
    """Return the watermarks before the first ``WM(wm)``."""
    found: set[Any] = set()
    for event in lxs:
        if isinstance(event, WM):
            if event.t == wm:
                break
            found.add(event.t)
    return found


def incompletes(order: Order[T], lxs: Sequence[Event]) -> list[T]:
    """Return the maximal times among those that carry data and that no watermark of the stream covers."""
    wms = WMs(lxs)
    return maximal(order, [e.t for e in lxs if isinstance(e, DT) and not any(order.le(e.t, w) for w in wms)])


def ws2(order: Order[T], lxs: Sequence[Event], wm: T) -> set[T]:
    """Return what takes the place of the watermarks before ``wm`` when the input ends."""
    found: set[T] = set()
    for t in incompletes(order, lxs):
        if t == wm:
            break
        found.add(t)
    return found


def batch_ts(order: Order[T], lxs: Sequence[Event], wm: T) -> set[T]:
    """Return the times that belong into the batch at ``wm``: at or below it, and not completed by anything earlier."""
    wms = WMs(lxs)
    earlier = ws(lxs, wm) if wm in wms else ws2(order, lxs, wm) | wms
    return {t for t in ts(order, lxs, wm) if not any(order.le(t, w) for w in earlier)}


def ltake_DT(n: int, lxs: Iterable[Event]) -> Batch:
    """Return the data with its times among the first ``n`` events."""
    found: Batch = []
    if n > 0:
        for i, event in enumerate(lxs, start=1):
            if isinstance(event, DT):
                found.append((event.t, event.d))
            if i == n:
                break
    return found


def acc_batches(n: int, lxs: Iterable[Event]) -> Batch:
    """Return the concatenation of the batches among the first ``n`` events."""
    return [td for _, batch in ltake_DT(n, lxs) for td in batch]


def S_lcoll(order: Order[Any], lxs: Iterable[Event], t: Any) -> Counter[Any]:
    """Return the sum of the collections of a stream at or below ``t``."""
    return mset(e.d for e in lxs if isinstance(e, DT) and order.le(e.t, t))
