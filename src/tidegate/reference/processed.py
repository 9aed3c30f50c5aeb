"""The rule for `process`: one copy of a user's operator per key, fed with complete times only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any

from tidegate.flow import plan
from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.errors import BadInput, BadResult
from tidegate.flow.processed import Row, not_a_row, put_out, stepping
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, units
from tidegate.flow.timers import Timer, checked_timer, undeclared
from tidegate.flow.values import freeze, ordered
from tidegate.reference.held import complete, grouped, keyed, with_time
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM
from tidegate.spec.parts import name_of
from tidegate.time import Order

__all__: list[str] = []


@evaluate.register
def _process(operator: plan.Process, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    order, give = schema.order, stepping(operator)
    events = on_time(inputs[0])
    keys = iter(keyed(running, [event.d for event in events if isinstance(event, DT)], schema, operator.by))
    held = complete(running, schema, [DT(e.t, (next(keys), e.d)) if isinstance(e, DT) else e for e in events])
    copies: dict[Hashable, tuple[Any, dict[str, Any], Any]] = {}
    timers: dict[Hashable, set[Any]] = {}
    seen: list[Any] = []
    out: Events = []

    def exits(done: Callable[[Any], bool]) -> None:
        """Call ``exit`` of the copies that are forgotten."""
        for name, (copy, key, last) in list(copies.items()):
            end = _forgotten_after(operator, schema, last)
            if done(end):
                del copies[name]
                out.extend(_exited(operator, order, key, copy, end))

    def call(key: dict[str, Any], t: Any, rows: list[Any]) -> None:
        name = freeze(key)
        # A copy of its own: an operator may change itself, instead of returning another.
        copy = copies[name][0] if name in copies else deepcopy(operator.operator)
        timers.setdefault(name, set()).discard(t)
        for item in [*(DT(t, Row(row)) for row in ordered(rows, schema.names)), WM(t)]:
            copy, answered = give(copy, item)
            for answer in answered:
                if operator.timers and isinstance(answer, Timer):
                    asked = checked_timer(operator.schema, answer, t, name_of(operator.operator), alone=not rows)
                    timers[name].add(asked)
                else:
                    out.extend(_checked(operator, order, key, [answer], t))
        copies[name] = (copy, key, t)

    def call_without_rows(come: Callable[[Any], bool]) -> None:
        due = [(t, copies[name][1]) for name, asked in timers.items() for t in asked if come(t)]
        for t, key in sorted(due, key=lambda pair: order.key(pair[0])):
            call(key, t, [])

    for event in held:
        if isinstance(event, WM):
            if operator.forget is not None:
                wm = event.t
                exits(lambda end, wm=wm: order.le(end, wm))  # type: ignore[misc]
            seen.append(event.t)
            call_without_rows(partial(_at_or_below, order, event.t))
            out.append(event)
            continue
        if operator.forget is not None:
            now = event.t
            exits(lambda end, now=now: order.le(end, now) and end != now)  # type: ignore[misc]
        # What is below a complete time is complete.
        call_without_rows(partial(_below, order, event.t))
        for key, rows in grouped(event.d):
            call(key, event.t, rows)
    if not running.ended:
        return out
    call_without_rows(lambda _: True)
    if operator.forget is not None:
        exits(lambda _: True)
    for copy, key, last in copies.values():
        for answer in _checked(operator, order, key, copy.exit(), last):
            if any(order.le(answer.t, wm) for wm in seen):
                raise BadResult(
                    f"expected at exit only times that are not complete yet, got {answer.t!r} of key {key}",
                    hint="answer at the latest when the time is given; a time that is complete stays as it is",
                )
            out.append(answer)
    return out


def _forgotten_after(operator: plan.Process, schema: Schema, last: Any) -> Any:
    """Return the last unit at which a copy that was given a time is remembered."""
    if operator.forget is None:
        return last
    type_ = schema.times[0].type or ""
    return from_units(units(last, type_) + operator.forget - 1, type_)


def _exited(operator: plan.Process, order: Order[Any], key: dict[str, Any], copy: Any, end: Any) -> list[DT[Any, Any]]:
    """Return what a forgotten copy puts out at its exit."""
    answered = list(copy.exit())
    for answer in answered:
        if isinstance(answer, DT) and order.contains(answer.t) and not order.le(end, answer.t):
            raise BadResult(
                f"expected at exit times at or above {end!r}, when the key is forgotten, got {answer.t!r} of key {key}",
                hint="answer at the last time that was given plus forget, less one unit; or later",
            )
    return _checked(operator, order, key, answered, end)


def _at_or_below(order: Order[Any], bound: Any, t: Any) -> bool:
    return order.le(t, bound)


def _below(order: Order[Any], bound: Any, t: Any) -> bool:
    return t != bound and order.le(t, bound)


def _checked(
    operator: plan.Process, order: Order[Any], key: dict[str, Any], answered: Iterable[Any], at: Any
) -> list[DT[Any, Any]]:
    """Return the rows that a copy put out at a time; its own watermarks are not needed."""
    name = name_of(operator.operator)
    columns = [operator.schema[c] for c in operator.columns]
    out = []
    for answer in (row for each in answered for row in put_out(operator.out, operator.operator, each)):
        if isinstance(answer, WM):
            continue
        if isinstance(answer, Timer):
            raise undeclared(answer, name)
        if not isinstance(answer, DT) or not isinstance(answer.d, dict) or set(answer.d) != set(operator.columns):
            raise not_a_row(operator, answer)
        if not (order.contains(answer.t) and order.le(at, answer.t)):
            raise BadResult(f"expected a time at or above {at!r}, which {name} was given, got {answer.t!r}")
        try:
            (row,) = rows_of(table_of([answer.d], columns))
        except BadInput as error:
            raise BadResult(f"{error.what} from {name}") from None
        out.append(DT(answer.t, with_time(operator.schema, answer.t, {**key, **row})))
    return out
