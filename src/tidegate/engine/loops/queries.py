"""The queries of a loop on relations: what follows from new rows and new facts, and not from old ones alone.

What follows from old rows and old facts alone is known already. So each branch of a query is evaluated once for each
relation that has something new: with only what is new of that relation, and everything of the others (semi-naive
evaluation). Some facts are found twice by this, which does no harm, because facts are sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidegate.engine.relation import Backend, Relation
from tidegate.flow.errors import BadLoop
from tidegate.flow.loops.query import Branch
from tidegate.flow.plan import Iterate
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["LoopRows", "Queries", "check_types"]


@dataclass(frozen=True, slots=True)
class LoopRows:
    """The rows of a relation: all of them, and those that are new in this step, if there are any."""

    rows: Relation
    new: Relation | None


@dataclass(frozen=True, slots=True)
class Queries:
    """``start`` and ``step`` of a loop, on the rows of its inputs."""

    operator: Iterate
    backend: Backend
    given: Mapping[str, LoopRows]
    #: The time, as SQL, of facts that follow from tables alone: that of the first version. None means that they have no
    #: time.
    beginning: str | None = None

    def begin(self) -> list[Relation]:
        """Return the facts that follow from new rows by ``start``. If it reads none of them, the result has no rows."""
        first = self.operator.start.branches[0]
        none = {r.alias: self.given[r.name].rows for r in first.relations}
        found = self._from_new_rows(self.operator.start.branches, None)
        return found or [self._facts(first, none).where("false")]

    def resume(self, known: Relation | None) -> list[Relation]:
        """Return the facts that follow by ``step`` from new rows and the facts known before."""
        branches = self.operator.step.branches
        return self._from_new_rows([b for b in branches if known is not None or not b.known], known)

    def follow(self, fresh: Relation) -> list[Relation]:
        """Return the facts that follow by ``step`` from fresh facts."""
        found = []
        for branch in self.operator.step.branches:
            if branch.known:
                others = {r.alias: self.given[r.name].rows for r in branch.relations if r.alias != branch.known}
                found.append(self._facts(branch, {**others, branch.known: fresh}))
        return found

    def _from_new_rows(self, branches: Iterable[Branch], known: Relation | None) -> list[Relation]:
        found = []
        for branch in branches:
            others = [r for r in branch.relations if r.alias != branch.known]
            if not others:
                # The branch reads only the known facts, and no rows.
                continue
            tables = {r.alias: self.given[r.name].rows for r in others}
            if branch.known and known is not None:
                tables[branch.known] = known
            if all(self.given[r.name].new is self.given[r.name].rows for r in others):
                found.append(self._facts(branch, tables))
                continue
            for relation in others:
                new = self.given[relation.name].new
                if new is not None:
                    found.append(self._facts(branch, {**tables, relation.alias: new}))
        return found

    def _facts(self, branch: Branch, tables: Mapping[str, Relation]) -> Relation:
        schema = self.operator.schema
        sqls = branch.joined_times(schema.time)
        if self.beginning and not any(r.timed for r in branch.relations):
            sqls = (self.beginning,)
        columns: dict[str, tuple[str, str | None]] = {
            c.name: (sql, c.type) for c, sql in zip(schema.times, sqls, strict=True)
        }
        columns |= {e.name: (e.sql, None) for e in branch.outputs}
        return self.backend.joined(
            {r.alias: tables[r.alias] for r in branch.relations},
            [on.sql if on else None for on in branch.joins],
            branch.where.sql if branch.where else None,
            columns,
        )


def check_types(known: Schema, begun: Relation, then: Relation) -> None:
    """Raise unless ``start`` and ``step`` give facts of the same types. A backend would silently convert them."""
    first, later = (Schema(facts.columns) for facts in (begun, then))
    for column in known.columns:
        a, b = first[column.name].type, later[column.name].type
        if a != b and "VOID" not in (a, b):
            raise BadLoop(
                f"expected {column.name} of one type, got {a} from start and {b} from step",
                hint=f"CAST(… AS {b}) AS {quoted(column.name)} in start, or the other way in step",
            )
