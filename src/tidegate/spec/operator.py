"""Operators as state machines, and what they produce from a stream: `produce1`, `produce`, `fproduce`.

>>> from tidegate.spec import count_op
>>> list(produce(count_op(str.isupper), "aBcDE"))
[1, 2, 3]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidegate.errors import TidegateError, WrongType
from tidegate.spec.streams import Lasso, tail

__all__ = ["Ended", "Operator", "Produced", "Undecided", "fproduce", "produce", "produce1", "step"]

I = TypeVar("I", contravariant=True)
O = TypeVar("O", covariant=True)
X = TypeVar("X")
Y = TypeVar("Y")

#: What messages call the input.
STREAM = "of the stream"


class Operator(ABC, Generic[I, O]):
    """An immutable state machine: `apply` takes one input to the next state and some outputs; `exit` ends it.

    Any object with these two methods is an operator. Two operators that are equal behave alike; `Lasso` relies on it.
    """

    __slots__ = ()

    @abstractmethod
    def apply(self, event: I, /) -> tuple[Operator[I, O], list[O]]:
        """Return the operator after ``event``, and what it puts out."""

    def exit(self) -> Iterable[O]:
        """Return what is put out when the input ends."""
        return ()


class Undecided(TidegateError, RuntimeError):
    """An operator's state keeps changing on a `Lasso` without output, so nothing is known about later outputs."""


@dataclass(frozen=True, slots=True)
class Produced(Generic[X, Y]):
    """The first outputs: the operator after them, the first, the others of the same step, and the rest of the input."""

    op: Operator[X, Y]
    x: Y
    xs: list[Y]
    rest: Iterable[X]


@dataclass(frozen=True, slots=True)
class Ended(Generic[X, Y]):
    """The input ended without an output; this is the operator then."""

    op: Operator[X, Y]


def step(op: Operator[X, Y], event: X) -> tuple[Operator[X, Y], list[Y]]:
    """Apply ``op`` to one event, and check the shape of its answer."""
    answer: Any = op.apply(event)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], list):
        following = answer[0]
        if hasattr(following, "apply") and hasattr(following, "exit"):
            return answer
    raise WrongType(
        f"expected (operator, list of outputs) from apply, got {answer!r}",
        hint="return a pair: the operator to continue with (self, if nothing changed), and a list, empty for no output",
    ).at(f"operator {type(op).__name__}")


def produce1(
    op: Operator[X, Y], events: Iterable[X], *, patience: int | None = 1000, where: str = STREAM
) -> Produced[X, Y] | Ended[X, Y] | None:
    """Run ``op`` to its first output; return None if it provably never has one.

    That can be decided on a `Lasso`: the same state at the same place means that everything repeats. If the state
    goes on changing for ``patience`` rounds, the result is `Undecided`; with None, it waits as on any endless stream.
    ``where`` is what messages call the stream.
    """
    iterator = iter(events)
    repeats = _Repetition(events, patience) if isinstance(events, Lasso) else None
    for taken, event in enumerate(iterator):
        if repeats is not None and repeats.found(op, taken):
            return None
        try:
            op, out = step(op, event)
        except TidegateError as error:
            raise error.at(_place(events, taken, event, where)) from None
        if out:
            return Produced(op, out[0], out[1:], tail(events, iterator, taken + 1))
    return Ended(op)


class _Repetition:
    """Brent's algorithm to find that states repeat: compare with one that is replaced at powers of two."""

    __slots__ = ("_checkpoint", "_lasso", "_patience", "_renew", "_rounds")

    def __init__(self, lasso: Lasso[Any], patience: int | None) -> None:
        self._lasso = lasso
        self._patience = patience
        self._checkpoint: Operator[Any, Any] | None = None
        self._rounds, self._renew = 0, 1

    def found(self, op: Operator[Any, Any], taken: int) -> bool:
        into = taken - len(self._lasso.prefix)
        if into < 0 or into % len(self._lasso.cycle):
            return False
        if self._checkpoint is not None and self._checkpoint == op:
            return True
        if self._patience is not None and self._rounds > self._patience:
            raise Undecided(
                f"expected an output or a state that repeats within {self._patience} rounds of the cycle, got neither",
                hint="give a larger patience, or an operator whose state stays bounded on this stream",
            ).at(f"operator {type(op).__name__}")
        if self._rounds in (0, self._renew):
            self._checkpoint, self._renew = op, 2 * self._rounds or 1
        self._rounds += 1
        return False


def produce(op: Operator[X, Y], events: Iterable[X], *, where: str = STREAM) -> Iterator[Y]:
    """Run ``op`` over a stream, lazily: no event is read before it is needed.

    >>> from itertools import count, islice
    >>> from tidegate.spec import DT, WM, batch_op
    >>> from tidegate.time import Nat
    >>> endless = (e for n in count() for e in (DT(n, "a"), WM(n)))
    >>> list(islice(produce(batch_op(Nat()), endless), 3))
    [DT(0, [(0, 'a')]), WM(0), DT(1, [(1, 'a')])]
    """
    _check_operator(op)
    rest: Iterable[X] = events if isinstance(events, Lasso) else _Counted(events)
    while True:
        first = produce1(op, rest, patience=None, where=where)
        if first is None:
            return
        if isinstance(first, Ended):
            yield from _exit(first.op, where)
            return
        yield first.x
        yield from first.xs
        op, rest = first.op, first.rest


def _exit(op: Operator[X, Y], where: str) -> Iterator[Y]:
    try:
        last: Any = op.exit()
        if not isinstance(last, Iterable):
            raise WrongType(
                f"expected the last outputs, as a list or another iterable, from exit, got {last!r}",
                hint="return an empty list if nothing is left",
            ).at(f"operator {type(op).__name__}")
        yield from last
    except TidegateError as error:
        raise error.at(f"the end {where}") from None


def fproduce(op: Operator[X, Y], events: Iterable[X], *, where: str = STREAM) -> tuple[Operator[X, Y], list[Y]]:
    """Run ``op`` over a finite list without ending it; return the operator after it and all outputs."""
    _check_operator(op)
    outputs: list[Y] = []
    for taken, event in enumerate(events):
        try:
            op, out = step(op, event)
        except TidegateError as error:
            raise error.at(_place(events, taken, event, where)) from None
        outputs += out
    return op, outputs


def _check_operator(op: object) -> None:
    if not (hasattr(op, "apply") and hasattr(op, "exit")) or isinstance(op, type):
        raise WrongType(
            f"expected an operator, got {op!r} ({type(op).__name__})",
            hint="an operator has apply(event) and exit(); build one, for example with batch_op(order)",
        )


class _Counted(Iterator[X]):
    """An iterator that counts the events taken from it, for messages."""

    __slots__ = ("_iterator", "taken")

    def __init__(self, events: Iterable[X]) -> None:
        self._iterator = iter(events)
        self.taken = 0

    def __next__(self) -> X:
        event = next(self._iterator)
        self.taken += 1
        return event


def _place(events: Iterable[X], taken: int, event: X, where: str) -> str:
    number = taken
    if isinstance(events, _Counted):
        number = events.taken - 1
    elif isinstance(events, Lasso):
        number += events.dropped
    return f"event {number} {where} (counted from 0): {event!r}"
