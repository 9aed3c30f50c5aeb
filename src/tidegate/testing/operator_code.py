"""Operators as the calls that a user writes, one rule for each kind; spans in words, expressions as they were bound."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from tidegate.flow import plan as operators
from tidegate.flow.clocks import declared_schema
from tidegate.flow.plan import CalendarFrame, PlanOperator, SessionFrame, Source, Table, WindowFrame
from tidegate.flow.schema import Column
from tidegate.flow.watermarks import Arriving, AtEnd
from tidegate.testing.writing import Writing

__all__ = ["NotWritten", "written"]


class NotWritten(Exception):
    """An operator that only rewrites make."""


def _call(on: str, verb: str, *arguments: Any, **named: Any) -> str:
    """Return a call; of named arguments, those that are None or empty are left out."""
    given = [a if isinstance(a, _Raw) else repr(a) for a in arguments]
    given += [f"{n}={v if isinstance(v, _Raw) else repr(v)}" for n, v in named.items() if v not in (None, [], (), "")]
    return f"{on}.{verb}({', '.join(given)})"


class _Raw(str):
    """Code, and not a text."""

    __slots__ = ()


def _texts(expressions: Sequence[Any]) -> list[str]:
    return [str(e) for e in expressions]


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(map(str, columns))


@singledispatch
def written(operator: PlanOperator, writing: Writing) -> str:  # noqa: ARG001
    """Return the call that makes an operator."""
    raise NotWritten(operator.verb)


@written.register
def _(operator: Source, writing: Writing) -> str:
    schema = operator.schema
    time: Any = schema.time[0] if len(schema.time) == 1 else schema.time
    columns = schema.columns
    watermark = _Raw(f"tg.{operator.watermark!r}") if not isinstance(operator.watermark, AtEnd) else None
    if isinstance(operator.watermark, Arriving):
        time, columns, watermark = _Raw(f"tg.arrival({schema.time[0]!r})"), schema.data, None
    elif schema.ordered is not None:
        given = schema.ordered.columns
        names = given[0] if len(given) == 1 else given
        writing.code.imports.add("from tidegate.time import EventTime, Int, Lexicographic, Nat, Poset, Sum")
        if "datetime." in repr(schema.ordered.order):
            writing.code.imports.add("import datetime")
        time, columns = _Raw(f"tg.ordered({names!r}, {schema.ordered.order!r})"), declared_schema(operator).columns
    late = operator.late if operator.late != "divert" else None
    return _call(
        "flow", "source", operator.id, _ddl(columns), time=time, watermark=watermark, late=late, was=operator.was
    )


@written.register
def _(operator: Table, writing: Writing) -> str:  # noqa: ARG001
    return _call("flow", "table", operator.id, _ddl(operator.schema.columns), was=operator.was)


@written.register
def _(operator: operators.Where, writing: Writing) -> str:
    return _call(writing.first(operator), "where", operator.condition.sql)


@written.register
def _(operator: operators.Select, writing: Writing) -> str:
    times = operator.schema.time
    return _call(writing.first(operator), "select", *(str(e) for e in operator.outputs if e.name not in times))


@written.register
def _(operator: operators.Explode, writing: Writing) -> str:
    return _call(writing.first(operator), "explode", operator.column)


@written.register
def _(operator: operators.MapBatches, writing: Writing) -> str:
    function = _Raw(writing.value(operator.function, "function"))
    return _call(writing.first(operator), "map_batches", function, _ddl(operator.schema.data))


@written.register
def _(operator: operators.Union, writing: Writing) -> str:
    return _call(writing.first(operator), "union", *map(_Raw, writing.others(operator)))


@written.register
def _(operator: operators.At, writing: Writing) -> str:
    columns = operator.schema.times
    if len(columns) == 1:
        return _call(writing.first(operator), "at", operator.moves[0].sql)
    moved = {c.name: e.sql for c, e in zip(columns, operator.moves, strict=True) if not e.is_column}
    return _call(writing.first(operator), "at", **moved)


@written.register(operators.Gate)
@written.register(operators.Distinct)
def _(operator: PlanOperator, writing: Writing) -> str:
    return _call(writing.first(operator), operator.verb)


@written.register
def _(operator: operators.Aggregate, writing: Writing) -> str:
    found = operator.aggregation
    return _call(writing.first(operator), "aggregate", *_texts(found.outputs), by=_texts(found.by))


def _every(operator: Any, writing: Writing) -> Any:
    return {name: writing.span(n, operator, name) for name, n in operator.every} or None


def _emit(operator: Any) -> str | None:
    return operator.emit if operator.emit != "update" else None


@written.register
def _(operator: operators.Accumulate, writing: Writing) -> str:
    if operator.verb != "accumulate":
        raise NotWritten(operator.verb)
    found = operator.aggregation
    options = {"emit": _emit(operator), "every": _every(operator, writing)}
    forget = writing.span(operator.forget, operator)
    return _call(
        writing.first(operator), "accumulate", *_texts(found.outputs), by=_texts(found.by), **options, forget=forget
    )


@written.register
def _(operator: operators.Deduplicate, writing: Writing) -> str:
    over = operator.over or None
    within, forget = (writing.span(n, operator, over) for n in (operator.within, operator.forget))
    named = writing.over(operator, over)
    return _call(writing.first(operator), "deduplicate", _texts(operator.by), within=within, forget=forget, over=named)


@written.register
def _(operator: operators.Process, writing: Writing) -> str:
    by, columns = _texts(operator.by), [operator.schema[name] for name in operator.columns]
    own = _Raw(writing.value(operator.operator, "operator"))
    out = None if operator.out is None else _Raw(writing.value(operator.out, "out"))
    forget = writing.span(operator.forget, operator)
    return _call(writing.first(operator), "process", own, by, _ddl(columns), out=out, forget=forget)


def _framed(operator: Any, writing: Writing) -> str:
    """Return the windows or sessions of a stream."""
    frame, on = operator.frame, writing.first(operator)
    over = writing.over(operator, frame.over)
    if isinstance(frame, SessionFrame):
        return _call(on, "session", writing.span(frame.gap, operator, frame.over), over=over)
    if isinstance(frame, CalendarFrame):
        every = frame.counted(frame.every) if frame.every != frame.size else None
        offset = frame.counted(frame.offset) if frame.offset else None
        zone = frame.zone if writing.schema(operator)[frame.over].type == "TIMESTAMP" else None
        return _call(on, "window", frame.counted(frame.size), every=every, offset=offset, zone=zone, over=over)
    return _call(
        on, "window", writing.span(frame.size, operator, frame.over), **_windows(operator, frame, writing), over=over
    )


def _windows(operator: Any, frame: WindowFrame, writing: Writing) -> dict[str, Any]:
    def span(count: int) -> Any:
        return writing.span(count, operator, frame.over)

    return {
        "every": span(frame.every) if frame.every != frame.size else None,
        "offset": span(frame.offset) if frame.offset else None,
        "lateness": span(frame.lateness) if frame.lateness else None,
    }


@written.register
def _(operator: operators.WindowAggregate, writing: Writing) -> str:
    found = operator.aggregation
    return _call(_framed(operator, writing), "aggregate", *_texts(found.outputs), by=_texts(found.by))


@written.register
def _(operator: operators.WindowApply, writing: Writing) -> str:
    columns = [operator.schema[name] for name in operator.columns]
    function = _Raw(writing.value(operator.function, "function"))
    return _call(_framed(operator, writing), "apply", function, _ddl(columns), by=_texts(operator.by))


def _ranked(operator: Any) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the verb, and the arguments that say what is ranked."""
    by = _texts(operator.by)
    if not operator.ranked:
        return "latest", [by], {}
    if operator.backwards:
        return "last", [operator.n], {"by": by}
    entries = zip(operator.order, operator.descending, operator.nulls_first, strict=True)
    order = [f"{e.sql} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}" for e, down, first in entries]
    return "top", [operator.n], {"by": by, "order": order}


