"""Operators whose answer at a time depends on the rows of that time only: rows wait, or partial aggregates of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.panes import cells_in_panes, merged_panes, pane_answers
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, newly_complete
from tidegate.spark.streaming.keepers.keeper import Answer, Held, Moved, O, Waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["CellsPerTime", "RowsPerTime"]


class RowsPerTime(Waiting[O]):
    """Rows, until their time is complete."""

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers of the rows whose time became complete."""
        return held.answers(lower_operator(self.operator, held.runtime, *self._fresh(held, moved)))

    def _fresh(self, held: Held, moved: Moved) -> list[DataFrame]:
        return [
            self.read(held, port).where(held.runtime.expr(newly_complete(schema, moved.old, moved.new)))
            for port, schema in enumerate(self.inputs)
        ]


class CellsPerTime(RowsPerTime[plan.Aggregate]):
    """A partial aggregate for each time and group, until the time is complete."""

    keeps = "cells"

    def kept_of(self, runtime: Runtime, rows: DataFrame) -> DataFrame:
        """Return the cells of rows."""
        return cells_in_panes(self.operator, runtime, rows)

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers of the cells whose time became complete."""
        (cells,) = self._fresh(held, moved)
        return held.answers(pane_answers(self.operator, held.runtime, cells, held.input_types()))

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:
        """Return one cell for each time that is not complete, and group."""
        return merged_panes(self.operator, held.runtime, super().keep(held, port, rows, at), held.input_types())
