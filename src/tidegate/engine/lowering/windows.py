"""Windows and sessions: rows are placed in them, and each window is answered at its last unit of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from tidegate.engine.calls import call, finished, listing, named_calls
from tidegate.engine.functions import ORDER, applied, check_given
from tidegate.engine.lowering.calendars import calendar_in, with_beginnings, with_index
from tidegate.engine.lowering.pairs import joined
from tidegate.engine.lowering.ranks import chosen_columns, first_of_each
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.types import same_types
from tidegate.engine.units import from_units, units_of
from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import CalendarFrame, SessionFrame, WindowFrame
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = [
    "framed_rows",
    "in_sessions",
    "in_windows",
    "window_aggregate",
    "window_answers",
    "window_apply",
    "window_join",
    "window_top",
]

Frame: TypeAlias = WindowFrame | CalendarFrame | SessionFrame

# Columns of rows that are placed already: the start of their window, and how often it was answered before.
_PLACED = ("__start", "__revision")


def in_windows(frame: WindowFrame | CalendarFrame, schema: Schema, rows: Relation) -> Relation:
    """Return a row for each window that a row is in, with ``__start`` in units, or in units of the calendar."""
    at, size, every = units_of(schema, frame.over), frame.size, frame.every
    if isinstance(frame, CalendarFrame):
        placed = with_index(calendar_in(frame, schema), rows, "__index", at)
        return _spread("__index", size, every, frame.offset, placed).without("__index")
    return _spread(at, size, every, frame.offset, rows)


def _spread(at: str, size: int, every: int, offset: int, rows: Relation) -> Relation:
    # The last window that has begun at this time. The first is the earliest one that has not ended.
    last = f"({at} - pmod({at} - {offset}L, {every}L))"
    if size == every:
        return rows.with_columns({"__start": last})
    first = f"{last} - {every}L * (({last} + {size}L - 1L - {at}) DIV {every}L)"
    return rows.explode("__start", f"sequence({first}, {last}, {every}L)")


def _ended(frame: WindowFrame | CalendarFrame, schema: Schema, rows: Relation) -> Relation:
    """Return rows that have ``__start`` with ``__end``, both in units."""
    end = f"__start + {frame.size}L"
    if isinstance(frame, CalendarFrame):
        return with_beginnings(calendar_in(frame, schema), rows, {"__start": "__start", "__end": end})
    return rows.with_columns({"__end": end})


def _placed(frame: WindowFrame | CalendarFrame, schema: Schema, rows: Relation) -> Relation:
    return rows if "__start" in rows.names else in_windows(frame, schema, rows)


def in_sessions(frame: SessionFrame, schema: Schema, rows: Relation, groups: Sequence[str]) -> Relation:
    """Return rows with ``__session``, a number for each session of a group, and ``__at``, the time in units."""
    rows = rows.with_columns({"__at": units_of(schema, frame.over)})
    rows = rows.over({"__before": call("lag", "__at")}, groups, ["__at"])
    begins = f"CAST(coalesce(__at - __before >= {frame.gap}L, true) AS BIGINT)"
    rows = rows.with_columns({"__begins": begins})
    # Of the rows at one time, the one that begins a session has to come first here, too.
    order, descending = ["__at", "__begins"], [False, True]
    numbered = rows.over({"__session": call("sum", "__begins")}, groups, order, so_far=True, descending=descending)
    return numbered.without("__before", "__begins")


def window_aggregate(operator: plan.WindowAggregate, rows: Relation) -> Relation:
    """Return one row for each window or session and group that has rows."""
    aggregation, schema, frame = operator.aggregation, operator.schema, operator.frame
    groups = _others(frame, schema) | {e.name: e.sql for e in aggregation.by}
    order = None if operator.embeds else rows.without(*_PLACED).order
    calls = named_calls(aggregation)
    if operator.embeds:
        rows, calls = listing(aggregation, rows)
    if isinstance(frame, SessionFrame):
        framed = in_sessions(frame, schema, rows, list(groups.values()))
        bounds = {"__start": call("min", "__at"), "__last": call("max", "__at")}
        results = framed.group(groups | {"__session": "__session"}, bounds | calls, order=order)
        return window_answers(operator, results.with_columns({"__end": f"__last + {frame.gap}L"}))
    # Rows are shuffled by key before they are copied into windows, so that each is sent once.
    met = rows.together(list(groups)) if operator.embeds and groups else rows
    framed = _placed(frame, schema, met)
    keys = as_they_are([name for name in _PLACED if name in framed.names]) | groups
    return window_answers(operator, framed.group(keys, calls, order=order))


def window_answers(operator: plan.WindowAggregate, results: Relation) -> Relation:
    """Return the operator's answers from the results of calls for each window and group."""
    aggregation, schema, frame = operator.aggregation, operator.schema, operator.frame
    if not isinstance(frame, SessionFrame):
        results = _ended(frame, schema, results)
    # The final expressions may read the bounds of the window.
    bounded = results.with_columns({_name(frame): _bounds(frame, schema)})
    columns = _times(frame, schema) | {_name(frame): quoted(_name(frame))} | finished(aggregation)
    return bounded.select(columns | _revision(frame, results))


