"""Writes an operator of a plan as the call that a user writes, such as ``clicks.where('n > 1')``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from tidegate.flow import plan as operators
from tidegate.flow.clocks import declared_schema
from tidegate.flow.errors import NotSupported
from tidegate.flow.plan import CalendarFrame, PlanOperator, SessionFrame, Source, Table, WindowFrame
from tidegate.flow.schema import Column
from tidegate.flow.watermarks import Arriving, AtEnd
from tidegate.testing.code_writer import CodeWriter

__all__ = ["call_code"]


def _call(on: str, verb: str, *arguments: Any, **named: Any) -> str:
    """Return the code of a call ``on.verb(…)``. Named arguments that are None or empty are left out."""
    given = [a if isinstance(a, _Raw) else repr(a) for a in arguments]
    given += [f"{n}={v if isinstance(v, _Raw) else repr(v)}" for n, v in named.items() if v not in (None, [], (), "")]
    return f"{on}.{verb}({', '.join(given)})"


class _Raw(str):
    """An argument that is code already, such as a name, and is not quoted."""

    __slots__ = ()


def _texts(expressions: Sequence[Any]) -> list[str]:
    return [str(e) for e in expressions]


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(map(str, columns))


@singledispatch
def call_code(operator: PlanOperator, writer: CodeWriter) -> str:  # noqa: ARG001
    """Return the code of the call that makes an operator; raise if only a rewrite of a plan makes it."""
    raise _not_called(operator)


@call_code.register
def _(operator: Source, writer: CodeWriter) -> str:
    schema = operator.schema
    time: Any = schema.time[0] if len(schema.time) == 1 else schema.time
    columns = schema.columns
    watermark = _Raw(f"tg.{operator.watermark!r}") if not isinstance(operator.watermark, AtEnd) else None
    if isinstance(operator.watermark, Arriving):
        time, columns, watermark = _Raw(f"tg.arrival({schema.time[0]!r})"), schema.data, None
    elif schema.ordered is not None:
        given = schema.ordered.columns
        names = given[0] if len(given) == 1 else given
        writer.code.imports.add("from tidegate.time import EventTime, Int, Lexicographic, Nat, Poset, Sum")
        if "datetime." in repr(schema.ordered.order):
            writer.code.imports.add("import datetime")
        time, columns = _Raw(f"tg.ordered({names!r}, {schema.ordered.order!r})"), declared_schema(operator).columns
    late = operator.late if operator.late != "divert" else None
    return _call(
        "flow", "source", operator.id, _ddl(columns), time=time, watermark=watermark, late=late, was=operator.was
    )


@call_code.register
def _(operator: Table, writer: CodeWriter) -> str:  # noqa: ARG001
    return _call("flow", "table", operator.id, _ddl(operator.schema.columns), was=operator.was)


@call_code.register
def _(operator: operators.Where, writer: CodeWriter) -> str:
    return _call(writer.first(operator), "where", operator.condition.sql)


@call_code.register
def _(operator: operators.Select, writer: CodeWriter) -> str:
    times = operator.schema.time
    return _call(writer.first(operator), "select", *(str(e) for e in operator.outputs if e.name not in times))


@call_code.register
def _(operator: operators.Explode, writer: CodeWriter) -> str:
    return _call(writer.first(operator), "explode", operator.column)


@call_code.register
def _(operator: operators.MapBatches, writer: CodeWriter) -> str:
    function = _Raw(writer.value(operator.function, "function"))
    return _call(writer.first(operator), "map_batches", function, _ddl(operator.schema.data))


@call_code.register
def _(operator: operators.Union, writer: CodeWriter) -> str:
    return _call(writer.first(operator), "union", *map(_Raw, writer.others(operator)))


@call_code.register
def _(operator: operators.At, writer: CodeWriter) -> str:
    columns = operator.schema.times
    if len(columns) == 1:
        return _call(writer.first(operator), "at", operator.moves[0].sql)
    moved = {c.name: e.sql for c, e in zip(columns, operator.moves, strict=True) if not e.is_column}
    return _call(writer.first(operator), "at", **moved)


@call_code.register(operators.Gate)
@call_code.register(operators.Distinct)
def _(operator: PlanOperator, writer: CodeWriter) -> str:
    return _call(writer.first(operator), operator.verb)


@call_code.register
def _(operator: operators.Aggregate, writer: CodeWriter) -> str:
    found = operator.aggregation
    return _call(writer.first(operator), "aggregate", *_texts(found.outputs), by=_texts(found.by))


def _every(operator: Any, writer: CodeWriter) -> Any:
    return {name: writer.span(n, operator, name) for name, n in operator.every} or None


def _emit(operator: Any) -> str | None:
    return operator.emit if operator.emit != "update" else None


@call_code.register
def _(operator: operators.Accumulate, writer: CodeWriter) -> str:
    if operator.verb != "accumulate":
        raise _not_called(operator)
    found = operator.aggregation
    options = {"emit": _emit(operator), "every": _every(operator, writer)}
    forget = writer.span(operator.forget, operator)
    return _call(
        writer.first(operator), "accumulate", *_texts(found.outputs), by=_texts(found.by), **options, forget=forget
    )


@call_code.register
def _(operator: operators.Deduplicate, writer: CodeWriter) -> str:
    over = operator.over or None
    within, forget = (writer.span(n, operator, over) for n in (operator.within, operator.forget))
    named = writer.over(operator, over)
    return _call(writer.first(operator), "deduplicate", _texts(operator.by), within=within, forget=forget, over=named)


@call_code.register
def _(operator: operators.Process, writer: CodeWriter) -> str:
    by, columns = _texts(operator.by), [operator.schema[name] for name in operator.columns]
    own = _Raw(writer.value(operator.operator, "operator"))
    out = None if operator.out is None else _Raw(writer.value(operator.out, "out"))
    forget = writer.span(operator.forget, operator)
    return _call(writer.first(operator), "process", own, by, _ddl(columns), out=out, forget=forget)


def _framed(operator: Any, writer: CodeWriter) -> str:
    """Return the code of the call ``window`` or ``session`` before an operator."""
    frame, on = operator.frame, writer.first(operator)
    over = writer.over(operator, frame.over)
    if isinstance(frame, SessionFrame):
        return _call(on, "session", writer.span(frame.gap, operator, frame.over), over=over)
    if isinstance(frame, CalendarFrame):
        every = frame.counted(frame.every) if frame.every != frame.size else None
        offset = frame.counted(frame.offset) if frame.offset else None
        zone = frame.zone if writer.schema(operator)[frame.over].type == "TIMESTAMP" else None
        return _call(on, "window", frame.counted(frame.size), every=every, offset=offset, zone=zone, over=over)
    return _call(
        on, "window", writer.span(frame.size, operator, frame.over), **_windows(operator, frame, writer), over=over
    )


def _windows(operator: Any, frame: WindowFrame, writer: CodeWriter) -> dict[str, Any]:
    def span(count: int) -> Any:
        return writer.span(count, operator, frame.over)

    return {
        "every": span(frame.every) if frame.every != frame.size else None,
        "offset": span(frame.offset) if frame.offset else None,
        "lateness": span(frame.lateness) if frame.lateness else None,
    }


@call_code.register
def _(operator: operators.WindowAggregate, writer: CodeWriter) -> str:
    found = operator.aggregation
    return _call(_framed(operator, writer), "aggregate", *_texts(found.outputs), by=_texts(found.by))


@call_code.register
def _(operator: operators.WindowApply, writer: CodeWriter) -> str:
    columns = [operator.schema[name] for name in operator.columns]
    function = _Raw(writer.value(operator.function, "function"))
    return _call(_framed(operator, writer), "apply", function, _ddl(columns), by=_texts(operator.by))


def _ranked(operator: Any) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the method, its arguments and its named arguments for an operator that ranks rows."""
    by = _texts(operator.by)
    if not operator.ranked:
        return "latest", [by], {}
    if operator.backwards:
        return "last", [operator.n], {"by": by}
    entries = zip(operator.order, operator.descending, operator.nulls_first, strict=True)
    order = [f"{e.sql} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}" for e, down, first in entries]
    return "top", [operator.n], {"by": by, "order": order}


