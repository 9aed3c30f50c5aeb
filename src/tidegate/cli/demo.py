"""``tidegate demo``: show what Tidegate does, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tidegate.cli.app import app
from tidegate.demos import DEFAULT, DEMOS

__all__ = ["demo"]


@app.command()
def demo(
    name: Annotated[str, typer.Argument(help="Which demo; see --list.", show_default=True)] = DEFAULT,
    listed: Annotated[bool, typer.Option("--list", help="List the demos.")] = False,
) -> None:
    """Show what Tidegate does."""
    console = Console()
    if listed:
        table = Table(box=None, show_header=False, padding=(0, 2))
        for found in DEMOS.values():
            table.add_row(f"[bold]{found.name}[/]", found.about + (" (the default)" if found.name == DEFAULT else ""))
        console.print(table)
        return
    if name not in DEMOS:
        raise typer.BadParameter(f"there is no demo {name!r}; there are: {', '.join(DEMOS)}", param_hint="NAME")
    DEMOS[name].show(console)
