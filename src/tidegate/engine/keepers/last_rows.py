"""Operators that look back to the last row of a key. Of the complete rows, only that one is kept."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete, complete_at, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, O, Units, WaitingRows
from tidegate.engine.lowering import lower_operator
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.units import units_of
from tidegate.flow import plan
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["LastKept", "LatestRight"]


class _OnKeptRows(WaitingRows[O]):
    """The operator is evaluated on all kept rows; its answers at the times that became complete are the new ones."""

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers at the times that became complete."""
        rows = [self.read(held, port) for port in range(self.ports)]
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(lower_operator(self.operator, *rows).where(done))


class LatestRight(_OnKeptRows[plan.JoinAsof]):
    """State of `join_asof`: left rows until their time is complete, and the latest complete right row of each key."""

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:
        """Whether the earliest left row is complete. Right rows by themselves have no answers."""
        return port == 0 and super().due(port, first, moved)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that wait, and the complete right rows that later left rows may match."""
        if port == 0:
            return super().keep(held, port, rows, at)
        schema, over = self.inputs[port], self.operator.over
        keys = [*map(quoted, self.operator.on), *(quoted(name) for name in schema.time if name != over)]
        carried = dict(zip(rows.names, rows.order, strict=True))
        order = [quoted(over), *(carried[name] for name in self.operator.right_columns)]
        return _last_of_complete(schema, rows, at, keys, order)

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether all left rows are complete. Right rows may be matched at any later time, so False for them."""
        return port == 0 and super().outlived(port, last, at)


class LastKept(_OnKeptRows[plan.Deduplicate]):
    """State of `deduplicate`: rows until their time is complete, and one last row of each key.

    That is the last row that was let through. With ``forget``, it is the last row that came.
    """

    parts_apart = False

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows that wait, and for each key the row from which the distance to the next one is measured."""
        operator, schema = self.operator, self.inputs[port]
        done = complete(schema, at)
        passed = rows.where(done)
        if operator.forget is None:
            passed = lower_operator(operator, passed)
        keys = [*(e.sql for e in operator.by), *(quoted(name) for name in schema.time if name != operator.over)]
        last = _last_of_complete(schema, passed, at, keys, [quoted(operator.over)])
        span = operator.within if operator.forget is None else operator.forget
        if span is not None:
            until = f"{units_of(schema, operator.over)} + {span - 1}L"
            last = last.where(f"NOT ({complete_at(schema, at, operator.over, until)})")
        return last.union(rows.where(f"NOT ({done})"))

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:  # noqa: ARG002
        """Whether rows are not needed any more. Never: their times alone do not tell."""
        return False


def _last_of_complete(
    schema: Schema, rows: Relation, at: Frontier, keys: Sequence[str], order: Sequence[str]
) -> Relation:
    """Return the rows that are not complete, and the last complete row of each key."""
    marked = rows.with_columns({"__done": complete(schema, at)})
    numbered = marked.over({"__nth": call("row_number")}, ["__done", *keys], order, descending=True)
    return numbered.where("NOT __done OR __nth = 1").select(as_they_are(rows.names))
