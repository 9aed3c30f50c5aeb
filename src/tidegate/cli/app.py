"""The command ``tidegate``: one `typer` application; each command is a module beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate import __version__
from tidegate.cli.output import Commands

__all__ = ["app"]

app = typer.Typer(
    name="tidegate",
    cls=Commands,
    help="Time-aware stream processing whose answers are final.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tidegate {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and exit.")
    ] = False,
) -> None:
    """Time-aware stream processing whose answers are final."""
