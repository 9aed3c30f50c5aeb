"""Rules for operators that hold rows until times are complete: the specification decides when, DuckDB computes what."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.frames import period_end
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import from_units, units
from tidegate.flow.values import freeze, ordered
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM, Event, batch_op, incr_batch_op

__all__ = [
    "Group",
    "aggregated",
    "answers",
    "complete",
    "grouped",
    "in_order",
    "keyed",
    "moved",
    "so_far",
    "units_of",
    "with_time",
]


@dataclass(slots=True)
class Group:
    """Rows that an answer is computed from, the time of the answer, and the columns that it begins with."""

    t: Any
    key: dict[str, Any]
    rows: list[Any]


def complete(running: ReferenceRun, schema: Schema, events: Iterable[Event]) -> list[Event]:
    """Hold data until its time is complete; then give one event for each time, with all its data, times in order.

    A table has one time, which is complete.
    """
    if not schema.time:
        data = [event.d for event in events if isinstance(event, DT)]
        return [DT((), data)] if data else []
    order = schema.order
    out: list[Event] = []
    by_time: dict[Any, list[Any]] = {}

    def release() -> None:
        # At the end of the input there may be several batches; together, their order is that of the times alone.
        out.extend(DT(t, by_time[t]) for t in sorted(by_time, key=order.key))
        by_time.clear()

    for event in running.produced(batch_op(order), events):
        if isinstance(event, WM):
            release()
            out.append(event)
            continue
        for t, d in event.d:
            by_time.setdefault(t, []).append(d)
    release()
    return out


def keyed(running: ReferenceRun, rows: list[Any], schema: Schema, by: tuple[Expression, ...]) -> list[dict[str, Any]]:
    """Return the key of each row: the values that it is grouped by."""
    names = [e.name for e in by]
    return [dict(zip(names, values, strict=True)) for values in running.duck.scalars(rows, schema, by)]


def grouped(pairs: Iterable[tuple[dict[str, Any], Any]]) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return the data of each key, keys in the order of their first occurrence; a null is a key like any other."""
    found: dict[Hashable, tuple[dict[str, Any], list[Any]]] = {}
    for key, data in pairs:
        found.setdefault(freeze(key), (key, []))[1].append(data)
    return list(found.values())


def in_order(schema: Schema, rows: Iterable[Any]) -> list[Any]:
    """Return rows sorted by time and then by all columns."""
    found = ordered(list(rows), schema.names)
    return sorted(found, key=lambda row: schema.order.key(schema.time_of(row))) if schema.ordered else found