@written.register
def _(operator: operators.Top, writing: Writing) -> str:
    verb, arguments, named = _ranked(operator)
    named |= {"emit": _emit(operator), "every": _every(operator, writing)}
    return _call(writing.first(operator), verb, *arguments, **named, forget=writing.span(operator.forget, operator))


@written.register
def _(operator: operators.WindowTop, writing: Writing) -> str:
    verb, arguments, named = _ranked(operator)
    return _call(_framed(operator, writing), verb, *arguments, **named)


def _joined(operator: Any, writing: Writing, verb: str, **more: Any) -> str:
    (other,) = writing.others(operator)
    where = getattr(operator, "where", None)
    how = operator.how if operator.how != "inner" else None
    return _call(
        writing.first(operator), verb, _Raw(other), list(operator.on), where=where and where.sql, how=how, **more
    )


@written.register
def _(operator: operators.Join, writing: Writing) -> str:
    return _joined(operator, writing, "join")


@written.register
def _(operator: operators.JoinAsof, writing: Writing) -> str:
    over = operator.over or None
    within = writing.span(operator.within, operator, over)
    return _joined(operator, writing, "join_asof", within=within, over=writing.over(operator, over))


@written.register
def _(operator: operators.IntervalJoin, writing: Writing) -> str:
    lower, upper = (writing.span(n, operator, operator.over) for n in (operator.lower, operator.upper))
    return _joined(
        operator, writing, "interval_join", lower=lower, upper=upper, over=writing.over(operator, operator.over)
    )


@written.register
def _(operator: operators.WindowJoin, writing: Writing) -> str:
    frame = operator.frame
    size = writing.span(frame.size, operator, frame.over)
    windows = _windows(operator, frame, writing)
    return _joined(operator, writing, "window_join", size=size, **windows, over=writing.over(operator, frame.over))


@written.register
def _(operator: operators.Iterate, writing: Writing) -> str:
    named = dict(zip(operator.names[1:], map(_Raw, writing.others(operator)), strict=True))
    also = _Raw("{" + ", ".join(f"{name!r}: {stream}" for name, stream in named.items()) + "}") if named else None
    return _call(
        writing.first(operator),
        "iterate",
        operator.start.sql,
        operator.step.sql,
        [e.name for e in operator.keep.by],
        _texts(operator.rules or operator.keep.outputs),
        emit=_emit(operator),
        also=also,
        rounds=operator.rounds,
        limit=operator.limit,
    )
