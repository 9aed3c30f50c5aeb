"""The 24 queries of the paper on Aggregates, in every form, measured on this machine.

python -m bench.aggregates --quick
python -m bench.aggregates --only LLM,AHM,llj --output figures
python -m bench.aggregates evaluate --short

The first two compute everything on bounded data; the last is the paper's evaluation, on streams that come at a rate.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.aggregates.queries import QUERIES

__all__ = ["aggregates"]


def aggregates(
    only: Annotated[str, typer.Option(help="Queries to measure, with commas between; all 24 by default.")] = "",
    repeats: Annotated[int, typer.Option(help="How often each form is run; the median counts.")] = 3,
    warm: Annotated[int, typer.Option(help="How often each form is run before that; A once.", min=1)] = 3,
    share: Annotated[float, typer.Option(help="The share of the rows; 1 is for figures.")] = 1.0,
    cores: Annotated[int, typer.Option(help="Cores that Spark may use.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option(help="A directory for figures (SVG) and all that was measured; started again, it goes on there."),
    ] = None,
    quick: Annotated[bool, typer.Option(help="A Map and a Join, few rows, one run.")] = False,
) -> None:
    """Measure the 24 queries dedicated, composed of A+ and of A, and optimised; and Joins against Spark by hand."""
    # PySpark takes a while to load: not before the arguments were looked at.
    from bench.aggregates.evaluation.by_hand import SETTINGS
    from bench.aggregates.experiment import Plan, measure
    from bench.aggregates.report import markdown, plots, show
    from tidegate.spark.session import local_session

    names = tuple(name.strip() for name in only.split(",") if name.strip()) or tuple(QUERIES)
    unknown = [name for name in names if name not in QUERIES]
    if unknown:
        raise typer.BadParameter(f"there is no query {unknown[0]!r}; there are: {', '.join(QUERIES)}")
    plan = Plan(names=names, repeats=repeats, warm=warm).scaled(share)
    console = Console()
    options = {name.replace(".", "__"): value for name, value in SETTINGS.items()}
    spark = local_session("bench", master=f"local[{cores}]", spark__sql__shuffle__partitions=str(cores), **options)
    started = time.monotonic()
    try:
        with console.status("measuring") as status:
            say = status.update if console.is_terminal else console.print
            if output is not None:
                output.mkdir(parents=True, exist_ok=True)
            kept = None if output is None else output / "measured.json"
            results = measure(spark, plan.quick() if quick else plan, say=say, kept=kept)
    finally:
        spark.stop()
    show(results, console)
    if output is not None:
        (output / "report.md").write_text(markdown(results), encoding="utf-8")
        for name, svg in plots(results).items():
            (output / name).write_text(svg, encoding="utf-8")
    console.print(f"measured in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["evaluate"]:
        from bench.aggregates.evaluation.command import evaluate

        del sys.argv[1]
        typer.run(evaluate)
    else:
        typer.run(aggregates)
