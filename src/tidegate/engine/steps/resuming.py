"""Continuing from a checkpoint, or starting a new one: what the run builds on is checked, and outputs are claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.engine.commits.by_step import PENDING
from tidegate.engine.commits.commit import Commit
from tidegate.engine.commits.whole import check_whole
from tidegate.engine.outputs import Output
from tidegate.engine.steps.cleaning import sweep_attempts
from tidegate.engine.steps.host import Host
from tidegate.engine.steps.owner import claim
from tidegate.engine.steps.prepared import Prepared, Probe, prepared
from tidegate.engine.steps.recovery import recover
from tidegate.engine.steps.running import Running, error_if_replaced
from tidegate.engine.storage.errors import BadCheckpoint, FlowChanged
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.identity import checkpoint_id, identify
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import Log, last_commit, read_log
from tidegate.engine.storage.state import Part, fold_from
from tidegate.engine.tables import as_declared
from tidegate.engine.trace import described
from tidegate.errors import TidegateError
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Plan, Sink

__all__ = ["begin_trace", "check_ends", "claim_outputs", "identified", "resumed"]


def check_ends(flow: Plan) -> None:
    """Raise if a flow has no sources or no sinks."""
    flow.check_sinks()
    if not flow.sources:
        raise BadInput("expected a flow with a source, got none", hint="a flow of tables alone: flow.compute(…)")


def identified(flow: Plan, files: Files) -> None:
    """Give a new checkpoint an id; raise if one with commits has lost its id."""
    if last_commit(files) is None:
        identify(files, flow.name)
    # A checkpoint with commits had an id, and its outputs name it. With a new id they would refuse it.
    checkpoint_id(files)


def resumed(
    flow: Plan,
    host: Host,
    files: Files,
    outputs: Mapping[str, Output],
    *,
    lock: Lock | None = None,
    allow_pickle: bool = False,
    fold_from: Callable[[Sequence[Part]], int] = fold_from,
    probe: Probe = lambda point, step: None,  # noqa: ARG005
) -> tuple[Prepared, Log, Commit | None]:
    """Return a flow that is ready to run, the log of its checkpoint, and its last commit, or None."""
    log = read_log(files)
    if lock and log.token.lock > lock.token.lock:
        lock.check()
    found = log.commit
    if found:
        check_whole(files, found)
        _check_engine(host, files, found)
    options: dict[str, Any] = {"allow_pickle": allow_pickle, "fold_from": fold_from, "probe": probe}
    run = prepared(flow, host, files, outputs, found["flow"] if found else None, **options)
    with error_if_replaced(lock):
        last = recover(run, found, lock) if found else None
    return run, log, last


def claim_outputs(running: Running, lock: Lock | None, *, exact: bool = False) -> None:
    """Claim the outputs of all sinks; ``exact`` says whether the case of column names matters."""
    for sink in running.flow.sinks:
        _claim_output(running, sink, lock.token.lock if lock else 0, exact=exact)


def begin_trace(running: Running, given: Plan) -> None:
    """Write the description of the flow to the trace; ``given`` is the plan that the user wrote."""
    run = running.run
    keys = {id_: own.key for id_, own in run.kept.items()}
    running.trace.begin(
        described(run.flow, given, engine=run.host.name, state=keys, asides=run.asides, outputs=run.outputs)
    )


def _claim_output(running: Running, sink: Sink, lock: int, *, exact: bool) -> None:
    """Claim the output of a sink; ``lock`` is the number of this run's lock."""
    run, name = running.run, sink.name
    given = run.flow[sink.input]
    fields = run.host.fields(as_declared(given, run.host.backend.nothing(run.shapes[given.id])).shape)
    if place := run.directories.get(name):
        claim(place, run.files, name, fields, run.flow[sink.input].schema, exact=exact)
        _check_none_waits(running, name, place)
        _check_not_left(running, name, place)
        # What the last commit names is published by now. The rest belongs to attempts that were not committed.
        sweep_attempts(place, PENDING, lock)
    try:
        run.outputs[name].claim(run.senders[name], fields)
    except TidegateError as error:
        raise error.at(f"sink {name!r}") from None


def _check_engine(host: Host, files: Files, found: Mapping[str, Any]) -> None:
    """Raise if the commit is of another engine: its positions in the sources mean nothing to this one."""
    made_by = found.get("engine", "spark")
    if made_by != host.name:
        raise FlowChanged(
            f"expected a checkpoint of the {host.name} engine, got {files.root}, which the {made_by} engine made",
            hint=f"continue with the {made_by} engine; or begin with a new checkpoint and other outputs, and compute "
            "the rows from before with flow.compute(…)",
        )


def _check_none_waits(running: Running, sink: str, place: Files) -> None:
    """Raise if a directory has rows that are committed and not published: they were written under another path."""
    waiting = {p.staged: p.root for p in running.last.publish} if running.last else {}
    for name in place.names(PENDING):
        if root := waiting.get(f"{PENDING}/{name}"):
            raise BadCheckpoint(
                f"{place.root} has rows of sink {sink!r} that are committed, and were to be published in {root}",
                hint="was the directory moved? move it back, or make a link there, and start with the old path: "
                "then these rows are published",
            )


def _check_not_left(running: Running, sink: str, place: Files) -> None:
    """Raise if the sink wrote to this directory and then to another: the rows here are not counted any more."""
    last = running.last.outlets.get(sink) if running.last else None
    if (last is None or last.root != place.root) and any(name.startswith("step=") for name in place.names()):
        raise BadCheckpoint(
            f"{place.root} has results that sink {sink!r} wrote before it got another directory",
            hint="choose an empty directory: flows that follow this one expect the rows that it has now, and no others",
        )
