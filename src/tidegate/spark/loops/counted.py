"""Loops of a given number of rounds: each version from the beginning, on the rows at or below it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.flow.loops.query import KNOWN
from tidegate.flow.plan import Iterate
from tidegate.spark.loops.blocks import Block, in_blocks
from tidegate.spark.loops.queries import asked, united, views
from tidegate.spark.loops.rounds import Watch, unwatched
from tidegate.spark.lowering.calls import named_calls
from tidegate.spark.lowering.rows import quoted, row_order
from tidegate.spark.lowering.units import from_units, units_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Counted", "Version", "answers_of_versions", "kept"]

#: A time, as units since the epoch in each time column.
Version = tuple[int, ...]


def kept(operator: Iterate, runtime: Runtime, facts: DataFrame) -> DataFrame:
    """Answer what is kept of facts: one row for each key."""
    groups = facts.groupBy(*map(quoted, operator.key))
    calls = named_calls(operator.keep, row_order(facts))
    results = groups.agg(*runtime.exprs(calls)) if calls else groups.agg(runtime.expr("1", "__one"))
    values = {output.name: output.finish for output in operator.keep.outputs}
    # The key goes through as it is: under an alias, Spark would forget in blocks that the rows lie by it.
    return results.select(*map(quoted, operator.key), *runtime.exprs(values))


@dataclass(slots=True)
class Counted:
    """A loop with ``rounds``, and what is known in the versions that were worked out."""

    operator: Iterate
    runtime: Runtime
    given: Mapping[str, DataFrame]
    watch: Watch = unwatched
    known: dict[Version, Block] = field(default_factory=dict)

    def at(self, version: Version) -> DataFrame:
        """Answer what is known in a version, after all rounds."""
        if version not in self.known:
            self.known[version] = self._worked_out(version)
        return self.known[version].frame

    def release(self) -> None:
        """Give back what is held."""
        for block in self.known.values():
            block.release()
        self.known.clear()

    def _worked_out(self, version: Version) -> Block:
        operator, runtime = self.operator, self.runtime
        given = {name: self._below(frame, version) for name, frame in self.given.items()}
        rows = dict(given)
        with ExitStack() as held:
            once, step = operator.step.hoisted()
            begun, start = operator.start.hoisted()
            # What start defines like step is asked for both, unless a name means something else in one of them.
            both = {**begun, **once}
            shared = given.keys().isdisjoint(both) and all(both[name] == query for name, query in begun.items())
            for name, query in (both if shared else once).items():
                rows[name] = asked(runtime, query, rows).persist()
                held.callback(rows[name].unpersist)
            first = asked(runtime, start, rows) if shared else asked(runtime, operator.start, given)
            known = in_blocks(runtime, kept(operator, runtime, first))
            named = held.enter_context(views(runtime, {n: rows[n] for n in step.relations if n != KNOWN}))
            for number in range(1, (operator.rounds or 0) + 1):
                self.watch(number, version)
                found = asked(runtime, step, {KNOWN: known.frame}, named)
                before, known = known, in_blocks(runtime, kept(operator, runtime, found))
                before.release()
        return known

    def _below(self, frame: DataFrame, version: Version) -> DataFrame:
        """Answer the rows at or below a version, without their times."""
        times = self.operator.schema.time
        if not set(times) <= set(frame.columns):
            return frame
        at = [f"{units_of(self.operator.schema, name)} <= {n}L" for name, n in zip(times, version, strict=True)]
        return frame.where(self.runtime.expr(" AND ".join(at))).drop(*times)


def answers_of_versions(loop: Counted, versions: list[Version], all_versions: list[Version]) -> DataFrame | None:
    """Answer what a loop says in some versions: all that is known, or what differs from a version just below."""
    found = []
    for version in sorted(versions):
        known = loop.at(version)
        if loop.operator.emit == "complete":
            found.append(_at(loop, known, version))
            continue
        below = [s for s in all_versions if s != version and _le(s, version)]
        latest = [s for s in below if not any(s != u and _le(s, u) for u in below)]
        if not latest:
            found.append(_at(loop, known, version))
            continue
        columns = {f"__{i}": quoted(name) for i, name in enumerate(known.columns)}
        same = loop.runtime.expr(" AND ".join(f"{sql} <=> {name}" for name, sql in columns.items()))
        others = [loop.at(s).select(*loop.runtime.exprs(columns)) for s in latest]
        differing = united(known.join(other, same, "left_anti") for other in others)
        found.append(_at(loop, differing.dropDuplicates(list(loop.operator.key)), version))
    return united(found) if found else None


def _at(loop: Counted, known: DataFrame, version: Version) -> DataFrame:
    times = {
        c.name: from_units(f"{n}L", c.type or "") for c, n in zip(loop.operator.schema.times, version, strict=True)
    }
    return known.select(*loop.runtime.exprs(times), *map(quoted, known.columns))


def _le(a: Version, b: Version) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))
