"""`process`: rows until their time is complete, and what each copy of the user's operator knows.

How it goes on is up to the operator and the user (`Memory`): the rows that a copy was given are kept, or what it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.engine.frontiers import Frontier, newly_complete
from tidegate.engine.keepers.accumulated import FEW
from tidegate.engine.keepers.keeper import Answer, Held, Moved, Types, Waiting
from tidegate.engine.keepers.resumed import Memory, latest, memory_of_rows, not_forgotten, replayed, resumed, states_of
from tidegate.engine.relation import Backend, Relation
from tidegate.flow.plan import Process
from tidegate.flow.schema import Schema

__all__ = ["Knowledge", "PlayedRows"]


class _Copies(Waiting[Process]):
    """Rows that wait, and in a second state what is kept of the copies."""

    native = False

    def __init__(self, operator: Process, inputs: Sequence[Schema], memory: Memory) -> None:
        super().__init__(operator, inputs)
        self.memory = memory
        self.label = memory.value
        # A copy that is forgotten answers, without a row; and whether it is follows from all of its rows.
        self.on_its_own = operator.forget is not None
        self.parts_apart = operator.forget is None

    @property
    def ports(self) -> int:
        """One for rows that wait, one for the copies."""
        return 2

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the columns of rows, and of what is kept of the copies."""
        rows = backend.nothing(types.inputs[0])
        return [*super().state_types(backend, types), memory_of_rows(self.operator, self.memory, rows).shape]

    def _fresh(self, held: Held, moved: Moved) -> Relation:
        done = newly_complete(self.inputs[0], moved.old, moved.new)
        return self.read(held, 0).where(done)


class PlayedRows(_Copies):
    """All rows that a copy was given: they are played again whenever its key has new ones."""

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers for the rows that became complete, after the rows before them."""
        number = held.attempt.number
        done = self._fresh(held, moved).with_columns({"__done": f"{number}L"})
        part = held.write(1, "done", done)
        held = held.grown(1, part)
        if not held.states[1].rows or not (part.rows or moved.ended or self.on_its_own):
            return held.answers(None)
        return held.answers(replayed(self.operator, self.read(held, 1), number, moved))

    def keep(self, held: Held, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that wait, and all that were played to copies that are not forgotten."""
        return not_forgotten(self.operator, rows, at) if port == 1 else super().keep(held, port, rows, at)


class Knowledge(_Copies):
    """What each copy knows, as a value or a pickle."""

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers for the rows that became complete, from what is known of their keys."""
        fresh, known, few = self._fresh(held, moved), self.read(held, 1), held.states[0].rows <= FEW
        found = resumed(self.operator, self.memory, fresh, known, moved, few=few)
        result = held.attempt.backend.cached(found)
        answers, knows = states_of(self.operator, result.rows, held.attempt.number)
        if moved.ended:
            return held.answers(answers, result)
        try:
            part = held.write(1, "known", knows)
        except BaseException:
            result.release()
            raise
        return held.grown(1, part).answers(answers if part.rows or self.on_its_own else None, result)

    def keep(self, held: Held, port: int, rows: Relation, at: Frontier) -> Relation:
        """Return the rows that wait, and of each key what was known last."""
        return latest(self.operator, rows, at) if port == 1 else super().keep(held, port, rows, at)
