"""The relations that a loop reads: their columns that it needs, and the versions that their rows make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.flow.plan import Iterate
from tidegate.spark.loops.queries import united
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.units import from_units, units_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["least_version", "needed", "units_of_versions", "versions_of"]


def needed(operator: Iterate, name: str, rows: DataFrame) -> DataFrame:
    """Answer the rows of a relation with the columns that the queries read, and times."""
    queries = (operator.start, operator.step)
    if any(name in query.relations and not query.branches for query in queries):
        return rows
    read = set(operator.schema.time)
    for branch in (branch for query in queries for branch in query.branches):
        aliases = [r.alias for r in branch.relations if r.name == name]
        parts = [*branch.outputs, *(on for on in branch.joins if on), *([branch.where] if branch.where else [])]
        for column in (column for part in parts for column in part.columns):
            alias, _, plain = column.partition(".")
            read |= {plain} if alias in aliases else set()
    return rows.select(*(quoted(c) for c in rows.columns if c in read))


def versions_of(operator: Iterate, timed: Sequence[DataFrame]) -> DataFrame:
    """Answer the times at which there is a row, each once."""
    return united(rows.select(*map(quoted, operator.schema.time)) for rows in timed).distinct()


def units_of_versions(operator: Iterate, runtime: Runtime, versions: DataFrame) -> list[tuple[int, ...]]:
    """Answer versions as units since the epoch, sorted; this runs a job."""
    columns = [runtime.expr(units_of(operator.schema, name), name) for name in operator.schema.time]
    return sorted(tuple(row) for row in versions.select(*columns).collect())


def least_version(operator: Iterate, runtime: Runtime, timed: Sequence[DataFrame]) -> str | None:
    """Answer, with one time column, the first version as SQL, where facts come of tables alone; else None.

    Those hold from the beginning, and so they are new in the first version.
    """
    branches = [*operator.start.branches, *(b for b in operator.step.branches if not b.known)]
    if len(operator.schema.time) > 1 or all(any(r.timed for r in branch.relations) for branch in branches):
        return None
    (name,) = operator.schema.time
    rows = united(frame.select(quoted(name)) for frame in timed)
    least = rows.agg(runtime.expr(f"min({units_of(operator.schema, name)})", "least")).first()
    if least is None or least[0] is None:
        return None
    return from_units(f"{least[0]}L", operator.schema[name].type or "")
