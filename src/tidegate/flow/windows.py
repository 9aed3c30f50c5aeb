"""What follows ``window(…)`` and ``session(…)``: aggregates, some rows, or a Python function, for each window."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan, sqltypes
from tidegate.flow.aggregates import aggregation, grouping
from tidegate.flow.arguments import checked_timezone
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, BadSpan, BadTime, NotSupported
from tidegate.flow.plan import CalendarFrame, SessionFrame, WindowFrame
from tidegate.flow.ranking import Ranking, last_by, latest_by, top_by
from tidegate.flow.schema import Column, parse_schema
from tidegate.flow.spans import parse_span, show_span

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Windowed", "calendar_frame", "is_calendar", "session_frame", "window_frame"]


def window_frame(over: tuple[str, str], size: Any, every: Any, offset: Any, lateness: Any) -> WindowFrame:
    """Return windows in units of the time column ``over`` (its name and type), or raise if their spans do not fit."""
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


_CALENDAR = re.compile(r"\s*([+-]?\d+)\s*(day|week|month|year)s?\s*", re.IGNORECASE)
#: How many days or months there are in a unit of the calendar.
_UNITS = {"day": ("day", 1), "week": ("day", 7), "month": ("month", 1), "year": ("month", 12)}


def is_calendar(over: tuple[str, str], size: Any, zone: Any) -> bool:
    """Whether windows follow the calendar: a zone was given, or the size is in months or years."""
    found = _CALENDAR.fullmatch(size) if isinstance(size, str) else None
    months = found is not None and found[2].lower() in ("month", "year")
    return zone is not None or (months and over[1] not in sqltypes.INTEGERS)


def calendar_frame(
    over: tuple[str, str], size: Any, every: Any, offset: Any, lateness: Any, zone: Any
) -> WindowFrame | CalendarFrame:
    """Return windows that follow the calendar, or raise; where all days have 24 hours, they are plain windows."""
    name, type_ = over
    if zone is not None and type_ != "TIMESTAMP":
        raise BadTime(
            f"expected no zone, as the time column {name} is {type_}, got {zone!r}",
            hint="only a TIMESTAMP is an instant, of which a zone says the local date; leave zone out",
        )
    where = "UTC" if zone is None else checked_timezone(zone)
    length, word = _counted(size, "size")
    slide = length if every is None else _counted(every, "every", word)[0]
    shift = 0 if offset == 0 else _counted(offset, "offset", word, least=None)[0]
    if slide > length:
        raise BadSpan(
            f"expected every of at most the size, {size}, got {every}: rows between windows would be lost",
            hint="choose the rows with where(…) first, and then windows without gaps",
        )
    if lateness != 0:
        raise NotSupported(
            f"windows by the calendar have no lateness, got {lateness!r}",
            hint='leave lateness out, or take windows of a fixed length, such as size="30 days" without a zone',
        )
    unit, n = _UNITS[word]
    # 1970 began on a Thursday; the first Monday was the fifth.
    monday = 4 if word == "week" else 0
    counted = n * length, n * slide, (monday + n * shift) % (n * slide)
    if unit == "day" and where == "UTC":
        day = parse_span("1 day", type_, what="size")
        return WindowFrame(name, *(day * count for count in counted))
    return CalendarFrame(name, unit, *counted, where)


def _counted(value: Any, what: str, word: str = "", *, least: int | None = 1) -> tuple[int, str]:
    """Return the number and the unit of a span: days, weeks, months or years. ``word``: the unit that it must have."""
    found = _CALENDAR.fullmatch(value) if isinstance(value, str) else None
    if found is None or (word and found[2].lower() != word) or (least is not None and int(found[1]) < least):
        expected = f"whole {word}s, as the size is" if word else "whole days, weeks, months or years"
        hint = f'{what}="1 {word or "day"}"'
        raise BadSpan(f"expected {what} of {expected}, got {value!r}", hint=hint)
    return int(found[1]), found[2].lower()


def session_frame(over: tuple[str, str], gap: Any) -> SessionFrame:
    """Return sessions in units of the time column ``over`` (its name and type)."""
    return SessionFrame(over[0], parse_span(gap, over[1], what="gap"))


class Windowed:
    """Rows in windows or sessions, and the methods that say what to compute for each of them.

    A result has the time columns, then ``window`` or ``session`` (a struct of ``start`` and ``end``), then the groups.
    With several time columns, rows are grouped by those that the windows are not on.
    """

    def __init__(self, stream: Building, frame: WindowFrame | CalendarFrame | SessionFrame, column: str) -> None:
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
        """Return one row of aggregates for each window and group that has rows.

        Partial aggregates are kept until the window is complete; sessions, and windows with ``lateness``, keep their
        rows.

        Args:
            *expressions: Aggregates with a name: ``"count(*) AS n"``.
            by: The groups: a column, an expression with ``AS``, or a list of these.
            **named_expressions: The same as ``name="expression"``: ``n="count(*)"``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).aggregate(by="page", n="count(*)").preview(rows)
        window#1: 3 rows
           t  window                page  n
           9  {start: 0, end: 10}   home  2
           9  {start: 0, end: 10}   news  1
          19  {start: 10, end: 20}  home  1
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
        """Return what a Python function makes of the rows of each window and group.

        Rows are kept until the window is complete.

        Args:
            function: Takes a ``pyarrow.Table`` of the rows with all columns, sorted by time and then by all columns,
                and returns a table of the columns of ``schema``. If it has two parameters, the first is a dict of the
                window and the groups.
            schema: The columns that it returns: ``"ms INT"``.
            by: The groups: a column, an expression with ``AS``, or a list of these.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> def slowest(rows):
        ...     return rows.sort_by([("ms", "descending")]).slice(0, 1).select(["ms"])
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).apply(slowest, "ms INT", by="page").preview(rows)
        window#1: 3 rows
           t  window                page   ms
           9  {start: 0, end: 10}   home   70
           9  {start: 0, end: 10}   news  900
          19  {start: 10, end: 20}  home   90
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
        """Return the first ``n`` rows of each window and group, with a column ``rank``, from 1.

        ``n`` rows are kept until the window is complete; sessions, and windows with ``lateness``, keep all their rows.

        Args:
            n: How many rows.
            by: The groups: a column, an expression with ``AS``, or a list of these.
            order: As after ORDER BY in Spark SQL: ``"price DESC, name"``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).top(1, by="page", order="ms DESC").preview(rows)
        window#1: 3 rows
           t  window                page   ms  rank
           9  {start: 0, end: 10}   home   70     1
           9  {start: 0, end: 10}   news  900     1
          19  {start: 10, end: 20}  home   90     1
        """
        with self._stream._building(f"{self._column}(…).top"):
            return self._ranked(top_by(n, by, order, self._stream.schema))

    def last(self, n: int, by: Any = ()) -> Stream:
        """Return the last ``n`` rows of each window and group; ``rank`` 1 is the latest.

        Rows are sorted by time, then by all columns. They are kept as those of `top` are.

        Args:
            n: How many rows.
            by: The groups: a column, an expression with ``AS``, or a list of these.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).last(1).preview(rows)
        window#1: 2 rows
           t  window                page  ms  rank
           9  {start: 0, end: 10}   home  70     1
          19  {start: 10, end: 20}  home  90     1
        """
        with self._stream._building(f"{self._column}(…).last"):
            return self._ranked(last_by(n, by, self._stream.schema))

    def latest(self, by: Any = ()) -> Stream:
        """Return the latest row of each window and group: `last` with one row, without ``rank``.

        Args:
            by: The groups: a column, an expression with ``AS``, or a list of these.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).latest("page").preview(rows)
        window#1: 3 rows
           t  window                page   ms
           9  {start: 0, end: 10}   home   70
           9  {start: 0, end: 10}   news  900
          19  {start: 10, end: 20}  home   90
        """
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
    """Whether a function takes (key, rows) and not only (rows)."""
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
