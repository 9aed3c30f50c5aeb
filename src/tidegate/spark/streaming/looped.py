"""Loops from step to step: rows that become complete meet what is known, and what is known goes on from there.

The state of a loop is the rows of its inputs, and the cells of what it knows, each step adding those that it found.
Rows at times that are not complete wait.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.flow.plan import Iterate
from tidegate.spark.loops.answers import all_known, new_or_better
from tidegate.spark.loops.blocks import in_blocks
from tidegate.spark.loops.counted import Counted, answers_of_versions
from tidegate.spark.loops.facts import KNOWN_BEFORE, Facts
from tidegate.spark.loops.queries import Given, Queries
from tidegate.spark.loops.relations import least_version, needed, units_of_versions, versions_of
from tidegate.spark.loops.rounds import Rounds, Watch, shared
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, newly_complete
from tidegate.spark.streaming.state import State, write_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.spark.streaming.operators import Step

__all__ = ["go_round", "merged_known"]


def go_round(
    step: Step,
    operator: Iterate,
    key: str,
    states: list[State],
    tables: dict[str, DataFrame],
    old: Frontier,
    new: Frontier,
) -> tuple[DataFrame | None, list[State]]:
    """Take in the rows that became complete, and answer for their times; None if there are none.

    ``tables`` are the inputs without times, by name.
    """
    loop = _Loop(step, operator, key, states, tables, old, new)
    with ExitStack() as held:
        held.callback(step.watch, operator, 0, None)
        return loop.answers(held)


@dataclass(slots=True)
class _Loop:
    """A loop in a step."""

    step: Step
    operator: Iterate
    key: str
    states: list[State]
    tables: dict[str, DataFrame]
    old: Frontier
    new: Frontier

    @property
    def runtime(self) -> Runtime:
        return self.step.runtime

    def answers(self, held: ExitStack) -> tuple[DataFrame | None, list[State]]:
        runtime, schema = self.runtime, self.operator.schema
        rows: dict[str, DataFrame] = {}
        new: dict[str, DataFrame] = {}
        for port, name in enumerate(self.operator.names):
            if name in self.tables:
                continue
            all_rows = needed(self.operator, name, self._read(port))
            rows[name] = all_rows.where(runtime.expr(complete(schema, self.new)))
            block = in_blocks(runtime, all_rows.where(runtime.expr(newly_complete(schema, self.old, self.new))))
            held.callback(block.release)
            if block.rows:
                new[name] = shared(runtime, block)
        if not new:
            return None, self.states
        if self.operator.rounds is not None:
            return self._counted(rows, list(new.values())), self.states
        return self._found(held, rows, new)

    def _counted(self, rows: dict[str, DataFrame], new: list[DataFrame]) -> DataFrame:
        operator, runtime = self.operator, self.runtime
        loop = Counted(operator, runtime, {**rows, **self.tables}, self._watch())
        try:
            versions = units_of_versions(operator, runtime, versions_of(operator, new))
            everything = units_of_versions(operator, runtime, versions_of(operator, list(rows.values())))
            answers = answers_of_versions(loop, versions, everything)
            assert answers is not None, "there are versions"
            return self._written("answers", answers)
        finally:
            loop.release()

    def _found(
        self, held: ExitStack, rows: dict[str, DataFrame], new: dict[str, DataFrame]
    ) -> tuple[DataFrame | None, list[State]]:
        operator, runtime, step = self.operator, self.runtime, self.step
        known = len(operator.inputs)
        before = self._before() if self.states[known].rows else None
        given = {
            name: Given(frame, frame if before is None else new.get(name))
            for name, frame in {**rows, **self.tables}.items()
        }
        beginning = least_version(operator, runtime, list(rows.values())) if before is None else None
        rounds = Rounds(
            Queries(operator, runtime, given, beginning), before, self.states[known].rows, watch=self._watch()
        )
        held.callback(rounds.release)
        cells = rounds.run()
        part = write_part(step.files, runtime, cells, step.path(self.key, known, "found"))
        states = [*self.states[:known], self.states[known].grown(part)]
        total = len(operator.schema.time) == 1
        if total and operator.emit == "update":
            if not part.rows:
                return None, states
            first = quoted(operator.schema.time[0])
            found = step.warm.read(step.files, runtime, [part], step.schemas[operator.id])
            return found.where(runtime.expr(f"{first} IS NOT NULL")), states
        cells = step.warm.read(step.files, runtime, states[known].parts, step.schemas[operator.id])
        self.states = states
        versions = versions_of(operator, [frame.select(*operator.schema.time) for frame in new.values()])
        if operator.emit == "complete":
            return self._written("answers", all_known(operator, runtime, cells, versions)), states
        everything = versions_of(operator, list(rows.values()))
        return self._written("answers", new_or_better(operator, runtime, cells, versions, everything)), states

    def _written(self, kind: str, answers: DataFrame) -> DataFrame:
        """Work out answers while what they are made of is held; no commit names them, and so they are cleaned away."""
        step = self.step
        part = write_part(step.files, self.runtime, answers, step.path(self.key, len(self.states) - 1, kind))
        return step.warm.read(step.files, self.runtime, [part] if part.rows else [], step.schemas[self.operator.id])

    def _before(self) -> DataFrame:
        """Answer what was known before this step; along one column nobody can tell any more since when."""
        port = len(self.operator.inputs)
        cells = self._read(port)
        return cells if len(self.operator.schema.time) > 1 else _since_ever(self.operator, cells)

    def _read(self, port: int) -> DataFrame:
        names = [*self.operator.inputs, self.operator.id]
        step = self.step
        return step.warm.read(step.files, self.runtime, self.states[port].parts, step.schemas[names[port]])

    def _watch(self) -> Watch:
        return lambda number, least: self.step.watch(self.operator, number, least)


def merged_known(operator: Iterate, runtime: Runtime, cells: DataFrame) -> DataFrame:
    """Answer what is known with fewer rows: one for each cell; along one column, all cells so far are one."""
    facts = Facts.of(operator)
    if len(facts.times) == 1:
        return facts.merged(runtime, _since_ever(operator, cells))
    tagged = cells.withColumn("__from", runtime.F.lit(KNOWN_BEFORE))
    return facts.cells(runtime, tagged).select(*map(quoted, facts.columns))


def _since_ever(operator: Iterate, cells: DataFrame) -> DataFrame:
    (column,) = operator.schema.times
    return cells.selectExpr(f"CAST(NULL AS {column.type}) AS {quoted(column.name)}", *map(quoted, cells.columns[1:]))
