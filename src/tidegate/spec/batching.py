"""The building blocks: batches of what is complete (`batch_op`), and everything so far (`incr_op`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tidegate.errors import WrongType
from tidegate.spec.basic import comp_op
from tidegate.spec.buffer import Buffer
from tidegate.spec.events import DT, WM, Event, check_event, check_shape
from tidegate.spec.operator import Operator
from tidegate.time import Order, maximal

__all__ = ["Batch", "batch_op", "batches", "incr_batch_op", "incr_op"]

T = TypeVar("T", bound=Hashable)

#: A batch: data with its time. Treat it as immutable; several events may share one.
Batch: TypeAlias = list[tuple[Any, Any]]


def batches(
    order: Order[T], wms: Iterable[T], tds: Iterable[tuple[T, Any]]
) -> tuple[list[DT[T, Batch]], Buffer[tuple[T, Any]]]:
    """Return one batch for each watermark, of the data that it is the first to complete; and the data that is left.

    >>> from tidegate.time import Nat
    >>> batches(Nat(), [1, 5], [(2, "b"), (0, "a"), (7, "c")])
    ([DT(1, [(0, 'a')]), DT(5, [(2, 'b')])], [(7, 'c')])
    """
    rest = tds if isinstance(tds, Buffer) else Buffer(tds)
    out: list[DT[T, Batch]] = []
    for wm in wms:
        batch, rest = rest.split(lambda td, wm=wm: order.le(td[0], wm))  # type: ignore[misc]
        out.append(DT(wm, batch))
    return out, rest


@dataclass(frozen=True, slots=True)
class _Batch(Operator[Event, Event]):
    order: Order[Any]
    tds: Buffer[tuple[Any, Any]]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_event(self.order, event)
        if isinstance(event, DT):
            return _Batch(self.order, self.tds.append((event.t, event.d))), []
        out, rest = batches(self.order, [event.t], self.tds)
        return _Batch(self.order, rest), [*(batch for batch in out if batch.d), event]

    def exit(self) -> Iterable[Event]:
        wms = maximal(self.order, [t for t, _ in self.tds])
        return batches(self.order, wms, self.tds)[0]


def batch_op(order: Order[Any], tds: Iterable[tuple[Any, Any]] = ()) -> Operator[Event, Event]:
    """Build the operator that holds data until a watermark completes it, and puts it out as one batch.

    The end of the input completes everything.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> list(produce(batch_op(Nat()), [DT(1, "a"), DT(3, "b"), DT(0, "c"), WM(1)]))
    [DT(1, [(1, 'a'), (0, 'c')]), WM(1), DT(3, [(3, 'b')])]
    """
    return _Batch(order, Buffer(tds))


@dataclass(frozen=True, slots=True)
class _Incr(Operator[Event, Event]):
    abs: Buffer[tuple[Any, Any]]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_shape(event)
        if isinstance(event, WM):
            return self, [event]
        if not isinstance(event.d, list) or not all(isinstance(td, tuple) and len(td) == 2 for td in event.d):
            raise WrongType(
                f"expected a batch, a list of (time, data), got {event.d!r}", hint="put batch_op before incr_op"
            )
        accumulated = self.abs.extend(event.d)
        batch: Batch = list(accumulated)
        return _Incr(accumulated), [DT(t, batch) for t in dict.fromkeys(t for t, _ in event.d)]


def incr_op(abs: Iterable[tuple[Any, Any]] = ()) -> Operator[Event, Event]:
    """Build the operator that takes batches and puts out, for each time in a batch, all batches so far.

    The times come in the order of their first occurrence in the batch.

    >>> from tidegate.spec import produce
    >>> list(produce(incr_op(), [DT(1, [(1, "a"), (0, "b")]), WM(1), DT(2, [(2, "c")])]))
    [DT(1, [(1, 'a'), (0, 'b')]), DT(0, [(1, 'a'), (0, 'b')]), WM(1), DT(2, [(1, 'a'), (0, 'b'), (2, 'c')])]
    """
    return _Incr(Buffer(abs))


def incr_batch_op(
    order: Order[Any], tds: Iterable[tuple[Any, Any]] = (), abs: Iterable[tuple[Any, Any]] = ()
) -> Operator[Event, Event]:
    """Build the composition of `batch_op` and `incr_op`: for each complete time, all that is complete so far.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> list(produce(incr_batch_op(Nat()), [DT(1, "a"), DT(0, "b"), WM(0), WM(1)]))
    [DT(0, [(0, 'b')]), WM(0), DT(1, [(0, 'b'), (1, 'a')]), WM(1)]
    """
    return comp_op(batch_op(order, tds), incr_op(abs))
