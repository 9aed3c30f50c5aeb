"""Operators whose answer at a time depends on the rows of that time only: those rows, or partial aggregates, wait."""

from __future__ import annotations

from tidegate.engine.frontiers import Frontier, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, O, WaitingRows
from tidegate.engine.keepers.matching import MatchingRows
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.panes import cells_in_panes, merged_panes, pane_answers
from tidegate.engine.relation import Relation
from tidegate.flow import plan

__all__ = ["CellsPerTime", "JoinedPerTime", "RowsPerTime"]


class RowsPerTime(WaitingRows[O]):
    """Rows, until their time is complete."""

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the rows whose time became complete."""
        return held.answers(lower_operator(self.operator, *self._fresh(held, moved)))

    def _fresh(self, held: HeldState, moved: FrontierMove) -> list[Relation]:
        return [
            self.read(held, port).where(newly_complete(schema, moved.old, moved.new))
            for port, schema in enumerate(self.inputs)
        ]


class JoinedPerTime(MatchingRows[plan.Join], RowsPerTime[plan.Join]):
    """Rows of both inputs of a join that may be in an answer."""


class CellsPerTime(RowsPerTime[plan.Aggregate]):
    """A partial aggregate for each time and group, until the time is complete."""

    keeps = "cells"

    def kept_of(self, rows: Relation) -> Relation:
        """Return the cells of rows."""
        return cells_in_panes(self.operator, rows)

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the cells whose time became complete."""
        (cells,) = self._fresh(held, moved)
        return held.answers(pane_answers(self.operator, cells, held.input_types()))

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the cells of times that are not complete, merged into one for each time and group."""
        return merged_panes(self.operator, super().keep(held, port, rows, at), held.input_types())
