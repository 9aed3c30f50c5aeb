"""The arguments and results of `process`: rows that can be counted, operators of the specification, their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tidegate.flow.errors import BadArgument, BadResult, BadTime, NotSupported
from tidegate.flow.plan import Process
from tidegate.flow.schema import Schema
from tidegate.flow.values import freeze
from tidegate.spec import DT
from tidegate.spec.parts import depends_on_extension, gives_batches, name_of, orders_of, takes_batches, takes_two
from tidegate.time import EventTime, Int, Lexicographic, Order, Product

__all__ = ["Row", "check_operator", "not_a_row", "put_out"]

#: Orders in which times compare as their values do in Python.
_BY_VALUE = (Int, EventTime)


class Row(dict[str, Any]):
    """A row as a dict that can be hashed, as histograms need, and in which NaN equals itself. It must not be changed.

    >>> from collections import Counter
    >>> Counter([Row(k="a", xs=[1]), Row(k="a", xs=[1])])
    Counter({{'k': 'a', 'xs': [1]}: 2})
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(freeze(self))

    def __eq__(self, other: object) -> bool:
        return dict.__eq__(self, other) or (isinstance(other, Row) and bool(freeze(self) == freeze(other)))

    def __ne__(self, other: object) -> bool:
        return not self == other


def check_operator(operator: Any, schema: Schema, out: Any) -> None:
    """Raise unless an operator can process the rows of a stream, and ``out`` fits to it."""
    works = callable(getattr(operator, "apply", None)) and callable(getattr(operator, "exit", None))
    if isinstance(operator, type) or not works:
        got = f"{operator!r} ({type(operator).__name__})"
        hint = "pass an operator, not its class or a function; see tidegate.spec"
        raise BadArgument(f"expected an operator with apply(event) and exit(), got {got}", hint=hint)
    _check_timers(operator, schema)
    _check_out(operator, out)
    if takes_two(operator):
        raise BadArgument(
            f"expected an operator on one stream, got {name_of(operator)}: union_op and join_op take two, whose times "
            "are Inl and Inr",
            hint="unite or join the streams first, with union(…) or join(…)",
        )
    if takes_batches(operator):
        raise BadArgument(
            f"expected an operator on rows, got {name_of(operator)}: incr_op takes batches",
            hint="incr_batch_op(order), which has batch_op before it",
        )
    for order in orders_of(operator):
        if not _agrees(order, schema.order):
            raise BadTime(
                f"expected {name_of(operator)} on the order of the stream's times, {schema.order!r}, got {order!r}",
                hint="the order of a stream is stream.schema.order",
            )
    if not schema.order.total and (part := depends_on_extension(operator)):
        raise NotSupported(
            f"expected an operator whose answers do not depend on the order of unrelated times, got {part}",
            hint="ihist_op(order) counts what is at or below a time, and accumulate(…) has other aggregates; or write "
            "an operator that looks only at what is at or below the time that is complete",
        )


def _check_timers(operator: Any, schema: Schema) -> None:
    if getattr(operator, "timers", False) is not True:
        return
    if callable(getattr(operator, "apply_batch", None)):
        raise BadArgument(
            f"expected an operator with timers or with apply_batch, got {type(operator).__name__} with both",
            hint="leave apply_batch out: it is given the rows of many times at once",
        )
    has_state = all(callable(getattr(operator, name, None)) for name in ("state", "resume"))
    if not schema.order.total and not has_state:
        raise NotSupported(
            f"expected an operator with state() and resume(…), as it has timers on several time columns, got "
            f"{type(operator).__name__}",
            hint="without them, its calls would be repeated in each step, and perhaps in another order",
        )


def _check_out(operator: Any, out: Any) -> None:
    if out is None:
        if gives_batches(operator):
            raise BadArgument(
                f"expected out, as {name_of(operator)} puts out lists of (time, row)",
                hint='out=lambda batch: [{"x": row["x"]} for t, row in batch]',
            )
        return
    if not callable(out):
        raise BadArgument(
            f"expected a function from what the operator puts out to a dict, or to a list of dicts, in out, got "
            f"{out!r} ({type(out).__name__})",
            hint="out=lambda data: {…}",
        )
    if callable(getattr(operator, "apply_batch", None)):
        raise BadArgument(
            f"expected no out, as {type(operator).__name__} has apply_batch, which returns tables",
            hint="let apply_batch return the columns of the schema",
        )


def _agrees(own: Order[Any], of_stream: Order[Any]) -> bool:
    """Whether an order compares times as the stream's own order does. Times that it does not have fail at run time."""
    if own == of_stream:
        return True
    for kind in (Product, Lexicographic):
        if isinstance(own, kind) and isinstance(of_stream, kind):
            return len(own.parts) == len(of_stream.parts) and all(map(_agrees, own.parts, of_stream.parts))
    # That both are total says nothing: a Poset may list the same times the other way round. These compare values.
    return isinstance(own, _BY_VALUE) and isinstance(of_stream, _BY_VALUE)


def put_out(out: Callable[[Any], Any] | None, operator: Any, answer: Any) -> list[Any]:
    """Return what an operator puts out with ``out`` applied to its data; what is not data is unchanged."""
    if out is None or not isinstance(answer, DT):
        return [answer]
    made = out(answer.d)
    if isinstance(made, dict):
        return [DT(answer.t, made)]
    if isinstance(made, str | bytes) or not isinstance(made, Iterable):
        raise BadResult(
            f"expected a dict, or a list of dicts, from out for {answer.d!r} of {name_of(operator)}, got {made!r} "
            f"({type(made).__name__})",
            hint="an empty list, if nothing is to come out",
        )
    return [DT(answer.t, row) for row in made]


def not_a_row(operator: Process, answer: Any) -> BadResult:
    """Build the error for an answer that is not a row of the declared columns."""
    plain = isinstance(answer, DT) and isinstance(answer.d, dict) and not isinstance(answer.d, Counter)
    other = isinstance(answer, DT) and not plain and operator.out is None
    return BadResult(
        f"expected DT(t, dict of {', '.join(operator.columns)}) from {name_of(operator.operator)}"
        f"{' and out' if operator.out else ''}, got {answer!r}",
        hint="give out=…, a function from this data to a dict, or to a list of dicts"
        if other
        else "the key's columns and the time are added",
    )
