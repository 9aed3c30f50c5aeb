"""``tidegate inspect`` and ``tidegate why``: what is in a checkpoint. Neither needs Spark or runs the flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tidegate.cli.app import app
from tidegate.cli.output import plain, say
from tidegate.engine.commits.commit import Origin, origin_in, states_in
from tidegate.engine.marks import CommittedMarks, committed_frontier
from tidegate.engine.storage.dataclass_json import value_from_json
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.log import in_file_of
from tidegate.engine.times import parse_time
from tidegate.errors import TidegateError
from tidegate.flow.spans import from_units
from tidegate.live.checkpoint import Checkpoint, checkpoint_at, times_of_source
from tidegate.live.progress import CommittedProgress
from tidegate.printable import printable

__all__ = ["inspect", "why"]

Directory = Annotated[Path, typer.Argument(help="The directory of a checkpoint.", show_default=False)]


@app.command()
def inspect(checkpoint: Directory) -> None:
    """Say where a run is: its last step, how far its sources are, what is held, and who works on it."""
    console = Console()
    found = checkpoint_at(checkpoint)
    commit = found.committed()
    ended = "; its input has ended" if commit["ended"] else ""
    with in_file_of(found.files, commit):
        name = value_from_json(str, commit["flow"].get("name"), "the name of the flow")
        origin = origin_in(commit)
        positions = [_positions(commit, origin)] if origin.positions else []
        tables = [_sources(commit), *positions, _state(commit, _operators_of_states(found))]
    engine = {"spark": "on Spark", "local": "on the local engine"}.get(origin.engine, "")
    say(f"flow {name}: step {commit['step']}, {engine}{ended}", console=console)
    console.print(*tables)
    if who := found.holder():
        say(f"held by {who.name}", console=console)


@app.command(context_settings={"ignore_unknown_options": True})
def why(
    checkpoint: Directory,
    time: Annotated[list[str], typer.Argument(help="A time: one value for each time column.", show_default=False)],
    sink: Annotated[str, typer.Option(help="Show the way to this sink.", show_default=False)] = "",
) -> None:
    """Say which sources hold a time back: those that may still give rows at or below it."""
    found = checkpoint_at(checkpoint)
    lines = _paths(found, sink, time) if sink else _holding_back(found, time)
    for line in lines or ["complete: no source can give rows at this time or below"]:
        typer.echo(printable(line))


def _holding_back(found: Checkpoint, time: list[str]) -> list[str]:
    """Return a line for each source that may still give rows at or below a time."""
    commit = found.committed()
    with in_file_of(found.files, commit):
        # Read before the time is: a source that cannot be read must not be left out, as if it held nothing back.
        sources = {
            name: (schema, committed_frontier(name, schema, marks), CommittedMarks.of(name, marks).shown)
            for name, marks in commit["sources"].items()
            for schema in [times_of_source(commit, name)]
        }
    lines: list[str] = []
    wrong: list[TidegateError] = []
    for name, (schema, frontier, shown) in sources.items():
        try:
            t = parse_time(schema, tuple(time))
        except TidegateError as error:
            # Sources that are not joined may have times of different types.
            wrong.append(error)
            continue
        if any(schema.order.le(f, t) for f in frontier):
            # The first versions did not write the reason.
            why = commit["sources"][name].get("because")
            lines.append(f"source {name} may still give rows from {shown} on{f': {why}' if why else ''}")
    if len(wrong) == len(sources):
        raise wrong[0]
    return lines


def _paths(found: Checkpoint, sink: str, time: list[str]) -> list[str]:
    """Return the paths on which rows may still reach a sink at or below a time, one line for each."""
    description = found.description()
    if description is None:
        raise BadCheckpoint(
            f"expected a description of the flow in {found.place}, got none: an earlier version ran it",
            hint="leave --sink out; or start the flow once more, which writes it down",
        )
    progress = CommittedProgress(description.shape)
    commit = found.committed()
    with in_file_of(found.files, commit):
        progress.move(commit)
    return [str(reason) for reason in progress.why(sink, tuple(time))]


def _sources(commit: Mapping[str, Any]) -> Table:
    table = Table("source", "not complete from", "rows", "late", "rejected", "watermarks")
    for name, found in commit["sources"].items():
        marks = CommittedMarks.of(name, found)
        counts = (f"{count:,}" for count in (marks.rows, marks.late, marks.rejected, marks.watermarks))
        table.add_row(plain(name), plain(marks.shown), *counts)
    return table


def _positions(commit: Mapping[str, Any], origin: Origin) -> Table:
    """Return a table of how far the local engine has read each source. Spark keeps its positions in its own log."""
    table = Table("source", "read from", "up to")
    origins = value_from_json(Mapping[str, str], commit["flow"].get("origins"), "the sources of the flow")
    names = {input_: name for name, input_ in origins.items()}
    for input_, position in origin.positions.items():
        table.add_row(plain(names.get(input_, input_)), plain(position["kind"]), plain(_position(position["at"] or {})))
    return table


def _position(at: Mapping[str, Any]) -> str:
    """Return a position as text: ticks are times, and the id of the output that is read is left out."""
    shown = {what: from_units(n, "TIMESTAMP") if what == "tick" and isinstance(n, int) else n for what, n in at.items()}
    return ", ".join(f"{what} {value}" for what, value in shown.items() if what != "owner")


def _operators_of_states(found: Checkpoint) -> Mapping[str, str]:
    """Return the id of the operator that each state belongs to, as far as the last run has written that down."""
    try:
        description = found.description()
    except BadCheckpoint:
        return {}
    names: Mapping[str, str] = {} if description is None else description.whole["state"]
    return names


def _state(commit: Mapping[str, Any], operators: Mapping[str, str]) -> Table:
    table = Table("state", "input", "rows", "parts")
    for key, states in states_in(commit).items():
        for port, state in enumerate(states):
            table.add_row(plain(str(operators.get(key, key))), str(port), f"{state.rows:,}", str(len(state.parts)))
    return table
