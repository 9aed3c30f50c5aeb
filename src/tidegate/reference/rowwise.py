"""Rules for operators that work row by row: only `at` changes the time of a row, and late rows pass too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tidegate.flow import plan
from tidegate.flow.arrow import checked_result, rows_of, table_of
from tidegate.flow.errors import BadResult
from tidegate.flow.expressions import Expression
from tidegate.flow.limits import Limit, out_of_range
from tidegate.flow.moves import BACK, NULL_TIME
from tidegate.flow.schema import Schema
from tidegate.flow.spans import span_value, units
from tidegate.reference.inputs import LateEvent, RejectedRow
from tidegate.reference.run import Events, ReferenceRun, evaluate
from tidegate.spec import DT, WM, comp_op, flatten_op, map_op, produce
from tidegate.time import TOP, Bound

__all__: list[str] = []


def flat_map(events: Events, function: Callable[[list[Any]], list[list[Any]]]) -> Events:
    """Replace each row by some rows at its time; ``function`` is given all rows at once."""
    rows = [event.d for event in events if not isinstance(event, WM)]
    results = function(rows) if rows else []
    numbers = iter(range(len(rows)))
    operator = comp_op(map_op(lambda _, number: results[number]), flatten_op())
    out: Events = []
    for event in events:
        if isinstance(event, LateEvent):
            out += [LateEvent(event.t, row, event.origin) for row in results[next(numbers)]]
        else:
            out += produce(operator, [event if isinstance(event, WM) else DT(event.t, next(numbers))])
    return out


def _with(event: Any, data: Any) -> Any:
    return LateEvent(event.t, data, event.origin) if isinstance(event, LateEvent) else DT(event.t, data)


@evaluate.register
def _where(operator: plan.Where, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)

    def kept(rows: list[Any]) -> list[list[Any]]:
        values = running.duck.scalars(rows, schema, [operator.condition])
        return [[row] if value is True else [] for row, (value,) in zip(rows, values, strict=True)]

    return flat_map(inputs[0], kept)


@evaluate.register
def _select(operator: plan.Select, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    return flat_map(inputs[0], lambda rows: [[row] for row in project(running, rows, schema, operator.outputs)])


def project(
    running: ReferenceRun, rows: list[Any], schema: Schema, outputs: tuple[Expression, ...]
) -> list[dict[str, Any]]:
    """Return, for each row, a row of the values of some expressions."""
    names = [output.name for output in outputs]
    return [dict(zip(names, values, strict=True)) for values in running.duck.scalars(rows, schema, outputs)]


@evaluate.register(plan.Explode)
@evaluate.register(plan.Unfold)
def _explode(operator: plan.Explode | plan.Unfold, running: ReferenceRun, inputs: list[Events]) -> Events:  # noqa: ARG001
    name = operator.column
    return flat_map(inputs[0], lambda rows: [[{**row, name: x} for x in row[name] or ()] for row in rows])


@evaluate.register
def _map_batches(operator: plan.MapBatches, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    out: Events = []
    held: list[Any] = []

    def release() -> None:
        # A batch is what came between two watermarks. A late row is a batch of its own, so that its results can be told
        # apart.
        batch = [event for event in held if not isinstance(event, LateEvent)]
        if batch:
            out.extend(_mapped(operator, schema, batch))
        for event in held:
            if isinstance(event, LateEvent):
                out.extend(_mapped(operator, schema, [event]))
        held.clear()

    for event in inputs[0]:
        if isinstance(event, WM):
            release()
            out.append(event)
        else:
            held.append(event)
    release()
    return out


def _mapped(operator: plan.MapBatches, schema: Schema, batch: list[Any]) -> Events:
    table = table_of([event.d for event in batch], schema.columns).combine_chunks()
    given = table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], table.schema)
    returned = checked_result(operator.function(given), operator.schema.columns, operator.function)
    by_time = {event.t: event for event in batch}
    out: Events = []
    for row in rows_of(returned):
        t = operator.schema.time_of(row)
        if operator.schema.time and t not in by_time:
            name = getattr(operator.function, "__qualname__", repr(operator.function))
            raise BadResult(
                f"expected from {name} only times that are in its batch, got {t!r}",
                hint="a function may drop, change and multiply rows, but a row keeps its time",
            )
        out.append(_with(by_time.get(t, batch[0]), row))
    return out


@evaluate.register
def _at(operator: plan.At, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    rows = [event.d for event in inputs[0] if not isinstance(event, WM)]
    times = iter(running.duck.scalars(rows, schema, operator.moves))
    out: Events = []
    for event in inputs[0]:
        if isinstance(event, WM):
            out.append(WM(_shifted(operator, event.t)))
            continue
        new = next(times)
        reason = _why_not(operator, event.d, new)
        if not reason:
            row = event.d | dict(zip(schema.time, new, strict=True))
            out.append(replace(event, t=schema.time_of(row), d=row))
        elif not isinstance(event, LateEvent):
            # A row that is late at its source is set aside there.
            running.rejected[operator.id].append(RejectedRow(event.d, reason))
    return out


def _shifted(operator: plan.At, t: Any) -> Any:
    """Return which times of moved rows are complete when times at or below ``t`` are."""
    columns = operator.schema.times
    parts = (t,) if len(columns) == 1 else t
    shifts = [span_value(n or 0, c.type or "") for n, c in zip(operator.shifts, columns, strict=True)]
    try:
        moved = tuple(p if isinstance(p, Bound) else p + n for p, n in zip(parts, shifts, strict=True))
    except OverflowError:
        # It would be beyond the last time of the type, so everything is complete.
        moved = (TOP,) * len(parts)
    return moved[0] if len(columns) == 1 else moved


def _why_not(operator: plan.At, row: Any, new: tuple[Any, ...]) -> str:
    """Return why a row cannot be moved to a time; nothing if it can."""
    columns = operator.schema.times
    if null := [c.name for c, to in zip(columns, new, strict=True) if to is None]:
        return NULL_TIME + ", ".join(null)
    if back := [c.name for c, to in zip(columns, new, strict=True) if to < row[c.name]]:
        return BACK + ", ".join(back)
    limits = [Limit(c.name, c.type or "", *bounds) for c, bounds in zip(columns, operator.bounds, strict=True)]
    beyond = [limit for limit, to in zip(limits, new, strict=True) if units(to, limit.type) not in limit]
    return out_of_range(beyond) if beyond else ""
