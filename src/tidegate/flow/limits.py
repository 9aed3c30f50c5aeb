"""Limits of times: which times a row may have, so that all times that a flow makes from it fit into their type.

A window begins before its rows and ends after them. If the flow would make a time that does not fit into the type of
the time column, the row cannot take part: every engine rejects it at its source. A later row gives later times, so the
allowed times of each column are one range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from tidegate.flow.calendars import calendar_of
from tidegate.flow.plan import (
    Accumulate,
    At,
    CalendarFrame,
    Deduplicate,
    IntervalJoin,
    Iterate,
    JoinAsof,
    Plan,
    PlanOperator,
    Process,
    SessionFrame,
    Top,
    WindowFrame,
)
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import from_units, within
from tidegate.flow.sqltypes import WIDE

__all__ = ["OUT_OF_RANGE", "Limit", "limits", "out_of_range", "with_bounds"]

#: From the least to the greatest time, in units.
Range: TypeAlias = tuple[int, int]
#: By the name of the time column, which is the same from a source to a sink.
Ranges: TypeAlias = dict[str, Range]

#: Operators that add or subtract times need these limits: no sum or difference of two such times overflows a BIGINT.
_ROOM: Range = (-(2**62), 2**62 - 1)
#: Beyond all times of all types.
_BEYOND = 2**70


@dataclass(frozen=True, slots=True)
class Limit:
    """The first and the last time that rows of a source may have in a column, in units."""

    column: str
    type: str
    low: int
    high: int

    @property
    def whole(self) -> bool:
        """Whether every value of the type is within the limits, so that rows need not be checked."""
        if self.type == WIDE:
            return True
        # Spark has earlier and later dates and timestamps than Python has.
        return "INT" in self.type and (self.low, self.high) == _range_of(self.type)

    def __contains__(self, count: int) -> bool:
        return self.low <= count <= self.high

    def __str__(self) -> str:
        low, high = (from_units(within(bound, self.type), self.type) for bound in (self.low, self.high))
        return f"{self.column} is not between {low} and {high}"


#: How the reason begins for which a row is rejected.
OUT_OF_RANGE = "time out of range: "


def out_of_range(found: list[Limit]) -> str:
    """Return the reason why a row is rejected.

    >>> out_of_range([Limit("t", "TINYINT", -120, 119)])
    'time out of range: t is not between -120 and 119'
    """
    return OUT_OF_RANGE + ", ".join(map(str, found))


def limits(flow: Plan) -> dict[str, tuple[Limit, ...]]:
    """Return the limits of each source's time columns.

    >>> from tidegate.flow import Flow
    >>> flow = Flow("edges")
    >>> small = flow.source("small", "t TINYINT, x INT", time="t")
    >>> flow.sink("out", small.window(10).aggregate(n="count(*)"))
    >>> limits(flow.plan)["small"]
    (Limit(column='t', type='TINYINT', low=-120, high=119),)
    """
    may_give = _may_give(flow)
    return {
        source.id: tuple(Limit(c.name, c.type or "", *may_give[source.id][c.name]) for c in _counted(source.schema))
        for source in flow.sources
    }


def with_bounds(flow: Plan) -> Plan:
    """Return the plan with `At.bounds` filled in: which times the operators after an `At` accept."""
    if not any(isinstance(operator, At) for operator in flow):
        return flow
    may_give = _may_give(flow)
    bounded = (
        replace(o, bounds=tuple(may_give[o.id][name] for name in o.schema.time)) if isinstance(o, At) else o
        for o in flow
    )
    return replace(flow, operators=tuple(bounded))


def _may_give(flow: Plan) -> dict[str, Ranges]:
    """Return, for each operator, the times at which it may answer: those that all of its consumers accept."""
    # Go from the sinks to the sources.
    may_give: dict[str, Ranges] = {}
    for operator in reversed(flow.operators):
        if operator.schema.time:
            may_give[operator.id] = {c.name: _range_of(c.type or "") for c in _counted(operator.schema)}
            for consumer in flow.consumers(operator.id):
                for port in (i for i, name in enumerate(consumer.inputs) if name == operator.id):
                    takes = _takes(consumer, port, may_give[consumer.id])
                    may_give[operator.id] = {n: _both(r, takes[n]) for n, r in may_give[operator.id].items()}
    return may_give


def _counted(schema: Schema) -> tuple[Column, ...]:
    """Return the time columns that have a first and a last value; in an order of your own there is none."""
    return () if schema.ordered else schema.times


def _range_of(type_: str) -> Range:
    return within(-_BEYOND, type_), within(_BEYOND, type_)


def _both(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), min(one[1], other[1])


def _takes(operator: PlanOperator, port: int, gives: Ranges) -> Ranges:
    """Return the times that an operator accepts: those from which it makes only times that its consumers accept."""
    found = dict(gives)
    if operator.schema.ordering is not None:
        # Operators add nothing to such times, nor to their points.
        return found
    room = {c.name: _both(_range_of(c.type or ""), _ROOM) for c in _counted(operator.schema)}
    frame = getattr(operator, "frame", None)
    if isinstance(frame, WindowFrame):
        over = frame.over
        found[over] = _in_windows(frame, room[over], gives[over])
    elif isinstance(frame, CalendarFrame):
        found[frame.over] = _by_calendar(frame, operator.schema, room[frame.over], gives[frame.over])
    elif isinstance(frame, SessionFrame):
        over = frame.over
        # A session ends one gap after its last row. It is answered one unit before its end.
        last = min(room[over][1] - 1, gives[over][1])
        found[over] = max(room[over][0], gives[over][0] - frame.gap + 1), last - frame.gap + 1
    elif isinstance(operator, Accumulate | Top):
        if operator.forget is not None:
            (over,) = gives
            found[over] = _both(room[over], gives[over])
        for name, period in operator.every:
            low, high = _both(room[name], gives[name])
            found[name] = max(room[name][0], low // period * period), (high + 1) // period * period - 1
    elif isinstance(operator, Process) and operator.forget is not None:
        # When a copy exits, its answers are that many units after its last row.
        (over,) = gives
        low, high = _both(room[over], gives[over])
        found[over] = low, high - operator.forget + 1
    elif isinstance(operator, At):
        for column, shift in zip(operator.schema.times, operator.shifts, strict=True):
            low, high = gives[column.name]
            if shift is None:
                # The new time depends on other columns, so the row is checked where it is moved.
                found[column.name] = _range_of(column.type or "")
            elif shift:
                found[column.name] = _both(room[column.name], (low - shift, high - shift))
    elif isinstance(operator, Deduplicate):
        found[operator.over] = _both(room[operator.over], gives[operator.over])
    elif isinstance(operator, JoinAsof):
        over = operator.over
        # A right row gives no answer by itself; left rows find it, which are later.
        found[over] = _both(room[over], gives[over] if port == 0 else (room[over][0], gives[over][1]))
    elif isinstance(operator, IntervalJoin) and operator.over is not None:
        over = operator.over
        # A pair is at the time of one of its rows. A row without a match comes out later than its own time.
        alone = ("left", "full", "anti") if port == 0 else ("right", "full")
        shift = operator.settles(port) or 0 if operator.how in alone else 0
        low, high = _both(room[over], gives[over])
        found[over] = low, high - shift
    elif isinstance(operator, Iterate):
        found = {name: _both(room[name], gives[name]) for name in gives}
    return found


def _in_windows(frame: WindowFrame, room: Range, gives: Range) -> Range:
    """Return the times for which every window fits, with its lateness, into the type and into what consumers accept."""
    # The end is one unit after the time of an answer.
    last = min(room[1] - 1 - frame.lateness, gives[1])
    start = last - frame.size + 1
    begun = start - (start - frame.offset) % frame.every
    first = max(room[0], gives[0] - frame.size + 1)
    begins = first + (frame.offset - first) % frame.every
    return begins - frame.every + frame.size, begun + frame.every - 1


def _by_calendar(frame: CalendarFrame, schema: Schema, room: Range, gives: Range) -> Range:
    """Return the times for which every window begins and ends within the type and within the table of the zone."""
    calendar = calendar_of(frame.unit, frame.zone, schema[frame.over].type or "")
    if calendar.table is not None:
        room = _both(room, (calendar.table.low, calendar.table.high))
    low, high = _both(room, gives)
    # The last window that ends in time, and the first that begins in time, counted in days or months.
    last = calendar.index(min(room[1], high + 1)) - frame.size
    last -= (last - frame.offset) % frame.every
    first = calendar.index(room[0])
    first += (frame.offset - first) % frame.every
    # The first day or month of a zone's table may have begun before the table does.
    least = room[0] + (calendar.table is not None)
    while calendar.begin(first) < least or calendar.begin(first + frame.size) - 1 < low:
        first += frame.every
    return calendar.begin(first - frame.every + frame.size), calendar.begin(last + frame.every) - 1