@call_code.register
def _(operator: operators.Top, writer: CodeWriter) -> str:
    verb, arguments, named = _ranked(operator)
    named |= {"emit": _emit(operator), "every": _every(operator, writer)}
    return _call(writer.first(operator), verb, *arguments, **named, forget=writer.span(operator.forget, operator))


@call_code.register
def _(operator: operators.WindowTop, writer: CodeWriter) -> str:
    verb, arguments, named = _ranked(operator)
    return _call(_framed(operator, writer), verb, *arguments, **named)


def _joined(operator: Any, writer: CodeWriter, verb: str, **more: Any) -> str:
    (other,) = writer.others(operator)
    where = getattr(operator, "where", None)
    how = operator.how if operator.how != "inner" else None
    return _call(
        writer.first(operator), verb, _Raw(other), list(operator.on), where=where and where.sql, how=how, **more
    )


@call_code.register
def _(operator: operators.Join, writer: CodeWriter) -> str:
    return _joined(operator, writer, "join")


@call_code.register
def _(operator: operators.JoinAsof, writer: CodeWriter) -> str:
    over = operator.over or None
    within = writer.span(operator.within, operator, over)
    return _joined(operator, writer, "join_asof", within=within, over=writer.over(operator, over))


@call_code.register
def _(operator: operators.IntervalJoin, writer: CodeWriter) -> str:
    lower, upper = (writer.span(n, operator, operator.over) for n in (operator.lower, operator.upper))
    return _joined(
        operator, writer, "interval_join", lower=lower, upper=upper, over=writer.over(operator, operator.over)
    )


@call_code.register
def _(operator: operators.WindowJoin, writer: CodeWriter) -> str:
    frame = operator.frame
    size = writer.span(frame.size, operator, frame.over)
    more = _windows(operator, frame, writer) | {"over": writer.over(operator, frame.over)}
    return _joined(operator, writer, "window_join", size=size, **more, early=operator.early or None)


@call_code.register
def _(operator: operators.Iterate, writer: CodeWriter) -> str:
    named = dict(zip(operator.names[1:], map(_Raw, writer.others(operator)), strict=True))
    also = _Raw("{" + ", ".join(f"{name!r}: {stream}" for name, stream in named.items()) + "}") if named else None
    return _call(
        writer.first(operator),
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


def _not_called(operator: PlanOperator) -> NotSupported:
    return NotSupported(f"no call makes the operator {operator.verb}: only a rewrite of a plan does")
