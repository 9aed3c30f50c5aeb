"""Sources in one query: tagged and united, and taken apart again in each step, with what was late or had no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Plan, Source
from tidegate.flow.watermarks import Bounded, Punctuated
from tidegate.spark.arrow import struct_type
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.units import units_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, shown
from tidegate.spark.streaming.marks import Marks, Seen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Taken", "diverted", "take", "united"]

_ON_TIME, _LATE, _REJECTED, _WATERMARK = range(4)


def united(flow: Plan, runtime: Runtime, inputs: Mapping[str, DataFrame]) -> DataFrame:
    """Answer all sources as one DataFrame: a column that tells which, and a struct for each of them."""
    parts = []
    for i, source in enumerate(flow.sources):
        columns = [runtime.F.lit(i).alias("__source")]
        for j, other in enumerate(flow.sources):
            whole = runtime.expr(f"struct({', '.join(quoted(name) for name in source.schema.names)})")
            null = runtime.F.lit(None).cast(struct_type(other.schema.columns))
            columns.append((whole.cast(struct_type(other.schema.columns)) if i == j else null).alias(f"__{j}"))
        parts.append(inputs[source.id].select(*columns))
    result = parts[0]
    for part in parts[1:]:
        result = result.unionByName(part)
    return result


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step took from a source: its rows with the kind of each, and what was seen in one pass over them."""

    source: Source
    rows: DataFrame
    seen: Seen

    def on_time(self, runtime: Runtime) -> DataFrame:
        """Answer the rows that take part."""
        return self.rows.where(runtime.expr(f"__kind = {_ON_TIME}")).drop("__kind")


def take(sources: Sequence[Source], runtime: Runtime, batch: DataFrame, marks: Mapping[str, Marks]) -> dict[str, Taken]:
    """Take the rows of each source out of a batch, and see in one pass what there is; lateness is by the old marks."""
    rows = {
        source.id: batch.where(runtime.expr(f"__source = {i}"))
        .select(f"__{i}.*")
        .withColumn("__kind", runtime.expr(_kind(source, marks[source.id].frontier)))
        for i, source in enumerate(sources)
    }
    looks = [
        rows[source.id].groupBy().agg(runtime.F.lit(i).alias("i"), *runtime.exprs(_look(source)))
        for i, source in enumerate(sources)
    ]
    look = looks[0]
    for other in looks[1:]:
        look = look.unionByName(other)
    found = {row["i"]: row for row in look.collect()}
    return {source.id: Taken(source, rows[source.id], _seen(found[i])) for i, source in enumerate(sources)}


def _kind(source: Source, frontier: Frontier) -> str:
    schema = source.schema
    missing = " OR ".join(f"{quoted(name)} IS NULL" for name in schema.time)
    cases = f"WHEN {missing} THEN {_REJECTED} WHEN {complete(schema, frontier)} THEN {_LATE} ELSE {_ON_TIME}"
    if isinstance(source.watermark, Punctuated):
        condition = source.watermark.condition
        sql = condition.sql if isinstance(condition, Expression) else condition
        # On one time column there is no other that a null could stand for every value of.
        refused = f"WHEN ({sql}) AND {missing} THEN {_REJECTED} " if len(schema.time) == 1 else ""
        cases = f"{refused}WHEN {sql} THEN {_WATERMARK} {cases}"
    return f"CASE {cases} END"


def _look(source: Source) -> dict[str, str]:
    units = [units_of(source.schema, name) for name in source.schema.time]
    timed = f"__kind IN ({_ON_TIME}, {_LATE})"
    greatest = ", ".join(f"max(IF({timed}, {unit}, NULL))" for unit in units)
    marks = f"collect_set(IF(__kind = {_WATERMARK}, array({', '.join(units)}), NULL))"
    counts = {"rows": "count(*)", "late": f"count_if(__kind = {_LATE})", "rejected": f"count_if(__kind = {_REJECTED})"}
    counts["watermarks"] = f"count_if(__kind = {_WATERMARK})"
    wanted = {
        "greatest": f"array({greatest})" if isinstance(source.watermark, Bounded) else "CAST(NULL AS ARRAY<BIGINT>)",
        "marks": marks if isinstance(source.watermark, Punctuated) else "CAST(NULL AS ARRAY<ARRAY<BIGINT>>)",
    }
    return counts | wanted


def _seen(row: Any) -> Seen:
    greatest = row["greatest"]
    return Seen(
        rows=row["rows"],
        late=row["late"],
        rejected=row["rejected"],
        watermarks=row["watermarks"],
        greatest=tuple(greatest) if greatest and None not in greatest else None,
        marks=tuple(tuple(mark) for mark in row["marks"] or ()),
    )


def diverted(taken: Taken, runtime: Runtime, frontier: Frontier, step: int) -> DataFrame:
    """Answer the rows that did not take part: their time, source, step, the reason, and the bound that they missed."""
    schema = taken.source.schema
    names = [quoted(name) for name in schema.names]
    times = [quoted(name) for name in schema.time]
    bound = shown(schema, frontier).replace("\\", "\\\\").replace("'", "\\'")
    missing = ", ".join(f"IF({quoted(name)} IS NULL, '{name}', NULL)" for name in schema.time)
    reason = f"IF(__kind = {_LATE}, 'late', concat('null time in ', concat_ws(', ', {missing})))"
    columns = {
        "time": f"struct({', '.join(times)})",
        "source": f"'{taken.source.id}'",
        "step": f"{step}L",
        "reason": reason,
        "bound": f"IF(__kind = {_LATE}, '{bound}', NULL)",
        "row": f"struct({', '.join(names)})",
    }
    kinds = [_REJECTED] if taken.source.late == "drop" else [_LATE, _REJECTED]
    chosen = taken.rows.where(runtime.expr(f"__kind IN ({', '.join(map(str, kinds))})"))
    return chosen.select(*runtime.exprs(columns))
