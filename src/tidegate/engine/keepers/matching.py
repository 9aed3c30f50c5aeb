"""Joins: a row is kept only if it satisfies what the condition asks of its side alone, or is an answer without a match.

Other rows are in no answer, so they would be written, read and compared for nothing.
"""

from __future__ import annotations

from typing import TypeVar

from tidegate.engine.keepers.keeper import Keeper
from tidegate.engine.relation import Relation
from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT
from tidegate.flow.one_sided import needed_of

__all__ = ["MatchingRows"]

Join = TypeVar("Join", bound=plan.Join | plan.WindowJoin | plan.IntervalJoin)

#: The inputs of which rows without a match are answers too, for the kinds of join that have such inputs.
_UNMATCHED = {"left": (0,), "anti": (0,), "right": (1,), "full": (0, 1)}


class MatchingRows(Keeper[Join]):
    """Rows that may be in an answer."""

    def relevant(self, port: int, rows: Relation) -> Relation:
        """Return the rows of an input that may be in an answer."""
        operator = self.operator
        if operator.where is None or port in _UNMATCHED.get(operator.how, ()):
            return rows
        for condition in needed_of((LEFT, RIGHT)[port], operator.where, operator.on, *self.inputs):
            rows = rows.where(condition)
        return rows
