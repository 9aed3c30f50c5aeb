"""A plan as the Python that builds it; checked by building it, and comparing what comes out with the plan."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from keyword import iskeyword
from typing import Any

from tidegate.flow import plan as operators
from tidegate.flow import sqltypes
from tidegate.flow.clocks import declared_schema
from tidegate.flow.plan import CalendarFrame, Operator, Plan, SessionFrame, Source, Table, WindowFrame
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import show_span
from tidegate.flow.watermarks import Arriving, AtEnd
from tidegate.spec import Operator as SpecOperator

__all__ = ["FlowCode", "flow_code", "importable"]


@dataclass(slots=True)
class FlowCode:
    """The lines that build a flow, what they import, and what could not be written: functions that only a test has."""

    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    opaque: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines after their imports."""
        return "\n".join([*sorted(self.imports), "", *self.lines])


class _NotWritten(Exception):
    """An operator that only rewrites make."""


def flow_code(plan: Plan) -> FlowCode | None:
    """Return the code that builds a plan, or None if there is none that builds the same.

    Functions and operators of the user's own are imported from where they are; those that are nowhere to be imported
    from are listed as ``opaque``, and have a line to be filled in.
    """
    code = FlowCode(imports={"import tidegate as tg"})
    zone = f", timezone={plan.timezone!r}" if plan.timezone != "UTC" else ""
    code.lines.append(f"flow = tg.Flow({plan.name!r}{zone})")
    writing = _Writing(plan, code)
    try:
        for operator in plan:
            code.lines.append(f"{writing.name(operator.id)} = {_written(operator, writing)}")
    except _NotWritten:
        return None
    code.lines += [f"flow.sink({sink.name!r}, {writing.name(sink.input)})" for sink in plan.sinks]
    return code if code.opaque or _builds(code, plan) else None


def _builds(code: FlowCode, plan: Plan) -> bool:
    """Whether the code builds the same: the same operators before each sink, and the same sources."""
    built: dict[str, Any] = {}
    try:
        exec(code.text, built)
        found: Plan = built["flow"].plan
        alike = [
            (p.fingerprint(s.input), s.name) for p in (plan, found) for s in sorted(p.sinks, key=lambda sink: sink.name)
        ]
        half = len(alike) // 2
        return alike[:half] == alike[half:] and {s.id: s for s in plan.sources} == {s.id: s for s in found.sources}
    except Exception:
        # Whatever is wrong with it, it is not what the test has.
        return False


class _Writing:
    """What operators need to be written: names of streams, columns of inputs, and where functions come from."""

    def __init__(self, plan: Plan, code: FlowCode) -> None:
        self.plan = plan
        self.code = code
        self._names: dict[str, str] = {}

    def name(self, id_: str) -> str:
        """Return the name of the variable of a stream."""
        if id_ not in self._names:
            plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in id_).strip("_") or "stream"
            plain = (
                f"s_{plain}"
                if not plain[0].isalpha() or iskeyword(plain) or plain in ("flow", "tg", "tt", "test")
                else plain
            )
            while plain in self._names.values():
                plain += "_"
            self._names[id_] = plain
        return self._names[id_]

    def first(self, operator: Operator) -> str:
        """Return the stream that an operator is called on."""
        return self.name(operator.inputs[0])

    def others(self, operator: Operator) -> list[str]:
        """Return the other streams that it takes."""
        return [self.name(id_) for id_ in operator.inputs[1:]]

    def schema(self, operator: Operator) -> Schema:
        """Return the columns of the stream that it is called on."""
        return self.plan[operator.inputs[0]].schema

    def span(self, count: int | None, operator: Operator, over: str | None = None) -> Any:
        """Return so many units of a time column as a user writes them."""
        if count is None:
            return None
        schema = self.schema(operator)
        type_ = schema[over or schema.time[0]].type or ""
        return count if type_ in sqltypes.INTEGERS else show_span(count, type_)

    def over(self, operator: Operator, over: str | None) -> str | None:
        """Return the time column to be named, if there are several."""
        return over if over and len(self.schema(operator).time) > 1 else None

    def value(self, value: Any, hint: str) -> str:
        """Return an expression for a function or an operator of the user's own."""
        if found := importable(value):
            module, name = found
            self.code.imports.add(f"from {module} import {name.partition('.')[0]}")
            return name
        kind = type(value)
        if isinstance(value, SpecOperator) and (found := importable(kind)) and _is_call(repr(value), kind):
            self.code.imports.add(f"from {found[0]} import {found[1].partition('.')[0]}")
            return repr(value)
        name = f"{hint}_{len(self.code.opaque) + 1}"
        what = getattr(value, "__qualname__", repr(value))
        self.code.opaque.append(str(what))
        self.code.lines.append(f"{name} = ...  # {what}, as the test has it: it cannot be imported, put it here")
        return name


