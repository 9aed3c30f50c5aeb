"""``tidegate run``: run the flow in a Python file on files, or on directories that files are added to."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tidegate.cli.app import app
from tidegate.cli.load import load_flow
from tidegate.cli.output import plain, say
from tidegate.cli.streaming import run_stream, trigger_of, which_engine
from tidegate.engine.formats import checked_input, checked_output
from tidegate.extras import require
from tidegate.flow.errors import BadArgument, BadInput, did_you_mean
from tidegate.flow.plan import Plan, Source
from tidegate.flow.plan import Table as PlanTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["named_paths", "run", "watched"]

R = TypeVar("R")


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="A Python file that builds a flow.", show_default=False)],
    input_: Annotated[
        list[str], typer.Option("--input", "-i", help="name=path for each source and table: Parquet, CSV or JSON.")
    ],
    output: Annotated[list[str], typer.Option("--output", "-o", help="name=path for each sink that is wanted.")],
    flow: Annotated[str, typer.Option(help="Which flow, if the file has several.")] = "",
    engine: Annotated[str, typer.Option(help="spark, or local: in this process, without Spark.")] = "spark",
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
    rejected: Annotated[str, typer.Option(help="Write rows that could not take part to this directory.")] = "",
    overwrite: Annotated[bool, typer.Option(help="Replace results that are there already.")] = False,
    every: Annotated[str, typer.Option(help="Run on streams: a step so often, such as 10s, until Ctrl-C.")] = "",
    once: Annotated[bool, typer.Option("--once", help="Run on streams: read what is new, and end.")] = False,
    checkpoint: Annotated[str, typer.Option(help="On streams: the directory that a later run goes on from.")] = "",
    metrics: Annotated[str, typer.Option(help="On streams: add a line of JSON for each step to this file.")] = "",
) -> None:
    """Run a flow on files, or with --every or --once on directories that files are added to.

    On files, the end of the input completes everything. On streams, an output is Parquet, or one of
    console, delta:PATH and postgres:TABLE.
    """
    console = Console(stderr=True)
    plan = load_flow(file, flow).plan
    try:
        plan.check_sinks()
    except BadArgument as error:
        raise error.at(f"flow {plan.name!r}") from None
    inputs = named_paths(input_, "--input", [o.id for o in (*plan.sources, *plan.tables)], everyone=True)
    streaming = bool(every or once)
    outputs = named_paths(output, "--output", [sink.name for sink in plan.sinks], everyone=streaming)
    _check_options(streaming=streaming, bounded_only=bool(rejected or overwrite), checkpoint=checkpoint)
    if engine not in ("spark", "local"):
        raise BadArgument(f"expected --engine spark or local, got {engine!r}")
    if streaming:
        trigger, where = trigger_of(every, once=once), {"engine": engine, "master": master}
        run_stream(plan, inputs, outputs, checkpoint, trigger, **where, metrics=metrics, console=console)
    elif engine == "local":
        _run_locally(plan, inputs, outputs, rejected, overwrite=overwrite, console=console)
    else:
        _run(plan, inputs, outputs, master, rejected, overwrite=overwrite, console=console)


def _check_options(*, streaming: bool, bounded_only: bool, checkpoint: str) -> None:
    if streaming and not checkpoint:
        raise BadArgument("expected --checkpoint for a run on streams, got none", hint="--checkpoint checkpoints/edits")
    if streaming and bounded_only:
        raise BadArgument(
            "--rejected and --overwrite are for runs on files",
            hint="on streams, rows that could not take part are in the checkpoint, below late/ and rejected/",
        )
    if checkpoint and not streaming:
        raise BadArgument("got --checkpoint for a run on files", hint="on streams: --every 10s, or --once")


def named_paths(given: list[str], option: str, names: list[str], *, everyone: bool = False) -> dict[str, str]:
    """Return the paths of ``name=path`` texts by name. Raise if a name is unknown or is given twice.

    With ``everyone``, all ``names`` must be given. ``option`` is the command-line option, for error messages.

    >>> named_paths(["clicks=in/clicks.csv"], "--input", ["clicks"])
    {'clicks': 'in/clicks.csv'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise BadArgument(f"expected {option} name=path, got {text!r}", hint=f"{option} {names[0]}=path")
        if name not in names:
            what = f"expected {option} for one of {', '.join(names)}, got {name!r}"
            raise BadArgument(what, hint=did_you_mean(name, names))
        if name in found:
            raise BadArgument(f"{option} {name}= is given twice")
        found[name] = path
    missing = [name for name in names if name not in found] if everyone else []
    if missing:
        raise BadArgument(f"expected {option} for {', '.join(missing)}, got none", hint=f"{option} {missing[0]}=path")
    return found


def _check_places(plan: Plan, outputs: dict[str, str], rejected: str, *, overwrite: bool) -> None:
    for path in outputs.values():
        checked_output(path, overwrite=overwrite)
    for operator in (*plan.sources, *plan.tables):
        place = Path(rejected, operator.id)
        if rejected and "://" not in rejected and place.exists() and not overwrite:
            raise BadArgument(f"{place} is there already", hint="choose another --rejected, or pass --overwrite")


def _run_locally(
    plan: Plan, inputs: dict[str, str], outputs: dict[str, str], rejected: str, *, overwrite: bool, console: Console
) -> None:
    import duckdb

    from tidegate.local_engine.compute import compute
    from tidegate.local_engine.error_messages import describe_error
    from tidegate.local_engine.files import write_rows
    from tidegate.local_engine.session import local

    _check_places(plan, outputs, rejected, overwrite=overwrite)
    for name, path in inputs.items():
        checked_input(name, path)
    say(which_engine("local", ""), console=console)
    started = time.monotonic()
    tables = compute(plan, local(), inputs)
    written = {}
    try:
        for name, path in outputs.items():
            written[name] = (path, write_rows(tables[name], path, overwrite=overwrite))
        counts = tables.rejected.counts()
        for name, count in counts.items():
            if rejected and count:
                write_rows(tables.rejected[name], f"{rejected}/{name}", overwrite=overwrite)
    except duckdb.Error as error:
        sink = next((name for name in outputs if name not in written), "rejected")
        why = (tables.failing(sink) if sink in outputs else None) or describe_error(error).text
        failed = BadInput(f"the local engine failed: {why}", hint="nothing of this sink is written")
        raise failed.at(f"sink {sink!r}").at(f"flow {plan.name!r}") from None
    _report(plan, written, counts, rejected, time.monotonic() - started, console)


def _run(
    plan: Plan,
    inputs: dict[str, str],
    outputs: dict[str, str],
    master: str,
    rejected: str,
    *,
    overwrite: bool,
    console: Console,
) -> None:
    # PySpark takes a while to load, so first check everything that can be wrong without it.
    require("spark", "tidegate run")
    from tidegate.spark import compute
    from tidegate.spark.files import read_rows, rows_in, write_rows
    from tidegate.spark.runtime import spark_runtime
    from tidegate.spark.session import local_session

    _check_places(plan, outputs, rejected, overwrite=overwrite)
    for name, path in inputs.items():
        checked_input(name, path)
    say(which_engine("spark", master), console=console)
    with console.status("starting Spark"):
        spark = local_session(f"tidegate {plan.name}", master=master)
    try:
        started = time.monotonic()
        declared: list[Source | PlanTable] = [*plan.sources, *plan.tables]
        given = {o.id: read_rows(spark, o, inputs[o.id]) for o in declared}
        tables = compute(plan, spark, {name: rows.rows for name, rows in given.items()})
        refused = dict(tables.rejected)
        for name, read in given.items():
            if read.unreadable is not None:
                refused[name] = refused[name].unionByName(read.unreadable) if name in refused else read.unreadable
        with _progress(console) as progress, spark_runtime(spark).quiet():
            for name, path in outputs.items():
                watched(spark, progress, name, partial(write_rows, tables[name], path, overwrite=overwrite))
            counts = {name: watched(spark, progress, f"rejected: {name}", rows.count) for name, rows in refused.items()}
        for name, count in counts.items():
            if rejected and count:
                write_rows(refused[name], f"{rejected}/{name}", overwrite=overwrite)
        written = {name: (path, rows_in(spark, path)) for name, path in outputs.items()}
    finally:
        spark.stop()
    _report(plan, written, counts, rejected, time.monotonic() - started, console)


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
        console=console,
    )


