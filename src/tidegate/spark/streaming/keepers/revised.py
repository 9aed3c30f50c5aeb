"""Windows with lateness: rows in each window that they are in, until it is complete and its lateness has passed.

Each step that late rows come in gives one more answer for the windows that they come into.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import WindowFrame
from tidegate.flow.schema import Schema
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.windows import in_windows
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.attempt import Attempt
from tidegate.spark.streaming.frontiers import Frontier, complete_at, is_complete
from tidegate.spark.streaming.keepers.keeper import Answer, Held, Moved, New, Types, Units, Waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["ORIGIN", "RevisedWindows"]

#: The column of late rows that tells which row of the batch each comes from.
ORIGIN = "__origin"


class RevisedWindows(Waiting[plan.WindowAggregate | plan.WindowApply]):
    """Rows in windows. ``__start`` says in which, ``__came`` in which step a row came to a window already answered."""

    # Which late rows a window takes is not known before the rows are looked at.
    early = False
    takes_late = True
    keeps = "rows in windows"

    def __init__(
        self,
        operator: plan.WindowAggregate | plan.WindowApply,
        inputs: Sequence[Schema],
        frame: WindowFrame,
        by: Sequence[Expression],
    ) -> None:
        super().__init__(operator, inputs)
        self.frame = frame
        self.by = by

    def state_types(self, runtime: Runtime, types: Types) -> list[StructType]:  # noqa: ARG002
        """Return the columns of rows in windows."""
        from pyspark.sql.types import LongType, StructField, StructType

        (given,) = types.inputs
        return [StructType([*given.fields, StructField("__start", LongType()), StructField("__came", LongType())])]

    def due(self, port: int, first: Units, moved: Moved) -> bool:  # noqa: ARG002
        """Whether there is something: late rows come into windows that were answered."""
        return True

    def enter(self, new: New) -> DataFrame | None:
        """Return new rows in their windows, and late ones, which are in theirs already."""
        parts = [] if new.rows is None else [self.admitted(new.attempt, new.rows, new.old)]
        parts += [] if new.late is None else [new.late.drop(ORIGIN)]
        return reduce(lambda one, other: one.unionByName(other), parts) if parts else None

    def admitted(self, attempt: Attempt, rows: DataFrame, old: Frontier) -> DataFrame:
        """Return rows, late or not, in the windows that admit them."""
        frame, runtime, (schema,) = self.frame, attempt.runtime, self.inputs
        last = f"__start + {frame.size - 1}L"
        closed = complete_at(schema, old, frame.over, f"{last} + {frame.lateness}L")
        answered = complete_at(schema, old, frame.over, last)
        framed = in_windows(frame, schema, runtime, rows).where(runtime.expr(f"NOT ({closed})"))
        return framed.withColumn("__came", runtime.expr(f"IF({answered}, {attempt.number}L, CAST(NULL AS BIGINT))"))

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers for windows that became complete, and again for those that late rows came into."""
        frame, runtime, (schema,), number = self.frame, held.runtime, self.inputs, held.attempt.number
        last = f"__start + {frame.size - 1}L"
        before, now = (complete_at(schema, frontier, frame.over, last) for frontier in (moved.old, moved.new))
        rows = held.read(0).where(runtime.expr(now))
        if held.late is None:
            # Only first answers: nothing that was answered before has changed.
            rows = rows.where(runtime.expr(f"NOT ({before})")).withColumn("__revision", runtime.expr("0"))
        else:
            others = [quoted(name) for name in schema.time if name != frame.over]
            group = f"OVER (PARTITION BY {', '.join(['__start', *others, *(f'({e.sql})' for e in self.by)])})"
            changed = f"max(coalesce(__came = {number}L, false) OR NOT ({before})) {group}"
            # One answer for the rows that came in time, and one for each step that late ones came in.
            revision = f"size(collect_set(coalesce(__came, -1L)) {group}) - 1"
            marked = rows.withColumns({"__changed": runtime.expr(changed), "__revision": runtime.expr(revision)})
            rows = marked.where(runtime.expr("__changed"))
        names = [quoted(field.name) for field in held.types.inputs[0].fields]
        found = lower_operator(self.operator, runtime, rows.select(*names, "__start", "__revision"))
        return held.answers(found)

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:
        """Return the rows in windows that may still be answered, for the first time or again."""
        last = f"__start + {self.frame.size - 1 + self.frame.lateness}L"
        return rows.where(held.runtime.expr(f"NOT ({complete_at(self.inputs[port], at, self.frame.over, last)})"))

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last window of a time takes no late rows any more."""
        frame, schema = self.frame, self.inputs[port]
        over, more = schema.time.index(frame.over), frame.size - 1 + frame.lateness
        ends = [n - (n - frame.offset) % frame.every + more if i == over else n for i, n in enumerate(last)]
        return is_complete(schema, at, ends)
