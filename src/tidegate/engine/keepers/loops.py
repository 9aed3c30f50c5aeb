"""Loops: when rows become complete, the loop derives from them, and from the facts it knows, what follows.

The state of a loop is all rows of its inputs, and the facts it knows, as cells. Each step adds the cells that it found.
Rows at times that are not complete wait.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tidegate.engine.frontiers import Frontier, complete, newly_complete
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Keeper, Types
from tidegate.engine.loops.answers import all_known, new_or_better
from tidegate.engine.loops.counted import CountedLoop, answers_of_versions
from tidegate.engine.loops.facts import KNOWN_BEFORE, Facts
from tidegate.engine.loops.queries import LoopRows, Queries
from tidegate.engine.loops.relations import least_version, needed, units_of_versions, versions_of
from tidegate.engine.loops.rounds import Rounds, Watch, shared
from tidegate.engine.relation import Backend, Relation, as_they_are
from tidegate.flow.plan import Iterate
from tidegate.flow.sqltypes import quoted

__all__ = ["LoopFacts"]


class LoopFacts(Keeper[Iterate]):
    """All rows of the inputs, and the facts that the loop knows."""

    @property
    def ports(self) -> int:
        """The number of states: one for each input, and one for the facts."""
        return len(self.inputs) + 1

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the shapes of the inputs' rows, and of the facts."""
        return [*super().state_types(backend, types), types.output]

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Derive facts from the rows that became complete, and return the answers at their times."""
        with ExitStack() as open_blocks:
            open_blocks.callback(held.attempt.watch, self.operator, 0, None)
            return _Loop(self.operator, held, moved).answer(open_blocks)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return all rows of an input; or the facts, with those merged that need not be told apart any more.

        With one time column, all facts known so far hold at every later time, and become one cell for each key.
        """
        if port < len(self.inputs):
            return rows
        facts = Facts.of(self.operator)
        if len(facts.times) == 1:
            return facts.merged(_from_beginning(self.operator, rows))
        tagged = rows.with_columns({"__from": str(KNOWN_BEFORE)})
        return facts.cells(tagged).select(as_they_are(facts.columns))


@dataclass(slots=True)
class _Loop:
    """The evaluation of a loop in one step."""

    operator: Iterate
    held: HeldState
    moved: FrontierMove

    @property
    def known(self) -> int:
        """The number of the state with the facts."""
        return len(self.operator.inputs)

    @property
    def tables(self) -> dict[str, Relation]:
        return {self.operator.names[port]: table for port, table in self.held.tables.items()}

    def answer(self, open_blocks: ExitStack) -> Answer:
        schema = self.operator.schema
        rows: dict[str, Relation] = {}
        new: dict[str, Relation] = {}
        for port, name in enumerate(self.operator.names):
            if port in self.held.tables:
                continue
            all_rows = needed(self.operator, name, self.held.read_cached(port))
            rows[name] = all_rows.where(complete(schema, self.moved.new))
            fresh = newly_complete(schema, self.moved.old, self.moved.new)
            block = self.held.attempt.backend.kept(all_rows.where(fresh))
            open_blocks.callback(block.release)
            if block.size:
                new[name] = shared(block)
        if not new:
            return self.held.answers(None)
        if self.operator.rounds is not None:
            return self.held.answers(self._counted(rows, list(new.values())))
        return self._found(open_blocks, rows, new)

    def _counted(self, rows: dict[str, Relation], new: list[Relation]) -> Relation:
        operator = self.operator
        loop = CountedLoop(operator, self.held.attempt.backend, {**rows, **self.tables}, self._watch())
        try:
            versions = units_of_versions(operator, versions_of(operator, new))
            everything = units_of_versions(operator, versions_of(operator, list(rows.values())))
            answers = answers_of_versions(loop, versions, everything)
            assert answers is not None, "there are versions"
            return self._written(answers)
        finally:
            loop.release()

    def _found(self, open_blocks: ExitStack, rows: dict[str, Relation], new: dict[str, Relation]) -> Answer:
        operator, known = self.operator, self.known
        known_rows = self.held.states[known].rows
        before = self._before() if known_rows else None
        given = {
            name: LoopRows(all_rows, all_rows if before is None else new.get(name))
            for name, all_rows in {**rows, **self.tables}.items()
        }
        beginning = least_version(operator, list(rows.values())) if before is None else None
        rounds = Rounds(
            Queries(operator, self.held.attempt.backend, given, beginning), before, known_rows, watch=self._watch()
        )
        open_blocks.callback(rounds.release)
        part = self.held.write(known, "found", rounds.run())
        self.held = self.held.grown(known, part)
        if len(operator.schema.time) == 1 and operator.emit == "update":
            if not part.rows:
                return self.held.answers(None)
            first = quoted(operator.schema.time[0])
            found = self.held.read_cached(known, [part])
            return self.held.answers(found.where(f"{first} IS NOT NULL"))
        cells = self.held.read_cached(known)
        versions = versions_of(operator, list(new.values()))
        if operator.emit == "complete":
            return self.held.answers(self._written(all_known(operator, cells, versions)))
        everything = versions_of(operator, list(rows.values()))
        return self.held.answers(self._written(new_or_better(operator, cells, versions, everything)))

    def _written(self, answers: Relation) -> Relation:
        """Write answers while the rows that they are computed from are held, and return them.

        No commit names this part, so it is deleted with other leftovers.
        """
        part = self.held.write(self.known, "answers", answers)
        return self.held.read_cached(self.known, [part] if part.rows else [])

    def _before(self) -> Relation:
        """Return the facts known before this step.

        With one time column, their times are dropped, since they hold at every later time.
        """
        cells = self.held.read_cached(self.known)
        return cells if len(self.operator.schema.time) > 1 else _from_beginning(self.operator, cells)

    def _watch(self) -> Watch:
        return lambda number, least: self.held.attempt.watch(self.operator, number, least)


def _from_beginning(operator: Iterate, cells: Relation) -> Relation:
    (column,) = operator.schema.times
    return cells.select(as_they_are(cells.names) | {column.name: f"CAST(NULL AS {column.type})"})
