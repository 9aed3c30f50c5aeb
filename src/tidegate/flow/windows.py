"""What follows ``window(…)`` and ``session(…)``: an aggregate, some rows, or a Python function, for each window."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan, sqltypes
from tidegate.flow.aggregates import aggregation, grouping
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, BadSpan
from tidegate.flow.plan import SessionFrame, WindowFrame
from tidegate.flow.ranking import Ranking, last_by, latest_by, top_by
from tidegate.flow.schema import Column, parse_schema
from tidegate.flow.spans import parse_span, show_span

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Windowed", "session_frame", "window_frame"]


def window_frame(over: tuple[str, str], size: Any, every: Any, offset: Any, lateness: Any) -> WindowFrame:
    """Check the spans of windows and answer them in units of the time column ``over`` (its name and type)."""
    name, type_ = over
    length = parse_span(size, type_, what="size")
    slide = parse_span(every, type_, what="every")
    if slide > length:
        raise BadSpan(
            f"expected every of at most the size, {show_span(length, type_)}, got {show_span(slide, type_)}: "
            "rows between windows would be lost",
            hint="choose the rows with where(…) first, and then windows without gaps",
        )
    shift = parse_span(offset, type_, what="offset", least=None)
    late = parse_span(lateness, type_, what="lateness", least=0)
    return WindowFrame(name, length, slide, shift % slide, late)


def session_frame(over: tuple[str, str], gap: Any) -> SessionFrame:
    """Check the gap of sessions and answer it in units of the time column ``over`` (its name and type)."""
    return SessionFrame(over[0], parse_span(gap, over[1], what="gap"))


class Windowed:
    """Rows in windows or sessions, waiting to be told what to compute: `aggregate`, `top` and the like, or `apply`."""

    def __init__(self, stream: Building, frame: WindowFrame | SessionFrame, column: str) -> None:
        self._stream = stream
        self._frame = frame
        self._column = column

    def __repr__(self) -> str:
        schema = self._stream.schema
        shown = self._frame.shown(schema[self._frame.over].type or "", over=len(schema.time) > 1)
        return f"Windowed({self._stream.id}: {shown})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        # Someone took it for a stream.
        raise AttributeError(f"{self._column}(…) has no {name!r}: follow it with .aggregate(…), .top(…) or .apply(…)")

    def aggregate(self, *expressions: str, by: Any = (), **named_expressions: str) -> Stream:
        """Answer one row for each window and group that has rows.

        Time columns other than the one that the windows are over group as well.
        """
        stream = self._stream
        with stream._building(f"{self._column}(…).aggregate"):
            schema = stream.schema
            others = [c for c in schema.times if c.name != self._frame.over]
            result = aggregation(by, expressions, named_expressions, schema, grouped=[*others, self._struct()])
            columns = (*schema.times, self._struct(), *result.columns, *self._revision())
            return stream._add(
                plan.WindowAggregate,
                stream._result(columns),
                name=self._column,
                frame=self._frame,
                aggregation=result,
            )

    def apply(self, function: Callable[..., Any], schema: Any, by: Any = ()) -> Stream:
        """Let a Python function turn the rows of each window and group into rows of ``schema``.

        It gets a ``pyarrow.Table`` of the rows with all columns, sorted by time and then by all columns, and returns a
        table of the columns of ``schema``: time, window and group are put before them. A function of two parameters
        gets the window and the group first, as a dict.
        """
        stream = self._stream
        with stream._building(f"{self._column}(…).apply"):
            keyed = _takes_key(function)
            keys = grouping(by, stream.schema)
            declared = parse_schema(schema).columns
            groups = tuple(Column(k.name, k.type) for k in keys)
            columns = (*stream.schema.times, self._struct(), *groups, *declared, *self._revision())
            return stream._add(
                plan.WindowApply,
                stream._result(columns),
                name=self._column,
                frame=self._frame,
                by=keys,
                function=function,
                keyed=keyed,
                columns=tuple(c.name for c in declared),
            )

    def top(self, n: int, by: Any = (), order: Any = ()) -> Stream:
        """Return the first ``n`` rows of each window and group, by ``order``, as `Stream.top` ranks them."""
        with self._stream._building(f"{self._column}(…).top"):
            return self._ranked(top_by(n, by, order, self._stream.schema))

    def last(self, n: int, by: Any = ()) -> Stream:
        """Return the last ``n`` rows of each window and group, as `Stream.last` ranks them."""
        with self._stream._building(f"{self._column}(…).last"):
            return self._ranked(last_by(n, by, self._stream.schema))

    def latest(self, by: Any = ()) -> Stream:
        """Return the latest row of each window and group."""
        with self._stream._building(f"{self._column}(…).latest"):
            return self._ranked(latest_by(by, self._stream.schema))

    def _ranked(self, ranking: Ranking) -> Stream:
        stream = self._stream
        columns = (*stream.schema.times, self._struct(), *ranking.columns(stream.schema), *self._revision())
        fields = {"frame": self._frame} | ranking.fields
        return stream._add(plan.WindowTop, stream._result(columns), name=self._column, **fields)

    def _struct(self) -> Column:
        type_ = self._stream.schema[self._frame.over].type or ""
        return Column(self._column, sqltypes.struct(start=type_, end=type_))

    def _revision(self) -> tuple[Column, ...]:
        return (Column("revision", "INT"),) if getattr(self._frame, "lateness", 0) else ()


def _takes_key(function: Any) -> bool:
    """Answer whether a function takes (key, rows) and not only (rows)."""
    if not callable(function):
        raise BadArgument(f"expected a function on Arrow tables, got {function!r} ({type(function).__name__})")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if len(needed) not in (1, 2):
        raise BadArgument(
            f"expected a function of (rows) or (key, rows), got one of {len(needed)} parameters: {function!r}",
            hint="def f(rows: pyarrow.Table) -> pyarrow.Table",
        )
    return len(needed) == 2
