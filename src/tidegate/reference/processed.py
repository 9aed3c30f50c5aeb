"""The rule for `process`: one copy of a user's operator per key, fed with complete times only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import deepcopy
from typing import Any

from tidegate.flow import plan
from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.errors import BadInput, BadResult
from tidegate.flow.values import freeze, ordered
from tidegate.reference.held import complete, grouped, keyed, with_time
from tidegate.reference.run import Events, Running, evaluate, on_time
from tidegate.spec import DT, WM, Event
from tidegate.spec.operator import step
from tidegate.time import Order

__all__: list[str] = []


@evaluate.register
def _process(operator: plan.Process, running: Running, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    order = schema.order
    events = on_time(inputs[0])
    keys = iter(keyed(running, [event.d for event in events if isinstance(event, DT)], schema, operator.by))
    held = complete(schema, [DT(e.t, (next(keys), e.d)) if isinstance(e, DT) else e for e in events])
    copies: dict[Hashable, tuple[Any, dict[str, Any], Any]] = {}
    seen: list[Any] = []
    out: Events = []
    for event in held:
        if isinstance(event, WM):
            seen.append(event.t)
            out.append(event)
            continue
        for key, rows in grouped(event.d):
            # Of its own: an operator may change itself, rather than to answer another.
            copy = copies[freeze(key)][0] if freeze(key) in copies else deepcopy(operator.operator)
            given: list[Event] = [DT(event.t, row) for row in ordered(rows, schema.names)]
            for item in [*given, WM(event.t)]:
                copy, answered = step(copy, item)
                out += _checked(operator, order, key, answered, event.t)
            copies[freeze(key)] = (copy, key, event.t)
    for copy, key, last in copies.values():
        for answer in _checked(operator, order, key, copy.exit(), last):
            if any(order.le(answer.t, wm) for wm in seen):
                raise BadResult(
                    f"expected at exit only times that are not complete yet, got {answer.t!r} of key {key}",
                    hint="answer at the latest when the time is given; a time that is complete stays as it is",
                )
            out.append(answer)
    return out


def _checked(
    operator: plan.Process, order: Order[Any], key: dict[str, Any], answered: Iterable[Any], at: Any
) -> list[DT[Any, Any]]:
    """Answer the rows that a copy put out at a time; its own watermarks are not needed."""
    name = type(operator.operator).__name__
    columns = [operator.schema[c] for c in operator.columns]
    out = []
    for answer in answered:
        if isinstance(answer, WM):
            continue
        if not isinstance(answer, DT) or not isinstance(answer.d, dict) or set(answer.d) != set(operator.columns):
            raise BadResult(
                f"expected DT(t, dict of {', '.join(operator.columns)}) from {name}, got {answer!r}",
                hint="the key's columns and the time are added",
            )
        if not (order.contains(answer.t) and order.le(at, answer.t)):
            raise BadResult(f"expected a time at or above {at!r}, which {name} was given, got {answer.t!r}")
        try:
            (row,) = rows_of(table_of([answer.d], columns))
        except BadInput as error:
            raise BadResult(f"{error.what} from {name}") from None
        out.append(DT(answer.t, with_time(operator.schema, answer.t, {**key, **row})))
    return out
