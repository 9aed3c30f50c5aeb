"""Starts a flow on streams. Everything is checked before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.engine.orders import check_followed_order, orders_in
from tidegate.engine.outputs import Output, Transactional, checked_outputs
from tidegate.engine.policies import CLOCK, policy_of
from tidegate.engine.steps.metrics import Reporter, reporter
from tidegate.engine.steps.owner import owner_of
from tidegate.engine.steps.resuming import begin_trace, check_ends, claim_outputs, identified
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.published import check_promises
from tidegate.errors import TidegateError
from tidegate.flow.arguments import checked_directory
from tidegate.flow.clocks import Clock, ticking
from tidegate.flow.errors import BadArgument, BadInput, did_you_mean
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Plan
from tidegate.flow.watermarks import Published
from tidegate.spark.error_messages import describe_error
from tidegate.spark.hadoop import files_at
from tidegate.spark.inputs import check_inputs
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.stores import check_store
from tidegate.spark.streaming.batch_runner import BatchRunner
from tidegate.spark.streaming.engine import SparkEngine, resume
from tidegate.spark.streaming.heartbeat import Heartbeat, heartbeat_of, read_beats, read_ticks, ticker_of
from tidegate.spark.streaming.listener_counts import with_listener_counts
from tidegate.spark.streaming.reading import read_promises
from tidegate.spark.streaming.run import SparkRun
from tidegate.spark.streaming.sources import united
from tidegate.spark.streaming.spark_records import check_records
from tidegate.spark.workers import check_workers, runs_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["prepare", "start"]


def start(
    flow: Plan,
    spark: SparkSession,
    inputs: Mapping[str, DataFrame],
    outputs: Mapping[str, Output | Transactional],
    checkpoint: str | PathLike[str],
    *,
    trigger: Mapping[str, Any] | None = None,
    metrics: str | Path | Reporter | None = None,
    allow_pickle: bool = False,
    probe: Callable[[str, int], None] = lambda point, step: None,  # noqa: ARG005
) -> SparkRun:
    """Start a flow, or continue from its checkpoint. ``probe`` is called at the named points of each step."""
    try:
        runtime = spark_runtime(spark)
        flow = ticking(flow, inputs)
        given = check_inputs(flow, inputs, streaming=True)
        report, every = reporter(metrics), _checked_trigger(trigger)
        check_ends(flow)
        places = checked_outputs(flow, outputs)
        # Outputs to databases run in Python workers, too.
        if runs_python(flow) or any(output.needs_workers for output in places.values()):
            check_workers(runtime)
        path = checked_directory(checkpoint, "checkpoint", hint='checkpoint="checkpoints/edits"')
        check_store(spark, path, "a checkpoint")
        files = files_at(spark, path)
        written, flow = flow, plan_on_points(flow, orders_in(files))
        lock = Lock(files)
        lock.acquire()
        try:
            tables = {t.id: given[t.id] for t in flow.tables}
            options: dict[str, Any] = {"allow_pickle": allow_pickle, "probe": probe, "report": report}
            engine = prepare(flow, spark, tables, places, files, lock=lock, **options)
            begin_trace(engine, written)
            with runtime.settings(spark__sql__session__timeZone=flow.timezone):
                signals, heartbeats = _signals(flow, spark), list[Heartbeat]()
                if heartbeat := heartbeat_of(flow, files, after=engine.beat):
                    heartbeats.append(heartbeat)
                    signals[CLOCK] = read_beats(spark, files)
                for source in flow.sources:
                    if isinstance(clock := given[source.id], Clock):
                        name = engine.run.origins[source.id]
                        heartbeats.append(ticker_of(name, clock, files, engine.marks[source.id].memory))
                        given[source.id] = read_ticks(spark, files, name, source.schema.names[0])
                rows = united(flow, runtime, {s.id: given[s.id] for s in flow.sources}, signals)
                rows = with_listener_counts(flow, runtime, rows)
            batch_runner = BatchRunner(engine.step, runtime)
            writer = rows.writeStream.foreachBatch(batch_runner).option("checkpointLocation", files.path("spark"))
            query = (_triggered(writer, every) if every else writer).start()
        except BaseException:
            # An error here would hide the first error, which is raised.
            with suppress(Exception):
                lock.release()
            raise
    except TidegateError as error:
        if not any(place.startswith("flow ") for place in error.places):
            error.at(f"flow {flow.name!r}")
        raise
    ends_itself = any(every.get(kind) for kind in ("availableNow", "once"))
    ends = ends_itself and any(policy_of(source).waits_for_end for source in flow.sources)
    return SparkRun(
        spark, engine, query, batch_runner, lock, ends=ends, once=bool(every.get("once")), heartbeats=heartbeats
    )


def prepare(
    flow: Plan,
    spark: SparkSession,
    tables: Mapping[str, DataFrame],
    outputs: Mapping[str, Output | Transactional],
    files: Files,
    *,
    lock: Lock | None = None,
    **options: Any,
) -> SparkEngine:
    """Return an engine that continues from a checkpoint, and claim its outputs.

    ``options`` are passed on to the engine.
    """
    check_ends(flow)
    flow = plan_on_points(flow, orders_in(files))
    places = checked_outputs(flow, outputs)
    for name, output in places.items():
        output.check(files, name)
    check_records(files)
    identified(flow, files)
    engine = resume(flow, spark_runtime(spark), files, tables, places, lock=lock, **options)
    exact = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    claim_outputs(engine, lock, exact=exact)
    return engine


#: The arguments of `DataStreamWriter.trigger`.
_TRIGGERS = ("processingTime", "availableNow", "once", "continuous", "realTime")


_TRIGGER_HINT = '{"processingTime": "10 seconds"} or {"availableNow": True}'


def _checked_trigger(trigger: Any) -> dict[str, Any]:
    hint = _TRIGGER_HINT
    if trigger is None:
        return {}
    if not isinstance(trigger, Mapping):
        raise BadArgument(f"expected trigger as a mapping, got {trigger!r} ({type(trigger).__name__})", hint=hint)
    for name in trigger:
        if name not in _TRIGGERS:
            raise BadArgument(f"unknown trigger {name!r}", hint=did_you_mean(name, _TRIGGERS, otherwise=hint))
    if "continuous" in trigger:
        raise BadArgument("expected a trigger that makes steps, got 'continuous'", hint=hint)
    return dict(trigger)


def _triggered(writer: DataStreamWriter, every: dict[str, Any]) -> DataStreamWriter:
    from pyspark.errors import PySparkException

    try:
        return writer.trigger(**every)
    except PySparkException as error:
        raise BadArgument(
            f"expected a trigger that Spark takes, got {every!r}; {describe_error(error).text}", hint=_TRIGGER_HINT
        ) from None


def _signals(flow: Plan, spark: SparkSession) -> dict[str, DataFrame]:
    """Return the published frontiers that sources follow, as streams. Raise if their times are not as declared."""
    found = {}
    for source in flow.sources:
        if isinstance(source.watermark, Published):
            path = source.watermark.path
            declared = source.schema.promised_times
            owner = owner_of(files_at(spark, path))
            times = owner["time"]
            if times != declared:
                raise BadInput(
                    f"expected a frontier of times {_listed(declared)}, got one of {_listed(times)} from {path}",
                    hint="declare the time columns that the published output has",
                ).at(f"source {source.id!r}")
            try:
                check_followed_order(source, owner, path)
            except BadInput as error:
                raise error.at(f"source {source.id!r}") from None
            check_promises(files_at(spark, path))
            found[source.id] = read_promises(spark, path)
    return found


def _listed(times: list[list[Any]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in times)
