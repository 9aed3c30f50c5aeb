"""Sources in one query: tagged and united, and taken apart again in each step, with what was late or had no time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from tidegate.engine.frontiers import Frontier, complete, shown
from tidegate.engine.inputs import STEP, reason_of, untimed
from tidegate.engine.keys import key_text
from tidegate.engine.marks import Marks
from tidegate.engine.policies import CLOCK, Seen, policy_of, signals_of
from tidegate.engine.policies.policy import LATE, ON_TIME, REJECTED
from tidegate.flow.limits import Limit, limits
from tidegate.flow.plan import Plan, Source
from tidegate.flow.sqltypes import literal, quoted
from tidegate.spark.arrow import struct_type
from tidegate.spark.inputs import UNREADABLE
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

__all__ = ["Taken", "diverted", "look", "observable", "take", "united"]

#: The text of a row that did not parse, in batches of flows with a source that tells.
_TEXT = "__text"


def united(
    flow: Plan, runtime: Runtime, inputs: Mapping[str, DataFrame], signals: Mapping[str, DataFrame] | None = None
) -> DataFrame:
    """Answer all sources as one DataFrame: a column that tells which, and a struct for each of them.

    ``signals`` gives texts for those that need them: rows that have no struct, and ``value`` in a column of its own.
    One source without signals has nothing to be told apart from, and keeps its columns.
    """
    names = [source.id for source in flow.sources]
    types = [struct_type(source.schema.columns) for source in flow.sources]
    wanted = signals_of(flow)

    torn = [s.id for s in flow.sources if UNREADABLE in inputs[s.id].columns and UNREADABLE not in s.schema]
    if len(names) == 1 and not wanted:
        (source,), (type_,) = flow.sources, types
        columns = [runtime.expr(quoted(f.name)).cast(f.dataType).alias(f.name) for f in type_.fields]
        text = {_TEXT: f"CAST({UNREADABLE} AS STRING)"} if torn else {}
        return inputs[source.id].select(*columns, *runtime.exprs(text))

    def part(
        frame: DataFrame, i: int, row: str = "NULL", step: str = "NULL", told: str = "NULL", text: str = "NULL"
    ) -> DataFrame:
        columns = [runtime.F.lit(i).alias("__source")]
        columns += [
            runtime.expr(row if j == i else "NULL").cast(type_).alias(f"__{j}") for j, type_ in enumerate(types)
        ]
        extra = {STEP: f"CAST({step} AS BIGINT)", "__told": f"CAST({told} AS STRING)"} if wanted else {}
        extra |= {_TEXT: f"CAST({text} AS STRING)"} if torn else {}
        return frame.select(*columns, *runtime.exprs(extra))

    parts = [
        part(
            inputs[source.id],
            i,
            row=f"struct({', '.join(quoted(name) for name in source.schema.names)})",
            step=STEP if source.id in wanted else "NULL",
            text=UNREADABLE if source.id in torn else "NULL",
        )
        for i, source in enumerate(flow.sources)
    ]
    for name in wanted:
        if signals is not None:
            parts.append(part(signals[name], -1 if name == CLOCK else names.index(name), told="value"))
    return reduce(lambda one, other: one.unionByName(other), parts)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step took from a source: its rows, with the kind of each."""

    source: Source
    limits: tuple[Limit, ...]
    rows: DataFrame
    #: What a job that reads all of `on_time` sees on the way; None if someone has to look.
    observation: Observation | None = None
    seen: Seen = field(default_factory=Seen)
    #: The rows that were late, if some of those that the batch has as late were taken after all.
    late: DataFrame | None = None

    def on_time(self, runtime: Runtime) -> DataFrame:
        """Answer the rows that take part."""
        rows = self.rows
        if self.observation is not None:
            rows = rows.observe(self.observation, *runtime.exprs(_look(self.source)))
        return rows.where(runtime.expr(f"__kind = {ON_TIME}")).select(*map(quoted, self.source.schema.names))

    def late_rows(self, runtime: Runtime) -> DataFrame:
        """Answer the rows that came too late for this source."""
        if self.late is not None:
            return self.late
        return self.rows.where(runtime.expr(f"__kind = {LATE}")).select(*map(quoted, self.source.schema.names))

    def rejected(self, runtime: Runtime) -> DataFrame:
        """Answer the rows that have no time, or did not parse: then with their text."""
        rejected = self.rows.where(runtime.expr(f"__kind = {REJECTED}"))
        text = _TEXT if _TEXT in rejected.columns else "CAST(NULL AS STRING)"
        return rejected.select(*map(quoted, self.source.schema.names), runtime.expr(text, _TEXT))


def observable(source: Source) -> bool:
    """Answer whether what there is to see of a source can be seen by a job that does something else."""
    return policy_of(source).apart() is None


