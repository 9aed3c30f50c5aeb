"""Unites all sources in one query, and splits its batches by source again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tidegate.engine.inputs import STEP
from tidegate.engine.marks import Marks
from tidegate.engine.policies import CLOCK, policy_of, signals_of
from tidegate.engine.policies.lines import SIGNAL_LINE
from tidegate.engine.relation import Relation
from tidegate.engine.steps.source_rows import TEXT, SourceRows, source_rows
from tidegate.flow.clocks import given_schema
from tidegate.flow.limits import limits
from tidegate.flow.plan import Plan
from tidegate.flow.sqltypes import quoted
from tidegate.spark.arrow import struct_type
from tidegate.spark.backend import SparkBackend
from tidegate.spark.inputs import UNREADABLE
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["beats_of", "split_by_source", "united"]


def united(
    flow: Plan, runtime: Runtime, inputs: Mapping[str, DataFrame], signals: Mapping[str, DataFrame] | None = None
) -> DataFrame:
    """Return all sources as one DataFrame: a column with the number of the source, and a struct for each source.

    ``signals`` has the streams of signals, for the sources that need them. A row of a signal has no struct; its text is
    in a separate column. If there is one source and no signal, its columns stay as they are.
    """
    names = [source.id for source in flow.sources]
    schemas = {source.id: given_schema(source) for source in flow.sources}
    types = [struct_type(schema.columns) for schema in schemas.values()]
    wanted = signals_of(flow)

    torn = [s.id for s in flow.sources if UNREADABLE in inputs[s.id].columns and UNREADABLE not in s.schema]
    if len(names) == 1 and not wanted:
        (source,), (type_,) = flow.sources, types
        columns = [runtime.expr(quoted(f.name)).cast(f.dataType).alias(f.name) for f in type_.fields]
        text = {TEXT: f"CAST({UNREADABLE} AS STRING)"} if torn else {}
        return inputs[source.id].select(*columns, *runtime.exprs(text))

    def part(
        frame: DataFrame, i: int, row: str = "NULL", step: str = "NULL", line: str = "NULL", text: str = "NULL"
    ) -> DataFrame:
        columns = [runtime.F.lit(i).alias("__source")]
        columns += [
            runtime.expr(row if j == i else "NULL").cast(type_).alias(f"__{j}") for j, type_ in enumerate(types)
        ]
        extra = {STEP: f"CAST({step} AS BIGINT)", SIGNAL_LINE: f"CAST({line} AS STRING)"} if wanted else {}
        extra |= {TEXT: f"CAST({text} AS STRING)"} if torn else {}
        return frame.select(*columns, *runtime.exprs(extra))

    parts = [
        part(
            inputs[source.id],
            i,
            row=f"struct({', '.join(quoted(name) for name in schemas[source.id].names)})",
            step=STEP if source.id in wanted else "NULL",
            text=UNREADABLE if source.id in torn else "NULL",
        )
        for i, source in enumerate(flow.sources)
    ]
    for name in wanted:
        if signals is not None:
            parts.append(part(signals[name], -1 if name == CLOCK else names.index(name), line="value"))
    return reduce(lambda one, other: one.unionByName(other), parts)


def split_by_source(
    flow: Plan,
    backend: SparkBackend,
    batch: DataFrame,
    marks: Mapping[str, Marks],
    observed: Collection[str] = (),
    arrived: int | None = None,
) -> dict[str, SourceRows]:
    """Return the rows of each source in a batch. ``marks`` are those before the batch, and say which rows are late.

    Rows of sources in ``observed`` are counted by the job that writes them. ``arrived`` is the time of rows of sources
    whose times are arrival times.
    """
    bounds, taken = limits(flow), {}
    for i, source in enumerate(flow.sources):
        rows = backend.relation(_of_source(backend.runtime, batch, i, policy_of(source).extra))
        frontier = marks[source.id].frontier
        taken[source.id] = source_rows(
            backend,
            source,
            bounds[source.id],
            rows,
            frontier,
            observed=source.id in observed,
            arrived=arrived,
        )
    return taken


def beats_of(flow: Plan, backend: SparkBackend, batch: DataFrame) -> Relation | None:
    """Return the beats of the clock in a batch; None if no source needs them."""
    if CLOCK not in signals_of(flow):
        return None
    return backend.relation(batch.where(backend.runtime.expr("__source = -1")))


def _of_source(runtime: Runtime, batch: DataFrame, i: int, extra: Sequence[str]) -> DataFrame:
    """Return the rows of one source in a batch. ``extra`` are columns that all rows of a batch have."""
    if "__source" not in batch.columns:
        return batch
    text = [TEXT] if TEXT in batch.columns else []
    return batch.where(runtime.expr(f"__source = {i}")).select(f"__{i}.*", *extra, *text)
