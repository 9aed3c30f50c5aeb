"""Windows with lateness: each row in each of its windows, until the window is complete and its lateness has passed.

Each step with late rows gives one more answer for the windows that they fall into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tidegate.engine.attempt import Attempt
from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete_at, is_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, StepInput, Types, Units, WaitingRows
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.windows import in_windows
from tidegate.engine.relation import Backend, Relation, as_they_are, united
from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import WindowFrame
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["ORIGIN", "Revised", "RevisedWindows"]

#: The column of late rows with the number of the row of the batch that each comes from.
ORIGIN = "__origin"

Windowed = TypeVar("Windowed", bound=plan.WindowAggregate | plan.WindowApply | plan.WindowJoin | plan.WindowTop)


class Revised(WaitingRows[Windowed]):
    """Rows in windows.

    ``__start`` is the start of the window. ``__came`` is the step in which the row came, if its window had been
    answered before.
    """

    # Late rows are admitted to windows only after the new rows were read.
    written_first = False
    takes_late = True
    keeps = "rows in windows"

    def __init__(self, operator: Windowed, inputs: Sequence[Schema], frame: WindowFrame) -> None:
        super().__init__(operator, inputs)
        self.frame = frame

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the shapes of rows in windows."""
        placed = dict.fromkeys(("__start", "__came"), "CAST(NULL AS BIGINT)")
        return [backend.nothing(given).with_columns(placed).shape for given in types.inputs]

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:  # noqa: ARG002
        """Whether there may be answers. Always: late rows can come into windows that were answered before."""
        return True

    def enter(self, new: StepInput) -> Relation | None:
        """Return new rows placed in their windows, and late rows, which were placed before."""
        parts = [] if new.rows is None else [self.admitted(new.attempt, new.rows, new.old)]
        parts += [] if new.late is None else [new.late.without(ORIGIN)]
        return united(parts) if parts else None

    def admitted(self, attempt: Attempt, rows: Relation, old: Frontier) -> Relation:
        """Return rows, late or not, placed in the windows that admit them."""
        # If there are two inputs, they have the same time columns.
        frame, schema = self.frame, self.inputs[0]
        last = f"__start + {frame.size - 1}L"
        closed = complete_at(schema, old, frame.over, f"{last} + {frame.lateness}L")
        answered = complete_at(schema, old, frame.over, last)
        framed = in_windows(frame, schema, rows).where(f"NOT ({closed})")
        return framed.with_columns({"__came": f"IF({answered}, {attempt.number}L, CAST(NULL AS BIGINT))"})

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows in windows that may still be answered for, for the first time or again."""
        last = f"__start + {self.frame.size - 1 + self.frame.lateness}L"
        return rows.where(f"NOT ({complete_at(self.inputs[port], at, self.frame.over, last)})")

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last window that a time is in takes no late rows any more."""
        frame, schema = self.frame, self.inputs[port]
        over, more = schema.time.index(frame.over), frame.size - 1 + frame.lateness
        ends = [n - (n - frame.offset) % frame.every + more if i == over else n for i, n in enumerate(last)]
        return is_complete(schema, at, ends)

    def ended(self, at: Frontier) -> str:
        """Return the SQL condition that the window of a row is complete."""
        return complete_at(self.inputs[0], at, self.frame.over, f"__start + {self.frame.size - 1}L")

    @property
    def others(self) -> list[str]:
        """The time columns other than the one that windows are over."""
        return [name for name in self.inputs[0].time if name != self.frame.over]


class RevisedWindows(Revised[plan.WindowAggregate | plan.WindowApply | plan.WindowTop]):
    """Rows of one input. Each window and group has its own answer."""

    def __init__(
        self,
        operator: plan.WindowAggregate | plan.WindowApply | plan.WindowTop,
        inputs: Sequence[Schema],
        frame: WindowFrame,
        by: Sequence[Expression],
    ) -> None:
        super().__init__(operator, inputs, frame)
        self.by = by

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for windows that became complete, and again for those that late rows came into."""
        number, before = held.attempt.number, self.ended(moved.old)
        rows = held.read(0).where(self.ended(moved.new))
        if not held.late:
            # There are only first answers: no window that was answered before has new rows.
            rows = rows.where(f"NOT ({before})").with_columns({"__revision": "0"})
        else:
            window = ["__start", *map(quoted, self.others), *(f"({e.sql})" for e in self.by)]
            changed = call("max", f"coalesce(__came = {number}L, false) OR NOT ({before})")
            # There was one answer with the rows that came in time, and one in each step with late rows.
            came = call("collect_set", "coalesce(__came, -1L)")
            marked = rows.over({"__changed": changed, "__steps": came}, window).where("__changed")
            rows = marked.with_columns({"__revision": "size(__steps) - 1"})
        names = [*held.input_types().names, "__start", "__revision"]
        return held.answers(lower_operator(self.operator, rows.select(as_they_are(names))))
