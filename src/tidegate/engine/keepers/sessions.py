"""Sessions: rows, until their session is complete."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete_at, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Keeper
from tidegate.engine.keepers.windows import applied_to_complete
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.windows import in_sessions
from tidegate.engine.relation import Relation, as_they_are
from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import SessionFrame
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["RowsInSessions"]


class RowsInSessions(Keeper[plan.WindowAggregate | plan.WindowApply | plan.WindowTop]):
    """Rows, until their session is complete, which depends on the other rows of their group."""

    parts_apart = False

    def __init__(
        self,
        operator: plan.WindowAggregate | plan.WindowApply | plan.WindowTop,
        inputs: Sequence[Schema],
        frame: SessionFrame,
        by: Sequence[Expression],
    ) -> None:
        super().__init__(operator, inputs)
        self.frame = frame
        self.by = by
        self.native = not isinstance(operator, plan.WindowApply)

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the sessions that became complete."""
        if isinstance(self.operator, plan.WindowApply):
            return held.answers(applied_to_complete(self.operator, self.read(held, 0), moved))
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(lower_operator(self.operator, self.read(held, 0)).where(done))

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows in sessions that are not complete."""
        frame, schema = self.frame, self.inputs[port]
        groups = [*(quoted(name) for name in schema.time if name != frame.over), *(e.sql for e in self.by)]
        framed = in_sessions(frame, schema, rows, groups)
        framed = framed.over({"__last": call("max", "__at")}, [*groups, "__session"])
        done = complete_at(schema, at, frame.over, f"__last + {frame.gap - 1}L")
        return framed.where(f"NOT ({done})").select(as_they_are(rows.names))
