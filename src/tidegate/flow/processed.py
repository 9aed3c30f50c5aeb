"""The arguments and results of `process`: rows that can be counted, operators of the specification, their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tidegate.flow.errors import BadArgument, BadResult, BadTime, NotSupported
from tidegate.flow.plan import Process
from tidegate.flow.schema import Schema
from tidegate.flow.timers import Timer, undeclared
from tidegate.flow.values import freeze
from tidegate.spec import DT
from tidegate.spec.operator import step
from tidegate.spec.parts import (
    answers_endlessly,
    depends_on_extension,
    gives_batches,
    has_schedule,
    later_answers,
    long_window,
    name_of,
    orders_along,
    takes_batches,
    window_of,
)
from tidegate.time import EventTime, Int, Lexicographic, Order, Product, Sum

__all__ = ["Row", "check_forgettable", "check_operator", "not_a_row", "put_out", "stepping"]


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
    if takes_batches(operator):
        raise BadArgument(
            f"expected an operator on rows, got {name_of(operator)}: incr_op takes batches",
            hint="incr_batch_op(order), which has batch_op before it",
        )
    _check_orders(operator, schema.order)
    _check_windows(operator, schema.order)
    if not schema.order.total and (part := depends_on_extension(operator)):
        raise NotSupported(
            f"expected an operator whose answers do not depend on the order of unrelated times, got {part}",
            hint="ihist_op(order) counts what is at or below a time, and accumulate(…) has other aggregates; or write "
            "an operator that looks only at what is at or below the time that is complete",
        )


def _check_orders(operator: Any, order: Order[Any]) -> None:
    """Raise unless an operator takes times of the stream's order, and its answers have such times, too."""
    needed, of_answers = orders_along(operator, order)
    name = name_of(operator)
    for each in needed:
        if _agrees(each.own, each.given):
            continue
        if isinstance(each.own, Sum) and not isinstance(each.given, Sum):
            raise BadArgument(f"expected an operator on one stream, got {name}: it takes two, {_SIDES}", hint=_TWO)
        by_units = each.in_units and not isinstance(each.given, Int | EventTime)
        raise BadTime(
            f"expected {name} on the order of the stream's times, {order!r}, got {each.own!r}",
            hint="operators of tidegate.spec.aggregate need one time column of whole numbers, dates or timestamps; "
            "here, use aggregate(…) or accumulate(…)"
            if by_units
            else "the order of a stream is stream.schema.order",
        )
    if _agrees(of_answers, order):
        return
    if isinstance(order, Sum):
        # The result of `process` has the time columns of its input, and a time of one side is none of these.
        raise BadArgument(
            f"expected an operator whose answers have times of the stream, {order!r}, got {name}: it makes one stream "
            f"of two, and its answers have times of {of_answers!r}",
            hint=f"make each side a source of its own, and {_TWO}",
        )
    raise BadArgument(
        f"expected an operator whose answers have times of the stream, {order!r}, got {name}: it makes two streams of "
        f"one, {_SIDES}",
        hint="let an operator follow that makes one stream of the two: merge_op(order), union_op(order), J(order, …)",
    )


#: What tells the times of two streams apart.
_SIDES = "whose times are Inl and Inr"
#: What to use on two streams.
_TWO = "use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J"


def _check_windows(operator: Any, order: Order[Any]) -> None:
    """Raise if an operator of the paper on Aggregates answers at times that nothing can call it at."""
    name = name_of(operator)
    if answers_endlessly(operator):
        raise NotSupported(
            f"expected an operator that answers because of rows, got {name}: state that comes round a loop, as "
            "that of A-infinity, is answered at the end of every period, without end",
            hint="use accumulate(…, every=…)",
        )
    if has_schedule(operator):
        raise NotSupported(
            f"expected a loop without a schedule, got {name}: what comes round late would be an answer at a time that "
            "is complete",
            hint="leave schedule out",
        )
    if not order.total and (part := long_window(operator)) is not None:
        raise NotSupported(
            f"expected windows of one unit on times that do not all compare, got {name_of(part)} with windows of "
            f"{window_of(part).size}",
            hint="make each side a source of its own, and use window(…).aggregate(…)",
        )


def check_forgettable(operator: Any) -> None:
    """Raise if an operator asks to be called later, which one whose keys are forgotten cannot."""
    if getattr(operator, "timers", False) is True:
        raise NotSupported(
            f"expected an operator without timers, as keys are forgotten, got {type(operator).__name__}",
            hint="leave forget out: with a timer after each row, an operator can see for itself that none came",
        )
    if (part := long_window(operator)) is not None:
        raise NotSupported(
            f"expected windows of one unit, as keys are forgotten, got {name_of(part)} with windows of "
            f"{window_of(part).size}",
            hint="leave forget out, or use window(…).aggregate(…), which keeps a window until it has answered",
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
    if isinstance(own, Sum) and isinstance(of_stream, Sum):
        return _agrees(own.left, of_stream.left) and _agrees(own.right, of_stream.right)
    for kind in (Product, Lexicographic):
        if isinstance(own, kind) and isinstance(of_stream, kind):
            return len(own.parts) == len(of_stream.parts) and all(map(_agrees, own.parts, of_stream.parts))
    # That both are total says nothing: a Poset may list the same times the other way round. These compare numbers.
    return isinstance(own, Int) and isinstance(of_stream, Int)


def stepping(operator: Process) -> Callable[[Any, Any], tuple[Any, list[Any]]]:
    """Return the function that gives an event to a copy, and returns the copy after it and what it put out.

    An Aggregate answers when a watermark reaches the end of a window, and `process` gives watermarks only at times
    with rows. So a timer is added for each window that a row falls into: then the copy is called at its last time.
    """
    if not operator.windowed:
        return step
    own = operator.operator
    name, asks = name_of(own), getattr(own, "timers", False) is True
    # The times of windows' ends for the last time that was asked about: rows of one time come one after another.
    known: list[tuple[Any, list[Any]]] = []

    def ends(t: Any) -> list[Any]:
        if not known or known[0][0] != t:
            known[:] = [(t, sorted(later_answers(own, t) - {t}))]
        return known[0][1]

    def step_and_ask(copy: Any, event: Any) -> tuple[Any, list[Any]]:
        timers: list[Timer] = []
        if isinstance(event, DT):
            try:
                timers = list(map(Timer, ends(event.t)))
            except OverflowError:
                raise BadResult(
                    f"expected windows of {name} that end at a time, got a row at {event.t!r}",
                    hint="leave out rows at the end of time, with where(…)",
                ) from None
        following, answered = step(copy, event)
        for answer in answered:
            if isinstance(answer, Timer) and not asks:
                raise undeclared(answer, name)
        return following, [*answered, *timers]

    return step_and_ask


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
