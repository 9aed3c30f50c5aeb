"""``tidegate inspect`` and ``why``: say what is in a checkpoint, without Spark; nothing that is in it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from tidegate.cli.app import app
from tidegate.errors import TidegateError
from tidegate.flow.schema import Column, Schema
from tidegate.spark.streaming.frontiers import decoded
from tidegate.spark.streaming.times import parse_time

__all__ = ["inspect", "why"]

Checkpoint = Annotated[Path, typer.Argument(help="The directory of a checkpoint.", show_default=False)]


@app.command()
def inspect(checkpoint: Checkpoint) -> None:
    """Say where a run is: its last step, how far its sources are, what is held, and who works on it."""
    console = Console()
    commit = _last_commit(checkpoint)
    ended = "; its input has ended" if commit["ended"] else ""
    console.print(f"flow {commit['flow']['name']}: step {commit['step']}{ended}", highlight=False)
    console.print(_sources(commit), _state(commit))
    lock = checkpoint / "lock"
    if lock.exists():
        holder = json.loads(lock.read_text(encoding="utf-8"))
        console.print(f"held by process {holder.get('process')} on {holder.get('host')}", highlight=False)


@app.command(context_settings={"ignore_unknown_options": True})
def why(
    checkpoint: Checkpoint,
    time: Annotated[list[str], typer.Argument(help="A time: one value for each time column.", show_default=False)],
) -> None:
    """Say which sources hold a time back: those that may still give rows at or below it."""
    commit, held, wrong = _last_commit(checkpoint), False, []
    for name, marks in commit["sources"].items():
        columns = tuple(Column(column, type_) for column, type_ in marks["time"])
        schema = Schema(columns, tuple(column.name for column in columns))
        try:
            t = parse_time(schema, tuple(time))
        except TidegateError as error:
            # Sources that do not meet may have times of different types.
            wrong.append(str(error))
            continue
        if any(schema.order.le(f, t) for f in decoded(schema, marks["frontier"])):
            held = True
            because = f": {marks['because']}" if marks["because"] else ""
            typer.echo(f"source {name} may still give rows from {marks['shown']} on{because}")
    if len(wrong) == len(commit["sources"]):
        _failed(wrong[0])
    if not held:
        typer.echo("complete: no source can give rows at this time or below")


def _last_commit(checkpoint: Path) -> dict[str, Any]:
    steps = [int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()]
    if not steps:
        _failed(f"expected a checkpoint with commits in {checkpoint}, got none")
    path = checkpoint / "commits" / str(max(steps))
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != 1:
            _failed(f"expected a commit of format 1 in {path}, got {found['format']}")
    except (ValueError, KeyError, TypeError) as error:
        _failed(f"expected a commit in {path}, got something that can't be read: {error!r}")
    return found


def _sources(commit: dict[str, Any]) -> Table:
    table = Table("source", "not complete from", "rows", "late", "rejected", "watermarks")
    for name, marks in commit["sources"].items():
        counts = (f"{marks[kind]:,}" for kind in ("rows", "late", "rejected", "watermarks"))
        table.add_row(name, marks["shown"], *counts)
    return table


def _state(commit: dict[str, Any]) -> Table:
    table = Table("state", "input", "rows", "parts")
    for key, states in commit["state"].items():
        for port, parts in enumerate(states):
            table.add_row(key, str(port), f"{sum(part[1] for part in parts):,}", str(len(parts)))
    return table


def _failed(message: str) -> NoReturn:
    typer.secho(message, err=True, fg=typer.colors.RED)
    raise typer.Exit(1)
