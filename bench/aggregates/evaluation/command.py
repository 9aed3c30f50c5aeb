"""The command: ``python -m bench.aggregates evaluate``."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench.aggregates.evaluation.evaluate import Evaluation, names_of
from bench.aggregates.evaluation.figures import figures, found_in
from bench.aggregates.evaluation.page import page
from bench.aggregates.evaluation.plan import FORMS, Plan
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.store import Store

__all__ = ["evaluate", "write_results"]

_FIGURES = ("14", "10", "12", "9", "11", "13")
#: Between these the page has what was found; all else of it is written by hand.
_BEGIN, _END = "<!-- evaluation -->", "<!-- end of evaluation -->"


def evaluate(
    short: Annotated[
        bool, typer.Option("--short", help="About ten minutes: a Map and a Join, short runs, once.")
    ] = False,
    coarse: Annotated[
        bool, typer.Option("--coarse", help="Three to four hours: all queries, short runs, once, a search in a hurry.")
    ] = False,
    only: Annotated[str, typer.Option(help="Queries, with commas between; all 24 by default.")] = "",
    which: Annotated[str, typer.Option("--figures", help="Figures, with commas between.")] = ",".join(_FIGURES),
    sides: Annotated[str, typer.Option(help="Sides, with commas between.")] = "hand,spark,local",
    forms: Annotated[str, typer.Option(help="Forms for Figures 9 to 13, with commas between.")] = "dedicated,A+,A",
    seconds: Annotated[float | None, typer.Option(help="How long a run is measured.")] = None,
    warm: Annotated[float | None, typer.Option(help="How long rows come before that.")] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each rate.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="The factor within which a rate is found.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Begin nothing new after so many minutes; start again to go on.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where cells are kept, and figures and the report are written.")] = Path(
        "build/evaluation"
    ),
    report: Annotated[bool, typer.Option("--report", help="Run nothing: write what is there.")] = False,
    docs: Annotated[
        Path | None, typer.Option(help="A page to write the report into, and its figures beside it.")
    ] = None,
) -> None:
    """Run the paper's evaluation; started again, it goes on where it stopped."""
    console = Console()
    try:
        names = names_of(only)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    chosen = tuple(map(int, _known(which, _FIGURES, "figure that is measured")))
    plan = Plan(
        names=names, figures=chosen, sides=_known(sides, SIDES, "side"), forms=_known(forms, FORMS, "form of a query")
    )
    plan = plan.short() if short else plan.coarse() if coarse else plan
    given: dict[str, Any] = {"seconds": seconds, "warm": warm, "runs": runs, "tolerance": tolerance}
    plan = replace(plan, **{name: value for name, value in given.items() if value is not None})
    store = Store(output / "cells.jsonl", machine())
    started = time.monotonic()
    if not report:
        _run(plan, store, console, minutes)
    write_results(store, output, docs)
    console.print(f"{output / 'report.md'}, in {time.monotonic() - started:.0f} s")


def _known(given: str, known: Iterable[str], what: str) -> tuple[str, ...]:
    """Return what was named, with commas between; refuse what is unknown."""
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no {what} {name!r}; there are: {', '.join(known)}")
    return names


def _run(plan: Plan, store: Store, console: Console, minutes: float | None) -> None:
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with TemporaryDirectory(prefix="tidegate-bench-") as place, Progress(*columns, console=console) as bar:
        evaluation = Evaluation(plan, store, Path(place))
        tasks = list(evaluation.tasks())
        shown = bar.add_task("", total=len(tasks))

        def say(text: str) -> None:
            bar.update(shown, description=text)
            if not console.is_terminal:
                console.print(f"{time.strftime('%H:%M:%S')} {text}", highlight=False)

        evaluation.say = say
        started = time.monotonic()
        try:
            for number, task in enumerate(tasks):
                if minutes is not None and time.monotonic() - started > 60 * minutes:
                    console.print(f"stopped after {minutes:g} minutes: {number} of {len(tasks)} parts are there")
                    break
                task.run()
                bar.advance(shown)
        finally:
            evaluation.session.close()


def write_results(store: Store, output: Path, docs: Path | None) -> None:
    """Write the figures and the report of what a store has; into a page, between two marks in it."""
    output.mkdir(parents=True, exist_ok=True)
    found = found_in(store)
    drawn = figures(found)
    text = page(found, list(drawn))
    (output / "report.md").write_text(text, encoding="utf-8")
    for name, svg in drawn.items():
        (output / name).write_text(svg, encoding="utf-8")
    if docs is not None:
        before, _, rest = docs.read_text(encoding="utf-8").partition(_BEGIN)
        _, _, after = rest.partition(_END)
        pictures = "\n".join(f"![{name.removesuffix('.svg')}](figures/{name})" for name in drawn)
        docs.write_text(f"{before}{_BEGIN}\n{text}\n{pictures}\n{_END}{after}", encoding="utf-8")
        for old in (docs.parent / "figures").glob("figure-*.svg"):
            old.unlink()
        for name, svg in drawn.items():
            (docs.parent / "figures" / name).write_text(svg, encoding="utf-8")


def machine() -> str:
    """Return what it was run on."""
    import duckdb
    import pyspark

    cores = f"{len(os.sched_getaffinity(0))} cores{_processor()}"
    return f"{cores}, Python {platform.python_version()}, Spark {pyspark.__version__}, DuckDB {duckdb.__version__}"


def _processor() -> str:
    """Return the name of the processor, in parentheses; nothing if the system does not say."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f" ({names[0]})" if names else ""
