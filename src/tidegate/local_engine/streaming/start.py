"""Starting a flow on streams in this process: everything is checked before anything is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any

import duckdb

from tidegate.engine.frontiers import start_of
from tidegate.engine.inputs import STEP
from tidegate.engine.orders import orders_in
from tidegate.engine.outputs import Output, Transactional, checked_outputs
from tidegate.engine.policies import policy_of
from tidegate.engine.relation import Relation
from tidegate.engine.steps.metrics import Reporter, StepMetrics, reporter
from tidegate.engine.steps.resuming import begin_trace, check_ends, claim_outputs, identified, resumed
from tidegate.engine.steps.source_rows import source_rows
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.errors import TidegateError
from tidegate.flow.agreed.zones import in_zone
from tidegate.flow.arguments import checked_directory
from tidegate.flow.clocks import declared_schema, ticking
from tidegate.flow.errors import BadArgument, BadInput, BadSpan, did_you_mean
from tidegate.flow.limits import limits
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column
from tidegate.flow.spans import parse_span
from tidegate.local_engine.admitted import check_expressions, check_macros
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.compute import check_operators
from tidegate.local_engine.inputs import given_as
from tidegate.local_engine.lines import InputRows
from tidegate.local_engine.paths import place_of
from tidegate.local_engine.session import Local, cursor_of
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.feeds import feed_of
from tidegate.local_engine.streaming.feeds.files import FileStream
from tidegate.local_engine.streaming.host import LocalHost, at_source
from tidegate.local_engine.streaming.parts import fold_few
from tidegate.local_engine.streaming.run import LocalRun, Pace

__all__ = ["prepare", "start"]

_TRIGGERS = ("processingTime", "availableNow", "once")
_HINT = '{"processingTime": "10 seconds"} or {"availableNow": True}'


def start(
    flow: Plan,
    session: Local | duckdb.DuckDBPyConnection,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Output | Transactional],
    checkpoint: str | PathLike[str],
    *,
    trigger: Mapping[str, Any] | None = None,
    metrics: str | Path | Reporter | None = None,
    allow_pickle: bool = False,
    probe: Callable[[str, int], None] = lambda point, step: None,  # noqa: ARG005
) -> LocalRun:
    """Start a flow, or continue from its checkpoint; return the run.

    ``probe`` is called at the named points of each step.
    """
    try:
        report, pace = reporter(metrics), _pace(trigger)
        if trigger and trigger.get("once"):
            # As on Spark, everything available is read at once.
            inputs = {name: replace(i, per_step=None) if isinstance(i, FileStream) else i for name, i in inputs.items()}
        path = checked_directory(checkpoint, "checkpoint", hint='checkpoint="checkpoints/edits"')
        files = Files(place_of(path))
        files.check_fit(path, "a checkpoint")
        lock = Lock(files)
        options: dict[str, Any] = {"allow_pickle": allow_pickle, "probe": probe, "report": report}
        engine = prepare(flow, session, inputs, outputs, files, lock=lock, **options)
    except TidegateError as error:
        if not any(place.startswith("flow ") for place in error.places):
            error.at(f"flow {flow.name!r}")
        raise
    ends = pace.available and any(policy_of(source).waits_for_end for source in engine.flow.sources)
    return LocalRun(_connection(session), engine, lock, pace, ends=ends)


def prepare(
    flow: Plan,
    session: Local | duckdb.DuckDBPyConnection,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Output | Transactional],
    files: Files,
    *,
    lock: Lock | None = None,
    report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
    clock: Callable[[], float] = time.time,
    **options: Any,
) -> LocalEngine:
    """Return an engine that continues from a checkpoint, and claim its outputs."""
    check_ends(flow)
    flow = ticking(flow, inputs)
    check_expressions(flow)
    given, flow = flow, plan_on_points(flow, orders_in(files))
    flow.check_inputs(inputs, "stream", "stream")
    places = checked_outputs(flow, outputs)
    connection = cursor_of(session)
    if not isinstance(session, Local):
        # As for bounded data: nobody else can add macros to the DuckDB of our own session.
        check_macros(connection)
    backend = LocalBackend(connection)
    tables, feeds = {}, {}
    for table in flow.tables:
        with at_source(table.id, table.verb):
            tables[table.id] = backend.kept(_whole(given_as(backend, table, inputs[table.id]))).rows
    for source in flow.sources:
        with at_source(source.id):
            feeds[source.id] = feed_of(source, backend, inputs[source.id], clock)
    nothing = {source.id: backend.nothing(source.schema.columns) for source in flow.sources}
    with in_zone(flow.timezone):
        check_operators(flow, backend, nothing | tables)
        _check_conditions(flow, backend)
    for name, output in places.items():
        output.check(files, name)
    try:
        if lock:
            lock.acquire()
        identified(flow, files)
        host = LocalHost(backend, tables, _connection(session))
        run, log, last = resumed(flow, host, files, places, lock=lock, **{"fold_from": fold_few, **options})
        engine = LocalEngine(run, host, feeds, log, last, lock=lock, report=report, clock=clock)
        claim_outputs(engine, lock)
        begin_trace(engine, given)
    except BaseException:
        for feed in feeds.values():
            with suppress(Exception):
                feed.close()
        backend.connection.close()
        # The first error is raised, and not one that follows from it.
        with suppress(Exception):
            if lock:
                lock.release()
        raise
    return engine


def _check_conditions(flow: Plan, backend: LocalBackend) -> None:
    """Raise if DuckDB refuses a condition on new rows; it is tried on no rows."""
    bounds = limits(flow)
    for source in flow.sources:
        policy = policy_of(source)
        more = [Column(name, "BIGINT" if name == STEP else "STRING") for name in policy.extra]
        rows = backend.nothing((*declared_schema(source).columns, *more))
        with at_source(source.id):
            source_rows(backend, source, bounds[source.id], rows, start_of(source.schema)).on_time.fetch()


def _whole(given: InputRows) -> Relation:
    """Return the rows of a table; raise if some do not parse, as there is no place to set them aside."""
    if given.unreadable is not None and (unread := given.unreadable.fetch().num_rows):
        raise BadInput(f"expected rows that parse in a table, got {unread} that do not", hint="mend the files")
    return given.rows


def _connection(session: Local | duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    return session.connection if isinstance(session, Local) else session


def _pace(trigger: Any) -> Pace:
    """Return when steps are run, from the arguments of `DataStreamWriter.trigger`."""
    if trigger is None:
        return Pace()
    if not isinstance(trigger, Mapping) or len(trigger) != 1:
        raise BadArgument(f"expected trigger as a mapping with one entry, got {trigger!r}", hint=_HINT)
    ((name, value),) = trigger.items()
    if name not in _TRIGGERS:
        raise BadArgument(f"unknown trigger {name!r}", hint=did_you_mean(name, _TRIGGERS, otherwise=_HINT))
    if name == "processingTime":
        try:
            span = parse_span(value, "TIMESTAMP", what="processingTime", least=0)
        except BadSpan:
            raise BadArgument(f"expected a span of time for the trigger {name!r}, got {value!r}", hint=_HINT) from None
        return Pace(seconds=timedelta(microseconds=span).total_seconds())
    if value is not True:
        raise BadArgument(f"expected True for the trigger {name!r}, got {value!r}", hint=_HINT)
    return Pace(available=True)
