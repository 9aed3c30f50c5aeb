"""Facts with times: of all that was found for a key, what is known from which time on, and what of it is new.

A fact holds from its time on; one without a time (NULL) has always held. What is known of a key at a time is the merge
of its facts at or below it. So facts are kept in *cells*: the times at which what is known of a key changes. With one
time column, that is a running merge along it; with several, one along each column of the grid of a key's times. A cell
goes if what is known there is known just before it already, in some column: where values have a total order, the cells
of a key are the Pareto-minimal pairs of value and time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.flow.loops.keep import Rule
from tidegate.flow.plan import Iterate
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FOUND", "HERE", "KNOWN_BEFORE", "Facts"]

#: Where a fact comes from: it was known before this step, was found in a round of it before, or is found now.
KNOWN_BEFORE, HERE, FOUND = 0, 1, 2

_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@dataclass(frozen=True, slots=True)
class Facts:
    """The shape of a loop's facts: time columns, key, and values with the rules by which they are merged."""

    times: tuple[str, ...]
    key: tuple[str, ...]
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, operator: Iterate) -> Facts:
        """Answer the shape of what a loop knows."""
        return cls(operator.schema.time, operator.key, operator.rules)

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values."""
        return tuple(rule.name for rule in self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns: time, key, values."""
        return (*self.times, *self.key, *self.values)

    def renamed(self, name: Callable[[str], str]) -> tuple[Rule, ...]:
        """Answer the same rules for values under other names."""
        return tuple(Rule(name(rule.name), rule.function, rule.by and name(rule.by)) for rule in self.rules)

    def merged(self, runtime: Runtime, rows: DataFrame) -> DataFrame:
        """Answer one fact for each key and time."""
        values = {rule.name: rule.merge(self.rules) for rule in self.rules}
        return self._grouped(runtime, rows, values).select(*map(quoted, self.columns))

    def cells(self, runtime: Runtime, rows: DataFrame) -> DataFrame:
        """Answer the cells of what is known, with ``__fresh`` if that was not known there, ``__here`` since this step.

        ``rows`` are facts with a column ``__from``: `KNOWN_BEFORE`, `HERE` or `FOUND`.
        """
        own = rows.select(
            "*", *(runtime.expr(f"IF(__from < {FOUND}, {quoted(v)}, NULL)", self._old(v)) for v in self.values)
        )
        then = self.renamed(self._old)
        values = {rule.name: rule.merge(self.rules) for rule in self.rules} | {r.name: r.merge(then) for r in then}
        values |= {"__was": f"bool_or(__from < {FOUND})", "__here": f"bool_or(__from = {HERE})"}
        cells = self._grouped(runtime, own, values)
        if len(self.times) > 1:
            cells = self._on_grid(runtime, cells)
        cells = cells.withColumn("__n", runtime.expr("IF(__was IS NULL, 0, 1)"))
        for name in self.times:
            along = f"{self._along(name)} {_SO_FAR}"
            running = {rule.name: rule.merge(self.rules, over=along) for rule in self.rules}
            running |= {"__n": f"sum(__n) OVER ({along})"}
            others = [c for c in cells.columns if c not in running]
            cells = cells.select(*map(quoted, others), *runtime.exprs(running))
        now = self._known(self.values, "__n > 0")
        changes = {
            f"__new{i}": f"NOT ({now} <=> lag({now}) OVER ({self._along(name)}))" for i, name in enumerate(self.times)
        }
        kept = cells.select("*", *runtime.exprs(changes)).where(runtime.expr(" AND ".join(["__n > 0", *changes])))
        before = self._known(tuple(map(self._old, self.values)), "__was")
        fresh = f"NOT ({now} <=> {before})"
        flags = {"__fresh": fresh, "__here": f"coalesce(__here, false) OR {fresh}"}
        return kept.select(*map(quoted, self.columns), *runtime.exprs(flags))

    def _grouped(self, runtime: Runtime, rows: DataFrame, values: dict[str, str]) -> DataFrame:
        groups = rows.groupBy(*map(quoted, (*self.key, *self.times)))
        return groups.agg(*runtime.exprs(values)) if values else groups.agg(runtime.expr("count(*)", "__n"))

    def _on_grid(self, runtime: Runtime, cells: DataFrame) -> DataFrame:
        """Answer a row for each combination of the values that a key's times have; most of them are no cells yet."""
        key = list(map(quoted, self.key))
        data = [c for c in cells.columns if c not in self.key]
        grid = cells.groupBy(*key).agg(runtime.expr(f"collect_list(struct({', '.join(map(quoted, data))}))", "__cells"))
        axes = []
        for i, name in enumerate(map(quoted, self.times)):
            axes.append(f"__t{i}")
            values = f"explode(array_distinct(transform(__cells, c -> c.{name})))"
            grid = grid.select(*key, *axes[:-1], "__cells", runtime.expr(values, axes[-1]))
        same = " AND ".join(f"c.{quoted(name)} <=> __t{i}" for i, name in enumerate(self.times))
        found = grid.select(*key, *axes, runtime.expr(f"get(filter(__cells, c -> {same}), 0)", "__cell"))
        times = {name: f"__t{i}" for i, name in enumerate(self.times)}
        others = {c: f"__cell.{quoted(c)}" for c in data if c not in self.times}
        return found.select(*key, *runtime.exprs(times | others))

    def _along(self, time: str) -> str:
        others = [*self.key, *(name for name in self.times if name != time)]
        return f"PARTITION BY {', '.join(map(quoted, others))} ORDER BY {quoted(time)}"

    @staticmethod
    def _known(values: tuple[str, ...], where: str) -> str:
        """Answer what is known as one value, NULL where nothing is."""
        fields = ["'is', true", *(f"'v{i}', {quoted(name)}" for i, name in enumerate(values))]
        return f"IF({where}, named_struct({', '.join(fields)}), NULL)"

    @staticmethod
    def _old(name: str) -> str:
        return f"__old_{name}"
