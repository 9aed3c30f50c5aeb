"""``tidegate explain``: say what the flow in a Python file does, without running it on data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.app import app
from tidegate.cli.load import load_flow
from tidegate.printable import printable

__all__ = ["explain"]


class ExplanationForm(StrEnum):
    """The forms of an explanation."""

    text = "text"
    mermaid = "mermaid"
    svg = "svg"


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(help="A Python file that builds a flow.", show_default=False)],
    flow: Annotated[str, typer.Option(help="Which flow, if the file has several.")] = "",
    form: Annotated[ExplanationForm, typer.Option("--format", help="How to say it.")] = ExplanationForm.text,
    output: Annotated[Path | None, typer.Option(help="Write to this file, not to the terminal.")] = None,
) -> None:
    """Say what a flow does: operators, columns, times, what is held and why, and what may go wrong."""
    explanation = load_flow(file, flow).explain()
    text = {
        ExplanationForm.text: explanation.__str__,
        ExplanationForm.mermaid: explanation.mermaid,
        ExplanationForm.svg: explanation.svg,
    }[form]()
    if output is None:
        typer.echo(printable(text, lines=True))
    else:
        output.write_text(text + "\n", encoding="utf-8")
