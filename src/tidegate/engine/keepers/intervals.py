"""Interval joins: rows of both sides, until no answer can depend on them any more."""

from __future__ import annotations

from tidegate.engine.frontiers import Frontier, complete, complete_at, is_complete, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Units, WaitingRows
from tidegate.engine.keepers.matching import MatchingRows
from tidegate.engine.lowering import lower_by, lower_operator
from tidegate.engine.lowering.intervals import alone, pairs
from tidegate.engine.relation import Relation, united
from tidegate.engine.units import units_of
from tidegate.flow import plan

__all__ = ["RowsInIntervals"]


class RowsInIntervals(MatchingRows[plan.IntervalJoin], WaitingRows[plan.IntervalJoin]):
    """Rows of both sides.

    A row is kept as long as a match may still come. Outer and anti joins keep it until it is certain whether it has
    one.
    """

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers at the times that became complete."""
        rows = [self.read(held, port) for port in (0, 1)]
        if self.operator.over is None or self.operator.how == "semi":
            done = newly_complete(self.operator.schema, moved.old, moved.new)
            return held.answers(lower_operator(self.operator, *rows).where(done))
        return held.answers(
            lower_by(lambda operator, left, right: self._new(operator, left, right, moved), self.operator, *rows)
        )

    def _new(self, operator: plan.IntervalJoin, left: Relation, right: Relation, moved: FrontierMove) -> Relation:
        """Return the new answers.

        A pair is at the time of one of its rows, so one of the two has just become complete.
        """
        schema = operator.schema
        was, fresh = complete(schema, moved.old), newly_complete(schema, moved.old, moved.new)
        found = []
        if operator.how != "anti":
            now = complete(schema, moved.new)
            found.append(pairs(operator, left.where(fresh), right.where(now)))
            found.append(pairs(operator, left.where(was), right.where(fresh)))
        kinds = ((0, ("left", "full", "anti"), left, right), (1, ("right", "full"), right, left))
        for port, how, mine, theirs in kinds:
            if operator.how in how:
                settled = [self._complete_later(port, at, operator.settles(port) or 0) for at in (moved.new, moved.old)]
                found.append(alone(operator, port, mine.where(f"({settled[0]}) AND NOT ({settled[1]})"), theirs))
        return united(found)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows that an answer may still depend on."""
        span = self.operator.needed(port)
        return rows if span is None else rows.where(f"NOT ({self._complete_later(port, at, span)})")

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether no answer depends on rows up to a time any more."""
        span, schema = self.operator.needed(port), self.inputs[port]
        if span is None or self.operator.over is None:
            return False
        over = schema.time.index(self.operator.over)
        return is_complete(schema, at, [n + span if i == over else n for i, n in enumerate(last)])

    def _complete_later(self, port: int, at: Frontier, span: int) -> str:
        """Return the SQL condition that the time ``span`` units after a row's time is complete."""
        schema, over = self.inputs[port], self.operator.over or ""
        return complete_at(schema, at, over, f"{units_of(schema, over)} + {span}L")
