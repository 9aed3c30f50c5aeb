"""Aggregates at times and in windows, from cells: the partial aggregates of each group in each pane.

A pane is one time, or the longest stretch of time that every window contains completely or not at all. Overlapping
windows share panes, and a row is in one pane only. The time of a cell is the first time of its pane. So a cell is in
the same windows as its rows, and is complete, late or needed like a row at that time.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from tidegate.engine.calls import finished, times_of
from tidegate.engine.lowering.calendars import calendar_in, with_beginnings, with_index
from tidegate.engine.lowering.cells import cell_columns, cell_merges, merged, with_results
from tidegate.engine.lowering.windows import in_windows, window_answers
from tidegate.engine.relation import Relation
from tidegate.engine.units import from_units, units_of
from tidegate.flow import plan
from tidegate.flow.plan import CalendarFrame, SessionFrame, WindowFrame
from tidegate.flow.schema import Schema

__all__ = ["Paned", "cells_in_panes", "first_of_pane", "merged_panes", "pane_answers"]

#: The operators that can be computed from cells in panes.
Paned: TypeAlias = plan.Aggregate | plan.WindowAggregate


def cells_in_panes(operator: Paned, rows: Relation) -> Relation:
    """Return a cell for each group and pane with rows: time columns, groups, partial aggregates."""
    aggregation, schema = operator.aggregation, operator.schema
    places = times_of(schema)
    if isinstance(operator, plan.WindowAggregate) and isinstance(operator.frame, WindowFrame):
        frame = operator.frame
        places[frame.over] = from_units(first_of_pane(frame, schema), schema[frame.over].type or "")
    if isinstance(operator, plan.WindowAggregate) and isinstance(operator.frame, CalendarFrame):
        return _cells_by_calendar(operator, operator.frame, rows)
    places |= {e.name: e.sql for e in aggregation.by}
    return rows.group(places, cell_columns(aggregation, rows))


def first_of_pane(frame: WindowFrame, schema: Schema) -> str:
    """Return SQL for the first time of a row's pane, in units."""
    at, pane = units_of(schema, frame.over), gcd(frame.size, frame.every)
    return f"({at} - pmod({at} - {frame.offset}L, {pane}L))"


def _cells_by_calendar(operator: plan.WindowAggregate, frame: CalendarFrame, rows: Relation) -> Relation:
    schema, aggregation = operator.schema, operator.aggregation
    calendar, pane = calendar_in(frame, schema), gcd(frame.size, frame.every)
    placed = with_index(calendar, rows, "__index", units_of(schema, frame.over))
    placed = with_beginnings(calendar, placed, {"__first": f"__index - pmod(__index - {frame.offset}L, {pane}L)"})
    places = times_of(schema) | {frame.over: from_units("__first", schema[frame.over].type or "")}
    places |= {e.name: e.sql for e in aggregation.by}
    return placed.group(places, cell_columns(aggregation, rows))


def merged_panes(operator: Paned, cells: Relation, rows: Relation) -> Relation:
    """Return cells merged into one for each group and pane; ``rows`` gives the types."""
    places = [*operator.schema.time, *(e.name for e in operator.aggregation.by)]
    return merged(cells, places, cell_merges(operator.aggregation, rows))


def pane_answers(operator: Paned, cells: Relation, rows: Relation) -> Relation:
    """Return the operator's answers from cells; ``rows`` gives the types."""
    aggregation, schema = operator.aggregation, operator.schema
    merges, groups = cell_merges(aggregation, rows), [e.name for e in aggregation.by]
    if isinstance(operator, plan.WindowAggregate) and not isinstance(operator.frame, SessionFrame):
        frame = operator.frame
        others = [name for name in schema.time if name != frame.over]
        framed = merged(in_windows(frame, schema, cells), ["__start", *others, *groups], merges)
        return window_answers(operator, with_results(aggregation, framed, rows))
    found = merged(cells, [*schema.time, *groups], merges)
    return with_results(aggregation, found, rows).select(times_of(schema) | finished(aggregation))