def with_time(schema: Schema, t: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row that begins with the time columns."""
    return schema.at(t) | row


def moved(schema: Schema, t: Any, over: str, at: int) -> Any:
    """Return a time with one of its columns set, in units since the epoch."""
    value = from_units(at, schema[over].type or "")
    return (
        value
        if len(schema.time) == 1
        else tuple(value if n == over else x for n, x in zip(schema.time, t, strict=True))
    )


def units_of(schema: Schema, row: Any, over: str) -> int:
    """Return a time column of a row in units since the epoch."""
    return units(row[over], schema[over].type or "")


def answers(
    events: list[Event | Group], compute: Callable[[list[Group]], list[list[dict[str, Any]]]], schema: Schema
) -> Events:
    """Replace each group by what is computed from it, all groups at once; rows of one time come in order."""
    groups = [event for event in events if isinstance(event, Group)]
    results = iter(compute(groups))
    out: Events = []
    pending: list[DT[Any, Any]] = []

    def release() -> None:
        for t in dict.fromkeys(event.t for event in pending):
            rows = [event.d for event in pending if event.t == t]
            out.extend(DT(t, row) for row in ordered(rows, schema.names))
        pending.clear()

    for event in events:
        if isinstance(event, Group):
            times = with_time(schema, event.t, {}) if schema.time else {}
            pending += [
                DT(event.t, {n: row[n] for n in schema.names})
                for row in ({**times, **event.key, **r} for r in next(results))
            ]
        else:
            release()
            out.append(event)
    release()
    return out


def aggregated(
    running: ReferenceRun, operator: Any, schema: Schema, key_columns: tuple[Column, ...]
) -> Callable[[list[Group]], list[list[dict[str, Any]]]]:
    """Return the function that computes the aggregates of an operator for some groups."""
    aggregation = operator.aggregation
    names = [output.name for output in aggregation.outputs]

    def compute(groups: list[Group]) -> list[list[dict[str, Any]]]:
        rows = [in_order(schema, group.rows) for group in groups]
        keys = [with_time(schema, g.t, g.key) if schema.time else g.key for g in groups]
        values = running.duck.aggregates(rows, schema, aggregation, keys, key_columns)
        return [[dict(zip(names, found, strict=True))] for found in values]

    return compute


@evaluate.register
def _gate(operator: plan.Gate, running: ReferenceRun, inputs: list[Events]) -> Events:
    out: Events = []
    for event in complete(running, operator.schema, on_time(inputs[0])):
        rows = ordered(event.d, operator.schema.names) if isinstance(event, DT) else []
        out += [DT(event.t, row) for row in rows] or [event]
    return out


@evaluate.register
def _distinct(operator: plan.Distinct, running: ReferenceRun, inputs: list[Events]) -> Events:
    out: Events = []
    for event in complete(running, operator.schema, on_time(inputs[0])):
        if isinstance(event, WM):
            out.append(event)
            continue
        kept = {freeze(row): row for row in reversed(event.d)}
        out += [DT(event.t, row) for row in ordered(list(kept.values()), operator.schema.names)]
    return out


@evaluate.register
def _aggregate(operator: plan.Aggregate, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    events: list[Event | Group] = []
    for event in _with_keys(running, on_time(inputs[0]), schema, operator.aggregation.by, schema):
        if isinstance(event, DT):
            events += [Group(event.t, key, rows) for key, rows in grouped(event.d)]
        else:
            events.append(event)
    key_columns = (*schema.times, *(Column(e.name, e.type) for e in operator.aggregation.by))
    return answers(events, aggregated(running, operator, schema, key_columns), operator.schema)


def _with_keys(
    running: ReferenceRun, events: list[Event], schema: Schema, by: tuple[Expression, ...], times: Schema
) -> list[Event]:
    """Pair each row with its key, and hold the pairs until their time is complete."""
    keys = iter(keyed(running, [event.d for event in events if isinstance(event, DT)], schema, by))
    return complete(running, times, [DT(e.t, (next(keys), e.d)) if isinstance(e, DT) else e for e in events])


@evaluate.register
def _accumulate(operator: plan.Accumulate, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    by = operator.aggregation.by
    groups = so_far(operator, by, running, schema, inputs[0])
    key_columns = tuple(Column(e.name, e.type) for e in by)
    return answers(groups, aggregated(running, operator, schema, key_columns), operator.schema)


def so_far(
    operator: plan.Accumulate | plan.Top,
    by: tuple[Expression, ...],
    running: ReferenceRun,
    schema: Schema,
    given: Events,
) -> list[Event | Group]:
    """Return, as groups, all rows at or below each time that an operator answers at."""
    order = schema.order
    events = on_time(given)
    keys = iter(keyed(running, [event.d for event in events if isinstance(event, DT)], schema, by))
    data = [
        DT(_at_period_end(operator, schema, event), (next(keys), event.d)) if isinstance(event, DT) else event
        for event in events
    ]
    out: list[Event | Group] = []
    for event in running.produced(incr_batch_op(order), data):
        if isinstance(event, WM):
            out.append(event)
            continue
        below = grouped((key, (t, row)) for t, (key, row) in event.d if order.le(t, event.t))
        for key, rows in below:
            if operator.forget is not None:
                rows = _not_forgotten(operator.forget, schema, event.t, rows)
            if not rows:
                continue
            if operator.emit == "complete" or any(t == event.t for t, _ in rows):
                out.append(Group(event.t, key, [row for _, row in rows]))
    return out


def _not_forgotten(span: int, schema: Schema, now: Any, rows: list[Any]) -> list[Any]:
    """Return the rows of a group, each with its time, since it was last silent for so long; none if it is so now."""
    (time,) = schema.times
    after = units(now, time.type or "")
    kept: list[Any] = []
    for t, row in sorted(rows, key=lambda pair: schema.order.key(pair[0]), reverse=True):
        at = units(t, time.type or "")
        if after - at >= span:
            break
        kept.append((t, row))
        after = at
    return kept


def _at_period_end(operator: plan.Accumulate | plan.Top, schema: Schema, event: DT[Any, Any]) -> Any:
    t = event.t
    for name, period in operator.every:
        t = moved(schema, t, name, period_end(period, units_of(schema, event.d, name)))
    return t


@evaluate.register
def _deduplicate(operator: plan.Deduplicate, running: ReferenceRun, inputs: list[Events]) -> Events:
    schema = operator.schema
    others = [name for name in schema.time if name != operator.over] if operator.over else []
    last_kept: dict[Hashable, int] = {}
    last_seen: dict[Hashable, int] = {}
    out: Events = []
    for event in _with_keys(running, on_time(inputs[0]), schema, operator.by, schema):
        if isinstance(event, WM):
            out.append(event)
            continue
        for key, rows in grouped((key | {n: row[n] for n in others}, row) for key, row in event.d):
            # Without lengths of time, it only matters whether a row was kept.
            at = units_of(schema, rows[0], operator.over) if operator.over else 0
            last = last_kept.get(freeze(key))
            silent = operator.forget is not None and last is not None and at >= last_seen[freeze(key)] + operator.forget
            last_seen[freeze(key)] = at
            if last is None or silent or (operator.within is not None and at >= last + operator.within):
                last_kept[freeze(key)] = at
                out.append(DT(event.t, ordered(rows, schema.names)[0]))
    return out
