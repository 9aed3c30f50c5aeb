"""``tidegate inspect`` and ``why``: say what is in a checkpoint, without Spark; nothing that is in it is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tidegate.cli.app import app
from tidegate.cli.output import plain, say
from tidegate.engine.frontiers import decoded
from tidegate.engine.orders import coordinates_in
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import holder
from tidegate.engine.storage.log import last_commit
from tidegate.engine.times import parse_time
from tidegate.errors import TidegateError
from tidegate.flow.schema import Column, Schema
from tidegate.printable import printable

__all__ = ["inspect", "why"]

Checkpoint = Annotated[Path, typer.Argument(help="The directory of a checkpoint.", show_default=False)]


@app.command()
def inspect(checkpoint: Checkpoint) -> None:
    """Say where a run is: its last step, how far its sources are, what is held, and who works on it."""
    console = Console()
    files = Files(checkpoint)
    commit = _last_commit(files)
    ended = "; its input has ended" if commit["ended"] else ""
    # Commits of earlier formats were all made on Spark.
    engine = {"spark": "on Spark", "local": "on the local engine"}.get(commit.get("engine", "spark"), "")
    say(f"flow {commit['flow']['name']}: step {commit['step']}, {engine}{ended}", console=console)
    console.print(_sources(commit), *([_positions(commit)] if commit.get("positions") else []), _state(commit))
    if who := holder(files):
        say(f"held by {who}", console=console)


@app.command(context_settings={"ignore_unknown_options": True})
def why(
    checkpoint: Checkpoint,
    time: Annotated[list[str], typer.Argument(help="A time: one value for each time column.", show_default=False)],
) -> None:
    """Say which sources hold a time back: those that may still give rows at or below it."""
    commit, held = _last_commit(Files(checkpoint)), False
    wrong: list[TidegateError] = []
    for name, marks in commit["sources"].items():
        try:
            schema = _times(commit, name, marks)
            t = parse_time(schema, tuple(time))
        except TidegateError as error:
            # Sources that do not meet may have times of different types.
            wrong.append(error)
            continue
        if any(schema.order.le(f, t) for f in decoded(schema, marks["frontier"])):
            held = True
            because = f": {marks['because']}" if marks["because"] else ""
            typer.echo(printable(f"source {name} may still give rows from {marks['shown']} on{because}"))
    if len(wrong) == len(commit["sources"]):
        raise wrong[0]
    if not held:
        typer.echo("complete: no source can give rows at this time or below")


def _times(commit: Mapping[str, Any], name: str, marks: Mapping[str, Any]) -> Schema:
    """Return the time columns of a source, with what the commit says of their order."""
    columns = tuple(Column(column, type_) for column, type_ in marks["time"])
    at = coordinates_in(name, columns, commit["flow"])
    return Schema(at.columns, at.names, at) if at else Schema(columns, tuple(column.name for column in columns))


def _last_commit(files: Files) -> Mapping[str, Any]:
    found = last_commit(files)
    if found is None:
        raise BadCheckpoint(
            f"expected a checkpoint with commits in {files.root.removeprefix('file:')}, got none",
            hint="the directory that was given as checkpoint= or --checkpoint",
        )
    return found


def _sources(commit: Mapping[str, Any]) -> Table:
    table = Table("source", "not complete from", "rows", "late", "rejected", "watermarks")
    for name, marks in commit["sources"].items():
        counts = (f"{marks[kind]:,}" for kind in ("rows", "late", "rejected", "watermarks"))
        table.add_row(plain(name), plain(marks["shown"]), *counts)
    return table


def _positions(commit: Mapping[str, Any]) -> Table:
    """Return how far the local engine has read; of Spark's positions, Spark keeps a log of its own."""
    table = Table("source", "read from", "up to")
    names = {origin: name for name, origin in commit["flow"]["origins"].items()}
    for origin, position in commit["positions"].items():
        at = ", ".join(f"{what} {value}" for what, value in (position["at"] or {}).items())
        table.add_row(plain(names.get(origin, origin)), plain(position["kind"]), plain(at))
    return table


def _state(commit: Mapping[str, Any]) -> Table:
    table = Table("state", "input", "rows", "parts")
    for key, states in commit["state"].items():
        for port, parts in enumerate(states):
            table.add_row(plain(key), str(port), f"{sum(part[1] for part in parts):,}", str(len(parts)))
    return table
