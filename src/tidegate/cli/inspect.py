"""``tidegate inspect``: say what is in a checkpoint, without Spark and without running anything that is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tidegate.cli.app import app

__all__ = ["inspect"]


@app.command()
def inspect(
    checkpoint: Annotated[Path, typer.Argument(help="The directory of a checkpoint.", show_default=False)],
) -> None:
    """Say where a run is: its last step, how far its sources are, what is held, and who works on it."""
    console = Console()
    steps = [int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()]
    if not steps:
        _failed(f"expected a checkpoint with commits in {checkpoint}, got none")
    path = checkpoint / "commits" / str(max(steps))
    try:
        commit = json.loads(path.read_text(encoding="utf-8"))
        name = commit["flow"]["name"]
        ended = "; its input has ended" if commit["ended"] else ""
        console.print(f"flow {name}: step {commit['step']}{ended}", highlight=False)
        console.print(_sources(commit), _state(commit))
    except (ValueError, KeyError, TypeError) as error:
        _failed(f"expected a commit in {path}, got something that can't be read: {error!r}")
    lock = checkpoint / "lock"
    if lock.exists():
        holder = json.loads(lock.read_text(encoding="utf-8"))
        console.print(f"held by process {holder.get('process')} on {holder.get('host')}", highlight=False)


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
            found = [part for part in parts if part]
            table.add_row(key, str(port), f"{sum(rows for _, rows in found):,}", str(len(found)))
    return table


def _failed(message: str) -> None:
    typer.secho(message, err=True, fg=typer.colors.RED)
    raise typer.Exit(1)
