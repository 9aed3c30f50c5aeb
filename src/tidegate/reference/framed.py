"""Rules for windows and sessions: a row moves to the last unit of its window, and is held until that is complete."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from tidegate.flow import plan
from tidegate.flow.arrow import checked_result, rows_of, table_of
from tidegate.flow.expressions import Expression
from tidegate.flow.frames import sessions, window_starts
from tidegate.flow.plan import CalendarFrame, SessionFrame, WindowFrame
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import from_units, units
from tidegate.flow.values import freeze, ordered
from tidegate.reference.calendars import calendar_windows
from tidegate.reference.held import Group, aggregated, answers, complete, grouped, keyed, moved, units_of
from tidegate.reference.inputs import LateEvent
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM, Event
from tidegate.time import Order

__all__ = ["in_windows"]


@evaluate.register
def _window_aggregate(operator: plan.WindowAggregate, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    by = operator.aggregation.by
    groups = framed(running, operator, schema, by, inputs[0])
    struct = operator.schema.columns[len(schema.time)]
    key_columns = (*schema.times, struct, *(Column(e.name, e.type) for e in by))
    return answers(groups, aggregated(running, operator, schema, key_columns), operator.schema)


@evaluate.register
def _window_apply(operator: plan.WindowApply, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    declared = [operator.schema[name] for name in operator.columns]
    inner = {"window", "session", *(e.name for e in operator.by)}

    def compute(groups: list[Group]) -> list[list[dict[str, Any]]]:
        results = []
        for group in groups:
            table = table_of(ordered(group.rows, schema.names), schema.columns)
            key = {name: value for name, value in group.key.items() if name in inner}
            returned = operator.function(key, table) if operator.keyed else operator.function(table)
            results.append(rows_of(checked_result(returned, declared, operator.function)))
        return results

    return answers(framed(running, operator, schema, operator.by, inputs[0]), compute, operator.schema)


def framed(
    running: ReferenceRun, operator: Any, schema: Schema, by: tuple[Expression, ...], events: Events
) -> list[Event | Group]:
    """Return the windows or sessions of a stream as groups, each when its last unit is complete."""
    rows = [event.d for event in events if not isinstance(event, WM)]
    keys = iter(keyed(running, rows, schema, by))
    with_keys = [event if isinstance(event, WM) else replace(event, d=(next(keys), event.d)) for event in events]
    if isinstance(operator.frame, SessionFrame):
        return _sessions(running, operator.frame, schema, on_time(with_keys))
    if isinstance(operator.frame, WindowFrame) and operator.frame.lateness:
        return _revised(running, operator.frame, schema, with_keys)
    return _windows(running, operator.frame, schema, on_time(with_keys))


def in_windows(
    frame: WindowFrame | CalendarFrame, schema: Schema, event: Any, row: Any
) -> list[tuple[Any, dict[str, Any]]]:
    """Return the windows that a row is in: the time of their last unit, and their bounds."""
    type_ = schema[frame.over].type or ""
    found = []
    if isinstance(frame, CalendarFrame):
        for begin, finish in calendar_windows(frame, row[frame.over]):
            at = moved(schema, event.t, frame.over, units(finish, type_) - 1)
            found.append((at, {"start": begin, "end": finish}))
        return found
    for start in window_starts(frame, units_of(schema, row, frame.over)):
        end = start + frame.size
        bounds = {"start": from_units(start, type_), "end": from_units(end, type_)}
        found.append((moved(schema, event.t, frame.over, end - 1), bounds))
    return found


def _windows(
    running: ReferenceRun, frame: WindowFrame | CalendarFrame, schema: Schema, events: list[Event]
) -> list[Event | Group]:
    # A row moves to the last unit of each of its windows. No window is moved below its rows, so watermarks stay valid.
    spread: list[Event] = []
    for event in events:
        if isinstance(event, WM):
            spread.append(event)
            continue
        key, row = event.d
        spread += [DT(t, ({"window": bounds, **key}, row)) for t, bounds in in_windows(frame, schema, event, row)]
    out: list[Event | Group] = []
    for event in complete(running, schema, spread):
        out += [Group(event.t, key, rows) for key, rows in grouped(event.d)] if isinstance(event, DT) else [event]
    return out


def _revised(running: ReferenceRun, frame: WindowFrame, schema: Schema, events: Events) -> list[Event | Group]:
    """Return windows that accept late rows: when they are complete, and again for what came since a watermark."""
    order = schema.order
    rows: dict[Hashable, list[Any]] = {}
    known: dict[Hashable, tuple[Any, dict[str, Any]]] = {}
    revisions: dict[Hashable, int] = {}
    changed: dict[Hashable, None] = {}
    seen: list[Any] = []
    out: list[Event | Group] = []

    def is_complete(t: Any) -> bool:
        return any(order.le(t, wm) for wm in seen)

    def answer(*, ended: bool) -> None:
        for window in sorted(changed, key=lambda w: order.key(known[w][0])):
            t, key = known[window]
            if ended or is_complete(t):
                revisions[window] = revisions.get(window, -1) + 1
                out.append(Group(t, key | {"revision": revisions[window]}, list(rows[window])))
                del changed[window]

    for event in events:
        if isinstance(event, WM):
            seen.append(event.t)
            answer(ended=False)
            out.append(event)
            continue
        key, row = event.d
        for t, bounds in in_windows(frame, schema, event, row):
            last = moved(
                schema, t, frame.over, units(bounds["end"], schema[frame.over].type or "") - 1 + frame.lateness
            )
            if is_complete(last):
                continue
            if isinstance(event, LateEvent):
                running.taken.add(event.origin)
            whole = {"window": bounds, **key}
            window = (t, freeze(whole))
            known[window] = (t, whole)
            rows.setdefault(window, []).append(row)
            changed[window] = None
    if running.ended:
        answer(ended=True)
    return out


def _sessions(running: ReferenceRun, frame: SessionFrame, schema: Schema, events: list[Event]) -> list[Event | Group]:
    order: Order[Any] = schema.order
    type_ = schema[frame.over].type or ""
    others = [name for name in schema.time if name != frame.over]
    held: dict[Hashable, tuple[dict[str, Any], Any, list[Any]]] = {}
    out: list[Event | Group] = []

    def release(done: Callable[[Any], bool]) -> None:
        found = []
        for name, (key, t, rows) in list(held.items()):
            kept: list[Any] = []
            for start, end, members in sessions(
                frame, sorted(((units_of(schema, r, frame.over), r) for r in rows), key=lambda p: p[0])
            ):
                at = moved(schema, t, frame.over, end - 1)
                if done(at):
                    bounds = {"start": from_units(start, type_), "end": from_units(end, type_)}
                    found.append(Group(at, {"session": bounds, **key}, members))
                else:
                    kept += members
            held[name] = (key, t, kept)
        out.extend(sorted(found, key=lambda group: order.key(group.t)))

    for event in events:
        if isinstance(event, WM):
            wm = event.t
            # No row can come below the watermark, so a session that ends there cannot grow.
            release(lambda at, wm=wm: order.le(at, wm))  # type: ignore[misc]
            out.append(event)
            continue
        key, row = event.d
        name = freeze(key | {n: row[n] for n in others})
        held.setdefault(name, (key, event.t, []))[2].append(row)
    if running.ended:
        release(lambda _: True)
    return out