def importable(value: Any) -> tuple[str, str] | None:
    """Return the module and the name that something can be imported by; None if there are none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    found: Any = sys.modules.get(module or "")
    if found is None or not isinstance(name, str) or "<" in name or module == "__main__":
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return (str(module), name) if found is value else None


def _is_call(text: str, kind: type) -> bool:
    return text == f"{kind.__name__}()" and not vars_of(kind)


def vars_of(kind: type) -> list[str]:
    """Return the fields that an instance of a class is told apart by."""
    return list(getattr(kind, "__dataclass_fields__", ()))


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
def _written(operator: Operator, writing: _Writing) -> str:  # noqa: ARG001
    raise _NotWritten(operator.verb)


@_written.register
def _(operator: Source, writing: _Writing) -> str:
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


@_written.register
def _(operator: Table, writing: _Writing) -> str:  # noqa: ARG001
    return _call("flow", "table", operator.id, _ddl(operator.schema.columns), was=operator.was)


@_written.register
def _(operator: operators.Where, writing: _Writing) -> str:
    return _call(writing.first(operator), "where", operator.condition.sql)


@_written.register
def _(operator: operators.Select, writing: _Writing) -> str:
    times = operator.schema.time
    return _call(writing.first(operator), "select", *(str(e) for e in operator.outputs if e.name not in times))


@_written.register
def _(operator: operators.Explode, writing: _Writing) -> str:
    return _call(writing.first(operator), "explode", operator.column)


@_written.register
def _(operator: operators.MapBatches, writing: _Writing) -> str:
    function = _Raw(writing.value(operator.function, "function"))
    return _call(writing.first(operator), "map_batches", function, _ddl(operator.schema.data))


@_written.register
def _(operator: operators.Union, writing: _Writing) -> str:
    return _call(writing.first(operator), "union", *map(_Raw, writing.others(operator)))


@_written.register
def _(operator: operators.At, writing: _Writing) -> str:
    columns = operator.schema.times
    if len(columns) == 1:
        return _call(writing.first(operator), "at", operator.moves[0].sql)
    moved = {c.name: e.sql for c, e in zip(columns, operator.moves, strict=True) if not e.is_column}
    return _call(writing.first(operator), "at", **moved)


@_written.register(operators.Gate)
@_written.register(operators.Distinct)
def _(operator: Operator, writing: _Writing) -> str:
    return _call(writing.first(operator), operator.verb)


@_written.register
def _(operator: operators.Aggregate, writing: _Writing) -> str:
    found = operator.aggregation
    return _call(writing.first(operator), "aggregate", *_texts(found.outputs), by=_texts(found.by))


def _every(operator: Any, writing: _Writing) -> Any:
    return {name: writing.span(n, operator, name) for name, n in operator.every} or None


def _emit(operator: Any) -> str | None:
    return operator.emit if operator.emit != "update" else None


@_written.register
def _(operator: operators.Accumulate, writing: _Writing) -> str:
    if operator.verb != "accumulate":
        raise _NotWritten(operator.verb)
    found = operator.aggregation
    options = {"emit": _emit(operator), "every": _every(operator, writing)}
    forget = writing.span(operator.forget, operator)
    return _call(
        writing.first(operator), "accumulate", *_texts(found.outputs), by=_texts(found.by), **options, forget=forget
    )


@_written.register
def _(operator: operators.Deduplicate, writing: _Writing) -> str:
    over = operator.over or None
    within, forget = (writing.span(n, operator, over) for n in (operator.within, operator.forget))
    named = writing.over(operator, over)
    return _call(writing.first(operator), "deduplicate", _texts(operator.by), within=within, forget=forget, over=named)


@_written.register
def _(operator: operators.Process, writing: _Writing) -> str:
    by, columns = _texts(operator.by), [operator.schema[name] for name in operator.columns]
    own = _Raw(writing.value(operator.operator, "operator"))
    out = None if operator.out is None else _Raw(writing.value(operator.out, "out"))
    forget = writing.span(operator.forget, operator)
    return _call(writing.first(operator), "process", own, by, _ddl(columns), out=out, forget=forget)


def _framed(operator: Any, writing: _Writing) -> str:
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


def _windows(operator: Any, frame: WindowFrame, writing: _Writing) -> dict[str, Any]:
    def span(count: int) -> Any:
        return writing.span(count, operator, frame.over)

    return {
        "every": span(frame.every) if frame.every != frame.size else None,
        "offset": span(frame.offset) if frame.offset else None,
        "lateness": span(frame.lateness) if frame.lateness else None,
    }


@_written.register
def _(operator: operators.WindowAggregate, writing: _Writing) -> str:
    found = operator.aggregation
    return _call(_framed(operator, writing), "aggregate", *_texts(found.outputs), by=_texts(found.by))


@_written.register
def _(operator: operators.WindowApply, writing: _Writing) -> str:
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


@_written.register
def _(operator: operators.Top, writing: _Writing) -> str:
    verb, arguments, named = _ranked(operator)
    named |= {"emit": _emit(operator), "every": _every(operator, writing)}
    return _call(writing.first(operator), verb, *arguments, **named, forget=writing.span(operator.forget, operator))


@_written.register
def _(operator: operators.WindowTop, writing: _Writing) -> str:
    verb, arguments, named = _ranked(operator)
    return _call(_framed(operator, writing), verb, *arguments, **named)


def _joined(operator: Any, writing: _Writing, verb: str, **more: Any) -> str:
    (other,) = writing.others(operator)
    where = getattr(operator, "where", None)
    how = operator.how if operator.how != "inner" else None
    return _call(
        writing.first(operator), verb, _Raw(other), list(operator.on), where=where and where.sql, how=how, **more
    )


@_written.register
def _(operator: operators.Join, writing: _Writing) -> str:
    return _joined(operator, writing, "join")


@_written.register
def _(operator: operators.JoinAsof, writing: _Writing) -> str:
    over = operator.over or None
    within = writing.span(operator.within, operator, over)
    return _joined(operator, writing, "join_asof", within=within, over=writing.over(operator, over))


@_written.register
def _(operator: operators.IntervalJoin, writing: _Writing) -> str:
    lower, upper = (writing.span(n, operator, operator.over) for n in (operator.lower, operator.upper))
    return _joined(
        operator, writing, "interval_join", lower=lower, upper=upper, over=writing.over(operator, operator.over)
    )


@_written.register
def _(operator: operators.WindowJoin, writing: _Writing) -> str:
    frame = operator.frame
    size = writing.span(frame.size, operator, frame.over)
    windows = _windows(operator, frame, writing)
    return _joined(operator, writing, "window_join", size=size, **windows, over=writing.over(operator, frame.over))


@_written.register
def _(operator: operators.Iterate, writing: _Writing) -> str:
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
