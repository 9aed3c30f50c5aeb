"""The streaming engine, for cases and comparisons: rows cut into steps in, rows of committed steps out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.engine import frame, rows

import tidegate as tg
from tidegate.engine.outputs import parquet
from tidegate.flow.expressions import bind
from tidegate.flow.plan import Plan, Source
from tidegate.flow.spans import units
from tidegate.flow.values import sort_key
from tidegate.flow.watermarks import Bounded, Punctuated
from tidegate.spark.hadoop import files_at
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.sources import united
from tidegate.spark.streaming.start import prepare
from tidegate.spec import DT, WM
from tidegate.time import TOP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = dict[str, list[tuple[Any, ...]]]
#: What comes in the steps of a run: for each step, the rows of each source.
Cuts = list[dict[str, list[tuple[Any, ...]]]]

#: Rows with this text in the column ``k`` are watermarks.
MARK = "watermark"


def run_steps(
    spark: SparkSession,
    plan: Plan,
    cuts: Cuts,
    tables: Rows,
    directory: Path,
    *,
    restart: bool = False,
    partitions: Callable[[], int] = lambda: 1,
    fold: bool = True,
    **options: Any,
) -> dict[str, list[tuple[Any, ...]]]:
    """Run the engine on batches that are handed to it, and to the end; return the rows of each sink.

    This is the engine without Spark's query around it, which costs half a second a step. With ``restart``, each step
    is run by an engine that knows nothing but the checkpoint. ``partitions`` is asked in each step. With ``fold``,
    state is folded in every step, so that what is kept is all that the next one has; else when the engine would.
    """
    if fold:
        options["fold_from"] = lambda parts: 0
    engine = None
    for number, cut in enumerate(cuts):
        if engine is None or restart:
            engine = engine_in(spark, plan, tables, directory, **options)
        inputs = {s.id: frame(spark, s.schema, cut[s.id]) for s in plan.sources}
        runtime, size = spark_runtime(spark), partitions()
        batch = united(plan, runtime, inputs)
        with runtime.settings(spark__sql__shuffle__partitions=str(size)):
            engine.step(batch.repartition(size) if size > 1 else batch, number)
    (engine or engine_in(spark, plan, tables, directory, **options)).finish()
    return {sink.name: rows(tg.read(spark, str(directory / sink.name))) for sink in plan.sinks}


def engine_in(spark: SparkSession, plan: Plan, tables: Rows, directory: Path, **options: Any) -> SparkEngine:
    """An engine whose checkpoint and outputs are in a directory."""
    frames = {t.id: frame(spark, t.schema, tables[t.id]) for t in plan.tables}
    outputs = {sink.name: parquet(str(directory / sink.name)) for sink in plan.sinks}
    return prepare(plan, spark, frames, outputs, files_at(spark, str(directory / "checkpoint")), **options)


def by_steps(spark: SparkSession, flow: tg.Flow, inputs: Rows, directory: Path) -> list[tuple[Any, ...]]:
    """Run a flow with one sink in a few steps: rows come by time, and the delays are what that order needs."""
    plan, cuts = cut_by_time(flow, inputs, random.Random(repr(sorted(inputs.items()))))
    (sink,) = plan.sinks
    return run_steps(spark, plan, cuts, inputs, directory)[sink.name]


def cut_by_time(flow: tg.Flow, inputs: Rows, rng: random.Random) -> tuple[Plan, Cuts]:
    """The plan of a flow with the delays that its rows need if they come by time, and the rows, in two steps."""
    plan = with_watermarks(
        flow.plan, {s.id: _delays(s, inputs[s.id]) for s in flow.plan.sources if not s.schema.ordered}
    )
    return plan, in_steps({s.id: _by_time(s, inputs[s.id]) for s in plan.sources}, rng, steps=2)


def with_watermarks(plan: Plan, strategies: dict[str, Any]) -> Plan:
    """The same plan with other watermarks."""
    changed = [
        replace(o, watermark=strategies[o.id]) if isinstance(o, Source) and o.id in strategies else o for o in plan
    ]
    return replace(plan, operators=tuple(changed))


def in_steps(given: Rows, rng: random.Random, *, steps: int) -> Cuts:
    """Cut the rows of each source at random places."""
    places = {name: sorted(rng.randint(0, len(r)) for _ in range(steps - 1)) for name, r in given.items()}
    bounds = {name: [0, *found, len(given[name])] for name, found in places.items()}
    return [{name: given[name][b[i] : b[i + 1]] for name, b in bounds.items()} for i in range(steps)]


def _by_time(source: Source, given: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    if source.schema.ordered:
        return list(given)
    n = len(source.schema.time)
    timed = [row for row in given if None not in row[:n]]
    others = [row for row in given if None in row[:n]]
    return others + sorted(timed, key=lambda row: [sort_key(v) for v in row[:n]])


def _delays(source: Source, given: Sequence[tuple[Any, ...]]) -> Bounded:
    """Along the first column nothing comes late; along the others, by as much as their values differ."""
    types = [c.type or "" for c in source.schema.times]
    timed = [[units(v, t) for v, t in zip(row, types, strict=False)] for row in given if None not in row[: len(types)]]
    spans = [max(column) - min(column) for column in zip(*timed, strict=True)] if timed else [0] * len(types)
    return Bounded((0, *spans[1:]))


def with_marks(plan: Plan) -> Plan:
    """The same plan, where rows with `MARK` in column ``k`` are watermarks."""
    return with_watermarks(plan, {s.id: Punctuated(bind(f"k = '{MARK}'", s.schema, what="mark")) for s in plan.sources})


def marked_rows(source: Source, events: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Events as rows: a watermark is a row with `MARK`, and NULL where it completes every value."""
    found = []
    for event in events:
        if isinstance(event, DT):
            found.append(tuple(event.d[name] for name in source.schema.names))
        elif isinstance(event, WM):
            values = [None if t is TOP else t for t in source.schema.at(event.t).values()]
            found.append((*values, *(MARK if name == "k" else None for name in source.schema.names[len(values) :])))
    return found
