"""Operators that look back to the last row of a key: of complete times, that one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.schema import Schema
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.rows import quoted, sort_columns
from tidegate.spark.lowering.units import units_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, complete_at, newly_complete
from tidegate.spark.streaming.keepers.keeper import Answer, Held, Moved, O, Units, Waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LastKept", "LatestRight"]


class _LooksBack(Waiting[O]):
    """What is kept gives answers at all times; those at times that became complete count."""

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers at the times that became complete."""
        rows = [self.read(held, port) for port in range(self.ports)]
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(lower_operator(self.operator, held.runtime, *rows).where(held.runtime.expr(done)))


class LatestRight(_LooksBack[plan.JoinAsof]):
    """Of `join_asof`: left rows until their time is complete, and the latest complete right row of each key."""

    def due(self, port: int, first: Units, moved: Moved) -> bool:
        """Whether left rows are complete; no answer waits for a right one."""
        return port == 0 and super().due(port, first, moved)

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:
        """Return what waits, and the right rows that may still be found."""
        if port == 0:
            return super().keep(held, port, rows, at)
        schema, over = self.inputs[port], self.operator.over
        keys = [*map(quoted, self.operator.on), *(quoted(name) for name in schema.time if name != over)]
        carried = dict(zip(rows.columns, sort_columns(rows), strict=True))
        order = [quoted(over), *(carried[name] for name in self.operator.right_columns)]
        return _first_of_complete(schema, held.runtime, rows, at, keys, [f"{sql} DESC" for sql in order])

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether left rows are complete; a right row may be found at any later time."""
        return port == 0 and super().outlived(port, last, at)


class LastKept(_LooksBack[plan.Deduplicate]):
    """Of `deduplicate`: rows until their time is complete, and the last of each key that was let through."""

    parts_apart = False

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:
        """Return what waits, and of each key the row from which the next one is measured."""
        operator, schema, runtime = self.operator, self.inputs[port], held.runtime
        done = complete(schema, at)
        passed = lower_operator(operator, runtime, rows.where(runtime.expr(done)))
        keys = [*(e.sql for e in operator.by), *(quoted(name) for name in schema.time if name != operator.over)]
        last = _first_of_complete(schema, runtime, passed, at, keys, [f"{quoted(operator.over)} DESC"])
        if operator.within is not None:
            until = f"{units_of(schema, operator.over)} + {operator.within - 1}L"
            last = last.where(runtime.expr(f"NOT ({complete_at(schema, at, operator.over, until)})"))
        return last.unionByName(rows.where(runtime.expr(f"NOT ({done})")))

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:  # noqa: ARG002
        """Whether a row was let through does not follow from its time."""
        return False


def _first_of_complete(
    schema: Schema, runtime: Runtime, rows: DataFrame, at: Frontier, keys: Sequence[str], order: Sequence[str]
) -> DataFrame:
    """Return the rows that are not complete, and of the complete ones the first of each key."""
    parts = ", ".join(["__done", *keys])
    number = f"row_number() OVER (PARTITION BY {parts} ORDER BY {', '.join(order)})"
    marked = rows.withColumn("__done", runtime.expr(complete(schema, at)))
    numbered = marked.withColumn("__nth", runtime.expr(number))
    return numbered.where(runtime.expr("NOT __done OR __nth = 1")).select(*map(quoted, rows.columns))