def take(
    flow: Plan,
    runtime: Runtime,
    batch: DataFrame,
    marks: Mapping[str, Marks],
    observed: Collection[str] = (),
) -> dict[str, Taken]:
    """Take the rows of each source out of a batch; lateness is by the old marks. ``observed`` need no other look."""
    from pyspark.sql import Observation

    torn, bounds, taken = _TEXT in batch.columns, limits(flow), {}
    for i, source in enumerate(flow.sources):
        extra = policy_of(source).extra
        kind = _kind(source, bounds[source.id], marks[source.id].frontier, torn=torn)
        rows = _of_source(runtime, batch, i, extra).withColumn("__kind", runtime.expr(kind))
        seen = Observation() if source.id in observed else None
        taken[source.id] = Taken(source, bounds[source.id], rows, seen)
    return taken


def _of_source(runtime: Runtime, batch: DataFrame, i: int, extra: Sequence[str]) -> DataFrame:
    """Answer the rows of one source in a batch, with the columns that every row of a batch has."""
    if "__source" not in batch.columns:
        return batch
    text = [_TEXT] if _TEXT in batch.columns else []
    return batch.where(runtime.expr(f"__source = {i}")).select(f"__{i}.*", *extra, *text)


def look(runtime: Runtime, batch: DataFrame | None, taken: Mapping[str, Taken]) -> dict[str, Taken]:
    """See what there is: in one job, unless all are observed by jobs that have run."""
    found: dict[str, list[Any]] = {name: [] for name in (*taken, CLOCK)}
    looks = []
    for name, rows in taken.items():
        if rows.observation is not None:
            found[name].append(rows.observation.get)
            continue
        part = policy_of(rows.source).apart()
        grouped = rows.rows.groupBy(*([runtime.expr(part[0], "__part")] if part else []))
        seen = grouped.agg(runtime.F.lit(name).alias("name"), *runtime.exprs(_look(rows.source)))
        # Spark groups as it compares keys: only then is a value written as text.
        text = key_text("__part", part[1]) if part else "CAST(NULL AS STRING)"
        looks.append(seen.withColumn("part", runtime.expr(text)).drop("__part"))
    if batch is not None and any(policy_of(rows.source).idle is not None for rows in taken.values()):
        looks.append(_beats(runtime, batch))
    if looks:
        for row in reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), looks).collect():
            found[row["name"]].append(row)
    beats = tuple(text for row in found[CLOCK] for text in row["told"])
    return {name: replace(rows, seen=_seen(rows.source, found[name], beats)) for name, rows in taken.items()}


def _beats(runtime: Runtime, batch: DataFrame) -> DataFrame:
    heard = batch.where(runtime.expr("__source = -1")).groupBy()
    return heard.agg(runtime.F.lit(CLOCK).alias("name"), runtime.expr("collect_list(__told)", "told"))


def _kind(source: Source, bounds: Sequence[Limit], frontier: Frontier, *, torn: bool) -> str:
    # Of a row that did not parse, what Spark made of its other values is not to be trusted.
    cases = [(f"{_TEXT} IS NOT NULL", REJECTED)] if torn else []
    cases += policy_of(source).kinds()
    cases += [(untimed(bounds), REJECTED), (complete(source.schema, frontier), LATE)]
    return f"CASE {' '.join(f'WHEN {condition} THEN {kind}' for condition, kind in cases)} ELSE {ON_TIME} END"


def _look(source: Source) -> dict[str, str]:
    """Return what to look for in new rows. Each is computed for every row: what cannot be is not looked for."""
    counts = {"rows": "count(*)", "watermarks": "0L"}
    counts |= {name: f"count_if(__kind = {kind})" for name, kind in (("late", LATE), ("rejected", REJECTED))}
    return counts | policy_of(source).looks()


def _seen(source: Source, parts: Sequence[Any], beats: Sequence[str]) -> Seen:
    counts = {name: sum(part[name] for part in parts) for name in ("rows", "late", "rejected", "watermarks")}
    return policy_of(source).seen(Seen(**counts), parts, beats)


def diverted(taken: Taken, runtime: Runtime, frontier: Frontier, step: int) -> DataFrame:
    """Answer the rows that did not take part: their time, source, step, the reason, and the bound that they missed."""
    schema = taken.source.schema
    names = [quoted(name) for name in schema.names]
    times = [quoted(name) for name in schema.time]
    rejected = f"coalesce(concat('does not parse: ', {_TEXT}), {reason_of(taken.limits)})"
    reason = f"IF(__late, 'late', {rejected})"
    columns = {
        "time": f"struct({', '.join(times)})",
        "source": literal(taken.source.id),
        "step": f"{step}L",
        "reason": reason,
        "bound": f"IF(__late, {literal(shown(schema, frontier))}, NULL)",
        "row": f"struct({', '.join(names)})",
    }
    chosen = taken.rejected(runtime).withColumn("__late", runtime.expr("false"))
    if taken.source.late != "drop":
        late = taken.late_rows(runtime).select(*names, runtime.expr("CAST(NULL AS STRING)", _TEXT))
        chosen = chosen.unionByName(late.withColumn("__late", runtime.expr("true")))
    return chosen.select(*runtime.exprs(columns))
