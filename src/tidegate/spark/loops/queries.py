"""The queries of a loop on DataFrames: what follows from new rows and new facts, and from nothing that is old only.

What follows from old rows and old facts alone is known. So each branch of a query is asked once for each relation that
has something new: that relation gives what is new, the others all that they have (semi-naive evaluation). Some facts
are found twice by that; facts are sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.flow.errors import BadLoop
from tidegate.flow.loops.query import Branch, Query
from tidegate.flow.plan import Iterate
from tidegate.flow.schema import Schema
from tidegate.spark.jvm import drop_global_view
from tidegate.spark.lowering.rows import columns_of, quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Given", "Queries", "asked", "check_types", "united", "views"]


@dataclass(frozen=True, slots=True)
class Given:
    """The rows of a relation: all of them, and those that are new in this step, if there are any."""

    rows: DataFrame
    new: DataFrame | None


@dataclass(frozen=True, slots=True)
class Queries:
    """``start`` and ``step`` of a loop, on the rows that are given to it."""

    operator: Iterate
    runtime: Runtime
    given: Mapping[str, Given]
    #: When facts hold that come of tables alone, as SQL: in the first version, or if it is None, without a time.
    beginning: str | None = None

    def begin(self) -> list[DataFrame]:
        """Answer facts that follow from new rows by ``start``; of rows that it does not read, no facts."""
        first = self.operator.start.branches[0]
        none = {r.alias: self.given[r.name].rows for r in first.relations}
        found = self._from_new_rows(self.operator.start.branches, None)
        return found or [self._facts(first, none).where("false")]

    def go_on(self, known: DataFrame | None) -> list[DataFrame]:
        """Answer facts that follow by ``step`` from new rows and from what was known before them."""
        branches = self.operator.step.branches
        return self._from_new_rows([b for b in branches if known is not None or not b.known], known)

    def follow(self, fresh: DataFrame) -> list[DataFrame]:
        """Answer facts that follow by ``step`` from fresh facts."""
        found = []
        for branch in self.operator.step.branches:
            if branch.known:
                others = {r.alias: self.given[r.name].rows for r in branch.relations if r.alias != branch.known}
                found.append(self._facts(branch, {**others, branch.known: fresh}))
        return found

    def _from_new_rows(self, branches: Iterable[Branch], known: DataFrame | None) -> list[DataFrame]:
        found = []
        for branch in branches:
            others = [r for r in branch.relations if r.alias != branch.known]
            if not others:
                # It reads known alone: new rows mean nothing to it.
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

    def _facts(self, branch: Branch, tables: Mapping[str, DataFrame]) -> DataFrame:
        expr = self.runtime.expr
        first, *others = (tables[r.alias].alias(r.alias) for r in branch.relations)
        found = first
        for other, on in zip(others, branch.joins, strict=True):
            found = found.join(other, expr(on.sql)) if on else found.crossJoin(other)
        if branch.where:
            found = found.where(expr(branch.where.sql))
        schema = self.operator.schema
        sqls = branch.times(schema.time)
        if self.beginning and not any(r.timed for r in branch.relations):
            sqls = (self.beginning,)
        times = [expr(sql).cast(c.type or "").alias(c.name) for c, sql in zip(schema.times, sqls, strict=True)]
        return found.select(*times, *(expr(e.sql, e.name) for e in branch.outputs))


def asked(
    runtime: Runtime, query: Query, tables: Mapping[str, DataFrame], named: Mapping[str, str] = MappingProxyType({})
) -> DataFrame:
    """Answer a query of any form, on tables without times; those that are `named` already are read by that name."""
    with views(runtime, {name: tables[name] for name in query.relations if name not in named}) as names:
        return runtime.session.sql(query.select({**named, **names}))


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """Answer the rows of frames with the same columns."""
    return reduce(lambda a, b: a.unionAll(b), frames)


def check_types(facts: Schema, begun: DataFrame, then: DataFrame) -> None:
    """Raise unless ``start`` and ``step`` give facts of the same types; Spark alone would convert one of them."""
    first, later = (Schema(columns_of(frame.schema)) for frame in (begun, then))
    for column in facts.columns:
        a, b = first[column.name].type, later[column.name].type
        if a != b and "VOID" not in (a, b):
            raise BadLoop(
                f"expected {column.name} of one type, got {a} from start and {b} from step",
                hint=f"CAST(… AS {b}) AS {quoted(column.name)} in start, or the other way in step",
            )


@contextmanager
def views(runtime: Runtime, tables: Mapping[str, DataFrame]) -> Iterator[dict[str, str]]:
    """Give DataFrames names that SQL can use, as long as queries are analysed.

    A step has a session of its own, and tables are of another one: the names are known to all.
    """
    names = {name: f"tidegate_{uuid4().hex}" for name in tables}
    try:
        for name, view in names.items():
            tables[name].createGlobalTempView(view)
        yield {name: f"global_temp.{view}" for name, view in names.items()}
    finally:
        for view in names.values():
            drop_global_view(runtime.session, view)
