"""``tidegate ui``: serve a page that shows runs, from their checkpoints."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from rich.console import Console

from tidegate.cli.app import app
from tidegate.cli.output import say
from tidegate.live import PORT, Page
from tidegate.live.access import is_loopback

__all__ = ["ui"]


@app.command()
def ui(
    checkpoints: Annotated[
        list[Path], typer.Argument(help="The directories of checkpoints.", metavar="CHECKPOINT…", show_default=False)
    ],
    host: Annotated[
        str, typer.Option(help="The address to serve at. Any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"The port, {PORT} or one after it; 0: any.", show_default=False),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            envvar="TIDEGATE_UI_TOKEN", help="What a browser must know; made if it is needed.", show_default=False
        ),
    ] = "",
) -> None:
    """Show runs on a page as they go: frontiers, rates, state, late rows, and why a time is not complete.

    It reads the checkpoints of runs on either engine, whether they still run or not. It never writes, and needs no
    Spark.
    """
    console = Console()
    page = Page(host=host, port=port, token=token)
    try:
        for checkpoint in checkpoints:
            page.add(checkpoint)
        say(f"{page.link}  (Ctrl-C ends it)", console=console)
        if not is_loopback(host):
            say("it is not encrypted: whoever can read the network can read the token", console=console, style="yellow")
        _wait()
    finally:
        page.close()


def _wait() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    over = Event()
    before = signal.signal(signal.SIGTERM, lambda number, frame: over.set())  # noqa: ARG005
    try:
        while not over.wait(0.5):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
