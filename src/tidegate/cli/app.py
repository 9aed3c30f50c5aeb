"""The command ``tidegate``: one `typer` application; each command is a module beside this one."""

from __future__ import annotations

import typer

__all__ = ["app"]

app = typer.Typer(
    name="tidegate",
    help="Time-aware stream processing whose answers are final.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)


@app.callback()
def main() -> None:
    """Time-aware stream processing whose answers are final."""
