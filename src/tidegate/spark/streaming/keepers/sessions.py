"""Sessions: rows, until the session that they are in is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import SessionFrame
from tidegate.flow.schema import Schema
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.windows import in_sessions
from tidegate.spark.streaming.frontiers import Frontier, complete_at, newly_complete
from tidegate.spark.streaming.keepers.keeper import Answer, Held, Keeper, Moved

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["RowsInSessions"]


class RowsInSessions(Keeper[plan.WindowAggregate | plan.WindowApply]):
    """Rows, until their session is complete; how long that is depends on the rows of its group."""

    parts_apart = False

    def __init__(
        self,
        operator: plan.WindowAggregate | plan.WindowApply,
        inputs: Sequence[Schema],
        frame: SessionFrame,
        by: Sequence[Expression],
    ) -> None:
        super().__init__(operator, inputs)
        self.frame = frame
        self.by = by
        self.native = not isinstance(operator, plan.WindowApply)

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers for the sessions that became complete."""
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(
            lower_operator(self.operator, held.runtime, self.read(held, 0)).where(held.runtime.expr(done))
        )

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:
        """Return the rows in sessions that are not complete."""
        frame, schema, runtime = self.frame, self.inputs[port], held.runtime
        groups = {name: quoted(name) for name in schema.time if name != frame.over}
        groups |= {e.name: e.sql for e in self.by}
        framed = in_sessions(frame, schema, runtime, rows, groups)
        within = f"(PARTITION BY {', '.join([*groups.values(), '__session'])})"
        framed = framed.withColumn("__last", runtime.expr(f"max(__at) OVER {within} + {frame.gap - 1}L"))
        done = complete_at(schema, at, frame.over, "__last")
        return framed.where(runtime.expr(f"NOT ({done})")).select(*map(quoted, rows.columns))
