"""Loops: rows that become complete meet what is known, and what is known goes on from there.

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
from tidegate.spark.streaming.keepers.keeper import Answer, Held, Keeper, Moved, Types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Known"]


class Known(Keeper[Iterate]):
    """All rows of the inputs, and what the loop knows."""

    @property
    def ports(self) -> int:
        """One for each input, one for what is known."""
        return len(self.inputs) + 1

    def state_types(self, runtime: Runtime, types: Types) -> list[StructType]:
        """Return the columns of rows, and of what is known."""
        return [*super().state_types(runtime, types), types.output]

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Take in the rows that became complete, and answer for their times."""
        with ExitStack() as open_blocks:
            open_blocks.callback(held.attempt.watch, self.operator, 0, None)
            return _Loop(self.operator, held, moved).answer(open_blocks)

    def keep(self, held: Held, port: int, rows: DataFrame, at: Frontier) -> DataFrame:  # noqa: ARG002
        """Return all rows, and what is known with fewer rows: along one column, all cells so far are one."""
        if port < len(self.inputs):
            return rows
        facts, runtime = Facts.of(self.operator), held.runtime
        if len(facts.times) == 1:
            return facts.merged(runtime, _since_ever(self.operator, rows))
        tagged = rows.withColumn("__from", runtime.F.lit(KNOWN_BEFORE))
        return facts.cells(runtime, tagged).select(*map(quoted, facts.columns))


@dataclass(slots=True)
class _Loop:
    """A loop in a step."""

    operator: Iterate
    held: Held
    moved: Moved

    @property
    def runtime(self) -> Runtime:
        return self.held.runtime

    @property
    def known(self) -> int:
        """The state of what is known."""
        return len(self.operator.inputs)

    @property
    def tables(self) -> dict[str, DataFrame]:
        return {self.operator.names[port]: table for port, table in self.held.tables.items()}

    def answer(self, open_blocks: ExitStack) -> Answer:
        runtime, schema = self.runtime, self.operator.schema
        rows: dict[str, DataFrame] = {}
        new: dict[str, DataFrame] = {}
        for port, name in enumerate(self.operator.names):
            if port in self.held.tables:
                continue
            all_rows = needed(self.operator, name, self.held.read_cached(port))
            rows[name] = all_rows.where(runtime.expr(complete(schema, self.moved.new)))
            fresh = newly_complete(schema, self.moved.old, self.moved.new)
            block = in_blocks(runtime, all_rows.where(runtime.expr(fresh)))
            open_blocks.callback(block.release)
            if block.rows:
                new[name] = shared(runtime, block)
        if not new:
            return self.held.answers(None)
        if self.operator.rounds is not None:
            return self.held.answers(self._counted(rows, list(new.values())))
        return self._found(open_blocks, rows, new)

    def _counted(self, rows: dict[str, DataFrame], new: list[DataFrame]) -> DataFrame:
        operator, runtime = self.operator, self.runtime
        loop = Counted(operator, runtime, {**rows, **self.tables}, self._watch())
        try:
            versions = units_of_versions(operator, runtime, versions_of(operator, new))
            everything = units_of_versions(operator, runtime, versions_of(operator, list(rows.values())))
            answers = answers_of_versions(loop, versions, everything)
            assert answers is not None, "there are versions"
            return self._written(answers)
        finally:
            loop.release()

    def _found(self, open_blocks: ExitStack, rows: dict[str, DataFrame], new: dict[str, DataFrame]) -> Answer:
        operator, runtime, known = self.operator, self.runtime, self.known
        known_rows = self.held.states[known].rows
        before = self._before() if known_rows else None
        given = {
            name: Given(frame, frame if before is None else new.get(name))
            for name, frame in {**rows, **self.tables}.items()
        }
        beginning = least_version(operator, runtime, list(rows.values())) if before is None else None
        rounds = Rounds(Queries(operator, runtime, given, beginning), before, known_rows, watch=self._watch())
        open_blocks.callback(rounds.release)
        part = self.held.write(known, "found", rounds.run())
        self.held = self.held.grown(known, part)
        if len(operator.schema.time) == 1 and operator.emit == "update":
            if not part.rows:
                return self.held.answers(None)
            first = quoted(operator.schema.time[0])
            found = self.held.read_cached(known, [part])
            return self.held.answers(found.where(runtime.expr(f"{first} IS NOT NULL")))
        cells = self.held.read_cached(known)
        versions = versions_of(operator, [frame.select(*operator.schema.time) for frame in new.values()])
        if operator.emit == "complete":
            return self.held.answers(self._written(all_known(operator, runtime, cells, versions)))
        everything = versions_of(operator, list(rows.values()))
        return self.held.answers(self._written(new_or_better(operator, runtime, cells, versions, everything)))

    def _written(self, answers: DataFrame) -> DataFrame:
        """Work out answers while what they are made of is held; no commit names them, and so they are cleaned away."""
        part = self.held.write(self.known, "answers", answers)
        return self.held.read_cached(self.known, [part] if part.rows else [])

    def _before(self) -> DataFrame:
        """Return what was known before this step; along one column nobody can tell any more since when."""
        cells = self.held.read_cached(self.known)
        return cells if len(self.operator.schema.time) > 1 else _since_ever(self.operator, cells)

    def _watch(self) -> Watch:
        return lambda number, least: self.held.attempt.watch(self.operator, number, least)


def _since_ever(operator: Iterate, cells: DataFrame) -> DataFrame:
    (column,) = operator.schema.times
    return cells.selectExpr(f"CAST(NULL AS {column.type}) AS {quoted(column.name)}", *map(quoted, cells.columns[1:]))
