"""Operators that ignore watermarks, composition, and the time-aware `map_op` and `flatten_op`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from tidegate.errors import WrongType
from tidegate.spec.events import DT, WM, Event, check_shape
from tidegate.spec.operator import Operator, fproduce, produce, step

__all__ = ["bulk_op", "comp_op", "count_op", "flatten_op", "map_op", "skip_op"]

X = TypeVar("X")
Y = TypeVar("Y")
Z = TypeVar("Z")

BETWEEN = "between the two parts of a composition"


@dataclass(frozen=True, slots=True)
class _Comp(Operator[X, Z]):
    first: Operator[X, Any]
    second: Operator[Any, Z]

    def apply(self, event: X) -> tuple[Operator[X, Z], list[Z]]:
        first, between = step(self.first, event)
        second, out = fproduce(self.second, between, where=BETWEEN)
        return _Comp(first, second), out

    def exit(self) -> Iterator[Z]:
        return produce(self.second, self.first.exit(), where=BETWEEN)


def comp_op(op1: Operator[X, Y], op2: Operator[Y, Z]) -> Operator[X, Z]:
    """Build the operator that gives the output of ``op1`` as input to ``op2``.

    >>> double = map_op(lambda t, d: 2 * d)
    >>> list(produce(comp_op(double, double), [DT(0, 1), WM(0)]))
    [DT(0, 4), WM(0)]
    """
    return _Comp(op1, op2)


@dataclass(frozen=True, slots=True)
class _Skip(Operator[X, Y]):
    op: Operator[X, Y]
    n: int

    def apply(self, event: X) -> tuple[Operator[X, Y], list[Y]]:
        op, out = step(self.op, event)
        if len(out) < self.n:
            return _Skip(op, self.n - len(out)), []
        return op, out[self.n :]

    def exit(self) -> Iterator[Y]:
        return islice(self.op.exit(), self.n, None)


def skip_op(op: Operator[X, Y], n: int) -> Operator[X, Y]:
    """Build the operator that behaves like ``op`` without its first ``n`` outputs.

    >>> list(produce(skip_op(map_op(lambda t, d: d), 2), [DT(0, "a"), WM(0), DT(1, "b")]))
    [DT(1, 'b')]
    """
    if n < 0:
        raise ValueError(f"expected a number of outputs to skip, at least 0, got {n!r}")
    return _Skip(op, n)


@dataclass(frozen=True, slots=True)
class _Bulk(Operator[X, Y]):
    f: Callable[[list[X]], list[Y]]
    n: int
    buf: tuple[X, ...]

    def apply(self, event: X) -> tuple[Operator[X, Y], list[Y]]:
        buf = (event, *self.buf)
        if len(buf) < self.n:
            return _Bulk(self.f, self.n, buf), []
        return _Bulk(self.f, self.n, ()), self.f(list(buf))

    def exit(self) -> Iterable[Y]:
        return self.f(list(self.buf))


def bulk_op(f: Callable[[list[X]], list[Y]], n: int, buf: Iterable[X] = ()) -> Operator[X, Y]:
    """Build the operator that collects ``n`` inputs, newest first, and puts out ``f`` of them; at the end, of the rest.

    >>> list(produce(bulk_op(lambda xs: [sum(xs)], 2), [1, 2, 3, 4, 5]))
    [3, 7, 5]
    """
    return _Bulk(f, n, tuple(buf))


@dataclass(frozen=True, slots=True)
class _Count(Operator[X, int]):
    p: Callable[[X], bool]
    n: int

    def apply(self, event: X) -> tuple[Operator[X, int], list[int]]:
        if not self.p(event):
            return self, []
        return _Count(self.p, self.n + 1), [self.n + 1]


def count_op(p: Callable[[X], bool], n: int = 0) -> Operator[X, int]:
    """Build the operator that counts the inputs that satisfy ``p``, from ``n``, and puts out each new count.

    >>> list(produce(count_op(lambda x: x > 2), [1, 3, 2, 5]))
    [1, 2]
    """
    return _Count(p, n)


@dataclass(frozen=True, slots=True)
class _Map(Operator[Event, Event]):
    f: Callable[[Any, Any], Any]

    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_shape(event)
        return self, [event if isinstance(event, WM) else DT(event.t, self.f(event.t, event.d))]


def map_op(f: Callable[[Any, Any], Any]) -> Operator[Event, Event]:
    """Build the operator that replaces data ``d`` at time ``t`` by ``f(t, d)``; watermarks pass.

    >>> list(produce(map_op(lambda t, d: d * t), [DT(2, "a"), WM(2)]))
    [DT(2, 'aa'), WM(2)]
    """
    return _Map(f)


@dataclass(frozen=True, slots=True)
class _Flatten(Operator[Event, Event]):
    def apply(self, event: Event) -> tuple[Operator[Event, Event], list[Event]]:
        check_shape(event)
        if isinstance(event, WM):
            return self, [event]
        if not isinstance(event.d, Iterable):
            raise WrongType(
                f"expected a list as data, got {event.d!r} ({type(event.d).__name__})",
                hint="flatten_op takes lists apart",
            )
        return self, [DT(event.t, x) for x in event.d]


def flatten_op() -> Operator[Event, Event]:
    """Build the operator that turns data that is a list into one event for each element, at the same time.

    >>> list(produce(flatten_op(), [DT(1, ["a", "b"]), WM(1)]))
    [DT(1, 'a'), DT(1, 'b'), WM(1)]
    """
    return _Flatten()
