"""Joins: a row is kept only if it satisfies what the condition asks of its side alone, or is an answer without a match.

Other rows are in no answer, so they would be written, read and compared for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tidegate.engine.keepers.keeper import Keeper
from tidegate.engine.relation import Relation
from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT
from tidegate.flow.one_sided import needed_of
from tidegate.flow.schema import Schema

__all__ = ["MatchingRows"]

Join = TypeVar("Join", bound=plan.Join | plan.WindowJoin | plan.IntervalJoin)

#: The inputs of which rows without a match are answers too, for the kinds of join that have such inputs.
_UNMATCHED = {"left": (0,), "anti": (0,), "right": (1,), "full": (0, 1)}


class MatchingRows(Keeper[Join]):
    """Rows that may be in an answer.

    ``columns`` are those of each input that conditions may read; see `unfailing_columns`.
    """

    def __init__(
        self, operator: Join, inputs: Sequence[Schema], *frame: Any, columns: Sequence[frozenset[str]]
    ) -> None:
        super().__init__(operator, inputs, *frame)
        self._columns = tuple(columns)

    def relevant(self, port: int, rows: Relation) -> Relation:
        """Return the rows of an input that may be in an answer."""
        operator = self.operator
        if operator.where is None or port in _UNMATCHED.get(operator.how, ()):
            return rows
        left, right = self.inputs
        needed = needed_of((LEFT, RIGHT)[port], operator.where, operator.on, left, right, self._columns[port])
        return rows.where(" AND ".join(f"({condition})" for condition in needed)) if needed else rows
