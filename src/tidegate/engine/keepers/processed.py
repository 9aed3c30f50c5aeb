"""`process`: rows and timers until their time is complete, and the memory of each copy of the user's operator.

There is one copy for each key. `Memory` says what is kept of it: the rows that it was given, or what it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.engine.frontiers import Frontier, newly_complete
from tidegate.engine.keepers.accumulated import FEW
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Types, Units, WaitingRows
from tidegate.engine.keepers.resumed import (
    Memory,
    latest,
    memory_of_rows,
    not_forgotten,
    replayed,
    resumed,
    states_of,
    timers_in,
    timers_of_rows,
)
from tidegate.engine.lowering.across_time import answer_columns
from tidegate.engine.relation import Backend, ComputedRows, Relation
from tidegate.flow.plan import Process
from tidegate.flow.schema import Schema

__all__ = ["TIMERS", "CopyStates", "ReplayedRows"]

#: The number of the state with the waiting timers.
TIMERS = 2


class _Copies(WaitingRows[Process]):
    """Rows that wait in the first state; what is kept of the copies in the second."""

    native = False

    def __init__(self, operator: Process, inputs: Sequence[Schema], memory: Memory) -> None:
        super().__init__(operator, inputs)
        self.memory = memory
        self.label = f"{memory.value}-timers" if operator.timers else memory.value
        # A copy that is forgotten answers although it has no new row. Whether it is forgotten depends on all of its
        # rows.
        self.on_its_own = operator.forget is not None
        self.parts_apart = operator.forget is None

    @property
    def ports(self) -> int:
        """The number of states: one for waiting rows, one for the copies, and one for timers if there are any."""
        return 3 if self.operator.timers else 2

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the states that wait for times: that of the rows, and that of the timers."""
        return (0, TIMERS) if self.operator.timers else (0,)

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the shapes of rows, of what is kept of the copies, and of timers."""
        rows = backend.nothing(types.inputs[0])
        found = [*super().state_types(backend, types), memory_of_rows(self.operator, self.memory, rows).shape]
        return [*found, timers_of_rows(self.operator, rows).shape] if self.operator.timers else found

    def times(self, port: int) -> list[str]:
        """Return SQL for the times of rows, or of timers."""
        return super().times(0 if port == TIMERS else port)

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:
        """Whether the first time is complete."""
        return super().due(0 if port == TIMERS else port, first, moved)

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last time is complete."""
        return super().outlived(0 if port == TIMERS else port, last, at)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows and timers whose time is not complete, each timer once."""
        return super().keep(held, 0, rows.distinct(), at) if port == TIMERS else super().keep(held, port, rows, at)

    def _fresh(self, held: HeldState, moved: FrontierMove) -> Relation:
        done = newly_complete(self.inputs[0], moved.old, moved.new)
        return self.read(held, 0).where(done)

    def _timers(self, held: HeldState, moved: FrontierMove) -> Relation | None:
        """Return the timers that are due; None if the operator has none."""
        if not self.operator.timers:
            return None
        return self.read(held, TIMERS).where(newly_complete(self.inputs[0], moved.old, moved.new)).distinct()

    def _with_timers(self, held: HeldState, moved: FrontierMove, asked: Relation, result: ComputedRows) -> HeldState:
        """Return what is held, with the timers that copies have set. After the end of the input there are none."""
        if moved.ended:
            return held
        try:
            return held.grown(TIMERS, held.write(TIMERS, "asked", asked, self.times(TIMERS)))
        except BaseException:
            result.release()
            raise


class ReplayedRows(_Copies):
    """All rows that a copy was given. They are replayed to a new copy whenever its key has new rows."""

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the rows that became complete, after replaying the rows before them."""
        number = held.attempt.number
        done = self._fresh(held, moved).with_columns({"__done": f"{number}L"})
        part = held.write(1, "done", done)
        held = held.grown(1, part)
        timers = self._timers(held, moved)
        if not held.states[1].rows or not (part.rows or moved.ended or self.on_its_own or timers is not None):
            return held.answers(None)
        found = replayed(self.operator, self.read(held, 1), number, moved, timers)
        if timers is None:
            return held.answers(found)
        result = held.attempt.backend.cached(found)
        answers, asked = timers_in(self.operator, result.rows)
        return self._with_timers(held, moved, asked, result).answers(
            answers.select(answer_columns(self.operator)), result
        )

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that wait, and all rows that were given to copies that are not forgotten."""
        return not_forgotten(self.operator, rows, at) if port == 1 else super().keep(held, port, rows, at)


class CopyStates(_Copies):
    """What each copy knows, as a value or a pickle."""

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the rows that became complete, from the known states of their keys."""
        fresh, known, few = self._fresh(held, moved), self.read(held, 1), held.states[0].rows <= FEW
        timers = self._timers(held, moved)
        found = resumed(self.operator, self.memory, fresh, known, moved, timers, few=few)
        result = held.attempt.backend.cached(found)
        output = result.rows
        if timers is not None:
            output, asked = timers_in(self.operator, output)
            held = self._with_timers(held, moved, asked, result)
        answers, knows = states_of(self.operator, output, held.attempt.number)
        if moved.ended:
            return held.answers(answers, result)
        try:
            part = held.write(1, "known", knows)
        except BaseException:
            result.release()
            raise
        return held.grown(1, part).answers(answers if part.rows or self.on_its_own else None, result)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that wait, and for each key the last known state."""
        return latest(self.operator, rows, at) if port == 1 else super().keep(held, port, rows, at)