def watched(spark: SparkSession, progress: Progress, name: str, action: Callable[[], R]) -> R:
    """Run an action of Spark and return its result. Meanwhile, show how many of its tasks are done."""
    tracker = spark.sparkContext.statusTracker()
    bar = progress.add_task(name, total=None)
    sizes: dict[int, tuple[int, int]] = {}
    with ThreadPoolExecutor(1) as pool:
        # The context is copied so that PySpark logs no more than in this thread: a failure is printed at the end.
        running = pool.submit(copy_context().run, action)
        while not running.done():
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    sizes[stage] = (info.numCompletedTasks, info.numTasks)
            done, total = (sum(part) for part in zip(*sizes.values(), strict=True)) if sizes else (0, None)
            progress.update(bar, completed=done, total=total)
            time.sleep(0.1)
        total = sum(size for _, size in sizes.values()) or 1
        progress.update(bar, completed=total, total=total)
        return running.result()


def _report(
    plan: Plan,
    written: dict[str, tuple[str, int]],
    counts: dict[str, int],
    rejected: str,
    seconds: float,
    console: Console,
) -> None:
    table = Table(title=f"{plan.name}: complete, in {seconds:.1f} s", title_justify="left")
    for heading in ("sink", "rows", "written to"):
        table.add_column(heading, justify="right" if heading == "rows" else "left")
    for name, (path, count) in written.items():
        table.add_row(name, f"{count:,}", plain(path))
    console.print(table)
    for name, count in counts.items():
        if count:
            where = f"see {rejected}" if rejected else "--rejected DIR keeps them"
            say(f"rejected rows of {name}: {count:,}; {where}", console=console, style="yellow")