def window_apply(
    operator: plan.WindowApply, rows: Relation, only: Callable[[Sequence[str]], str] | None = None
) -> Relation:
    """Return the result of the user's function on the rows of each window or session and group.

    With ``only``, a condition on times, the function is given only those windows.
    """
    frame, schema = operator.frame, operator.schema
    given = framed_rows(frame, schema, operator.by, rows)
    by = [f"__k{i}" for i in range(len(operator.by))]
    keys = {f"__t{i}": sql for i, sql in enumerate(_times(frame, schema).values())}
    given = given.with_columns(keys | {"__frame": _bounds(frame, schema)})
    if only is not None:
        given = given.where(only(list(keys)))
    names = [*keys, "__frame", *by, *(name for name in rows.names if name == "__revision")]
    rows = rows.without(*_PLACED)
    check_given(rows.columns)
    # The order is fixed here, where it is the same for all types. Arrow then sorts by a number only.
    given = given.over({ORDER: call("row_number")}, names, rows.order)
    given = given.select(as_they_are([*names, *rows.names, ORDER]))
    function = applied(operator, rows.names, _key(operator, names))
    result = given.apply_arrow(names, function, [schema[name] for name in operator.columns])
    columns = dict(zip([*schema.time, _name(frame), *(e.name for e in operator.by)], names, strict=False))
    return result.select(columns | as_they_are(operator.columns) | _revision(frame, result))


def framed_rows(frame: Frame, schema: Schema, by: Sequence[Expression], rows: Relation) -> Relation:
    """Return rows in their windows or sessions, with ``__start``, ``__end`` and their group ``__k…``."""
    keys = {f"__k{i}": e.sql for i, e in enumerate(by)}
    given = rows.with_columns(keys)
    if not isinstance(frame, SessionFrame):
        return _ended(frame, schema, _placed(frame, schema, given))
    groups = [*_others(frame, schema).values(), *keys]
    bounds = {"__start": call("min", "__at"), "__last": call("max", "__at")}
    given = in_sessions(frame, schema, given, groups).over(bounds, [*groups, "__session"])
    return given.with_columns({"__end": f"__last + {frame.gap}L"})


def window_top(operator: plan.WindowTop, rows: Relation) -> Relation:
    """Return the first rows of each window or session and group."""
    frame, schema = operator.frame, operator.schema
    given, own = framed_rows(frame, schema, operator.by, rows), rows.without(*_PLACED)
    by = [f"__k{i}" for i in range(len(operator.by))]
    groups = [name for name in _PLACED if name in given.names] + [*_others(frame, schema).values(), *by]
    # If a zone has skipped a day, two windows can begin at the same instant. Their ends differ.
    groups += ["__end"] if isinstance(frame, CalendarFrame) else []
    columns = _times(frame, schema) | {_name(frame): _bounds(frame, schema)} | chosen_columns(operator, own)
    return first_of_each(operator, given, groups, own).select(columns | _revision(frame, rows))


def window_join(operator: plan.WindowJoin, left: Relation, right: Relation) -> Relation:
    """Return the pairs of rows, once for each window that both are in."""
    same_types(operator, left, right, operator.on)
    frame, schema = operator.frame, operator.schema
    equal = {"__start": "__start"} | _others(frame, schema)
    times = {name: "__start" if name == frame.over else quoted(name) for name in schema.time}
    # Only the start of a window has to be shuffled. Its last unit follows from it.
    last = from_units(f"{quoted(frame.over)} + {frame.size}L - 1L", schema[frame.over].type or "")
    pairs = joined(operator, left, right, equal, times, partial(_placed, frame, schema))
    return pairs.with_columns({frame.over: last} | _revision(frame, pairs))


def _key(operator: plan.WindowApply, names: list[str]) -> dict[str, str]:
    """Return the names under which a function with two parameters is given the grouping columns, and those columns."""
    inner = [_name(operator.frame), *(e.name for e in operator.by)]
    return dict(zip(inner, names[len(operator.schema.time) :], strict=False))


def _name(frame: Frame) -> str:
    return "session" if isinstance(frame, SessionFrame) else "window"


def _others(frame: Frame, schema: Schema) -> dict[str, str]:
    return {name: quoted(name) for name in schema.time if name != frame.over}


def _bounds(frame: Frame, schema: Schema) -> str:
    type_ = schema[frame.over].type or ""
    return f"named_struct('start', {from_units('__start', type_)}, 'end', {from_units('__end', type_)})"


def _times(frame: Frame, schema: Schema) -> dict[str, str]:
    """Return SQL for the time columns of the result: the last unit of the window, and the others as they are."""
    last = from_units("__end - 1L", schema[frame.over].type or "")
    return {name: last if name == frame.over else quoted(name) for name in schema.time}


def _revision(frame: Frame, rows: Relation) -> dict[str, str]:
    if not getattr(frame, "lateness", 0):
        return {}
    return {"revision": "__revision" if "__revision" in rows.names else "0"}
