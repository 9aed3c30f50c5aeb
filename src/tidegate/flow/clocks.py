"""The clock of the machine as a time: when rows arrive, and ticks that come without rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow.arguments import checked_name
from tidegate.flow.errors import BadInput, ColumnClash
from tidegate.flow.plan import Plan, Source, Table
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import parse_span, show_span
from tidegate.flow.watermarks import Arriving, Ticking

__all__ = ["Arrival", "Clock", "arrival", "arriving_schema", "clock", "declared_schema", "given_schema", "ticking"]

_INSTANT = "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Arrival:
    """The time of a row is when it arrives, in a column of that name."""

    column: str


def arrival(column: str = "arrived") -> Arrival:
    """Use the time at which a row arrives as its time: ``flow.source("clicks", "user STRING", time=tg.arrival())``.

    All rows of a step get the same time, that of the clock in this step. It is in a new column, which comes first. It
    is also in the commit of the step, so that answers are the same if a run fails and starts again. For `compute` and
    `reference`, rows must have the column.
    """
    return Arrival(checked_name(column, "a column"))


@dataclass(frozen=True, slots=True)
class Clock:
    """Ticks of the clock, so many microseconds apart."""

    every: int

    def __repr__(self) -> str:
        return f"clock({show_span(self.every, _INSTANT)!r})"


def clock(every: Any) -> Clock:
    """Return ticks of the clock as an input: ``flow.start(…, {"ticks": tg.clock("1 minute")}, …)``.

    The source must have one column, a TIMESTAMP, which is its time. Ticks are rounded down to ``every``, and each
    completes all times up to its own. A run does not make up for ticks that it has missed. It ends when the other
    inputs end.

    >>> clock("90 seconds")
    clock('90 seconds')
    """
    return Clock(parse_span(every, _INSTANT, what="every"))


def arriving_schema(time: Arrival, declared: Schema) -> Schema:
    """Return the columns of a source whose rows get their time when they arrive."""
    if time.column in declared:
        raise ColumnClash(
            f"expected columns without {time.column}, which is when a row arrives, got {declared[time.column]}",
            hint='time=tg.arrival("another_name"), or leave it out of the schema',
        )
    return Schema((Column(time.column, _INSTANT), *declared.columns), (time.column,))


def given_schema(source: Source) -> Schema:
    """Return the columns that the rows of a source must have in a stream: no arrival time yet."""
    if isinstance(source.watermark, Arriving):
        return Schema(source.schema.data, ())
    return declared_schema(source)


def declared_schema(source: Source | Table) -> Schema:
    """Return the columns of a source or a table as they were declared, without the points that engines add."""
    schema = source.schema
    at = schema.coordinates
    return Schema(schema.visible, schema.user_time, at.given) if at else schema


def ticking(flow: Plan, inputs: Mapping[str, Any]) -> Plan:
    """Return a plan in which sources that are given a clock follow it."""
    ticks = (
        {name for name, given in inputs.items() if isinstance(given, Clock)} if isinstance(inputs, Mapping) else set()
    )
    for source in flow.sources:
        if source.id in ticks and [column.type for column in source.schema.columns] != [_INSTANT]:
            raise BadInput(
                f"expected one column, a TIMESTAMP, in a source that is given a clock, got {source.schema}",
                hint=f'flow.source({source.id!r}, "ts TIMESTAMP", time="ts")',
            ).at(f"source {source.id!r}")
    operators = tuple(
        replace(o, watermark=Ticking()) if isinstance(o, Source) and o.id in ticks else o for o in flow.operators
    )
    return replace(flow, operators=operators)
