"""Windows: rows, or partial aggregates of panes, until the last window that contains them is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tidegate.engine.frontiers import Frontier, complete, complete_at, frontier_to_json, is_complete, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Units, WaitingRows
from tidegate.engine.keepers.matching import MatchingRows
from tidegate.engine.lowering import lower_by, lower_operator
from tidegate.engine.lowering.calendars import calendar_in
from tidegate.engine.lowering.panes import cells_in_panes, first_of_pane, merged_panes, pane_answers
from tidegate.engine.lowering.ranks import first_of_each
from tidegate.engine.lowering.windows import window_apply
from tidegate.engine.relation import Relation
from tidegate.engine.units import units_of
from tidegate.flow import plan
from tidegate.flow.plan import CalendarFrame, WindowFrame
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["CellsInWindows", "FirstInWindows", "JoinedInWindows", "RowsInWindows", "Windowed", "applied_to_complete"]

Windowed = TypeVar("Windowed", bound=plan.WindowAggregate | plan.WindowApply | plan.WindowJoin | plan.WindowTop)


class RowsInWindows(WaitingRows[Windowed]):
    """Rows, until the last window that contains them is complete."""

    def __init__(self, operator: Windowed, inputs: Sequence[Schema], frame: WindowFrame | CalendarFrame) -> None:
        super().__init__(operator, inputs)
        self.frame = frame
        self._calendar = calendar_in(frame, operator.schema) if isinstance(frame, CalendarFrame) else None
        self.native = not isinstance(operator, plan.WindowApply)

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:
        """Whether the first window that contains a time, and was not answered before, is complete."""
        schema = self.inputs[port]
        if len(schema.time) == 1:
            # Windows that ended before were answered already, even if some of their rows are still kept.
            first = (max(*first, *(n for (n,) in frontier_to_json(schema, moved.old) if isinstance(n, int)), -(2**70)),)
        return is_complete(schema, moved.new, self._end_of_first_window(schema, first))

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the windows that became complete."""
        waiting = [self._in_open_windows(port, self.read(held, port), moved.old) for port in range(self.ports)]
        # Rows that are in no complete window would be placed, and joined, for nothing.
        rows = [self._in_complete_windows(port, rows, moved.new) for port, rows in enumerate(waiting)]
        if isinstance(self.operator, plan.WindowApply):
            return held.answers(applied_to_complete(self.operator, rows[0], moved))
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(self._lowered(held, *rows).where(done))

    def _lowered(self, held: HeldState, *rows: Relation) -> Relation:  # noqa: ARG002
        return lower_operator(self.operator, *rows)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows in windows that are not complete."""
        return self._in_open_windows(port, rows, at)

    def _in_open_windows(self, port: int, rows: Relation, at: Frontier) -> Relation:
        frame, schema = self.frame, self.inputs[port]
        n = units_of(schema, frame.over)
        if self._calendar is not None:
            # The longest possible window is assumed, so some rows are kept longer than needed. That does no harm: their
            # windows are not answered again.
            longest = f"{n} + {self._calendar.longest(frame.size)}L"
            return rows.where(f"NOT ({complete_at(schema, at, frame.over, longest)})")
        last = f"{n} - pmod({n} - {frame.offset}L, {frame.every}L) + {frame.size - 1}L"
        return rows.where(f"NOT ({complete_at(schema, at, frame.over, last)})")

    def _in_complete_windows(self, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that are in a complete window: the first window that contains them is complete.

        Of windows by the calendar, only rows are left out whose own time is not complete.
        """
        frame, schema = self.frame, self.inputs[port]
        if self._calendar is not None:
            return rows.where(complete(schema, at))
        n = units_of(schema, frame.over)
        first = f"{n} + pmod({frame.offset + frame.size - 1}L - {n}, {frame.every}L)"
        return rows.where(complete_at(schema, at, frame.over, first))

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last window that contains a time is complete."""
        frame, schema = self.frame, self.inputs[port]
        over = schema.time.index(frame.over)
        if self._calendar is not None:
            longest = self._calendar.longest(frame.size)
            return is_complete(schema, at, [n + longest if i == over else n for i, n in enumerate(last)])
        ends = [n - (n - frame.offset) % frame.every + frame.size - 1 if i == over else n for i, n in enumerate(last)]
        return is_complete(schema, at, ends)

    def _end_of_first_window(self, schema: Schema, at: Units) -> list[int]:
        frame, over = self.frame, schema.time.index(self.frame.over)
        if self._calendar is not None:
            index = self._calendar.index(at[over])
            last = index + (frame.offset + frame.size - 1 - index) % frame.every
            return [self._calendar.begin(last + 1) - 1 if i == over else n for i, n in enumerate(at)]
        return [n + (frame.offset + frame.size - 1 - n) % frame.every if i == over else n for i, n in enumerate(at)]


def applied_to_complete(operator: plan.WindowApply, rows: Relation, moved: FrontierMove) -> Relation:
    """Return the result of the user's function on the windows that became complete. It is given whole windows only."""

    def done(times: Sequence[str]) -> str:
        now, before = (complete(operator.schema, at, times) for at in (moved.new, moved.old))
        return f"({now}) AND NOT ({before})"

    return lower_by(lambda apply, given: window_apply(apply, given, done), operator, rows)


class JoinedInWindows(MatchingRows[plan.WindowJoin], RowsInWindows[plan.WindowJoin]):
    """Rows of both inputs of a join that may be in a pair."""


class CellsInWindows(RowsInWindows[plan.WindowAggregate]):
    """A partial aggregate for each pane and group, until the last window that contains the pane is complete."""

    keeps = "cells"

    def kept_of(self, rows: Relation) -> Relation:
        """Return the cells of rows."""
        return cells_in_panes(self.operator, rows)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return one cell for each group and pane that is in a window that is not complete."""
        return merged_panes(self.operator, super().keep(held, port, rows, at), held.input_types())

    def _lowered(self, held: HeldState, *rows: Relation) -> Relation:
        (cells,) = rows
        return pane_answers(self.operator, cells, held.input_types())


class FirstInWindows(RowsInWindows[plan.WindowTop]):
    """The first rows of each pane and group, until the last window that contains the pane is complete."""

    keeps = "first rows"

    def kept_of(self, rows: Relation) -> Relation:
        """Return the first rows of each pane and group."""
        operator, schema, frame = self.operator, self.inputs[0], self.frame
        assert isinstance(frame, WindowFrame), "panes of the calendar hold rows"
        others = [quoted(name) for name in schema.time if name != frame.over]
        groups = [first_of_pane(frame, schema), *others, *(f"({e.sql})" for e in operator.by)]
        return first_of_each(operator, rows, groups, rows).without("__nth")

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the first rows of each group and pane that is in a window that is not complete."""
        return self.kept_of(super().keep(held, port, rows, at))
