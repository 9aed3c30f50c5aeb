"""``tidegate run`` on streams: it reads directories that files are added to, until Ctrl-C or until all is read."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tidegate.cli.output import plain, say
from tidegate.cli.progress import progress_line
from tidegate.extras import require
from tidegate.flow.arguments import checked_directory
from tidegate.flow.clocks import given_schema
from tidegate.flow.errors import BadArgument, BadInput, BadSpan
from tidegate.flow.plan import Plan, Table
from tidegate.flow.spans import parse_span
from tidegate.flow.watermarks import Published

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.engine.outputs import Output
    from tidegate.engine.runs import Run
    from tidegate.spark.files import FileRows

__all__ = ["output_of", "run_stream", "trigger_of", "which_engine"]

_SHORT = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}


def trigger_of(every: str, *, once: bool) -> dict[str, Any]:
    """Return the trigger for the options ``--every`` and ``--once``.

    >>> trigger_of("10s", once=False), trigger_of("", once=True)
    ({'processingTime': '10000000 microseconds'}, {'availableNow': True})
    """
    if every and once:
        raise BadArgument("expected --every or --once, got both", hint="--once reads what there is, and ends")
    if once:
        return {"availableNow": True}
    short = re.fullmatch(r"\s*(\d+)\s*([a-z]+)\s*", every, re.IGNORECASE)
    text = f"{short[1]} {_SHORT.get(short[2].lower(), short[2])}" if short else every
    try:
        return {"processingTime": f"{parse_span(text, 'TIMESTAMP', what='--every', least=0)} microseconds"}
    except BadSpan:
        raise BadArgument(
            f"expected a length of time for --every, got {every!r}", hint="--every 10s, 5m or 1h"
        ) from None


def run_stream(
    plan: Plan,
    inputs: dict[str, str],
    outputs: dict[str, str],
    checkpoint: str,
    trigger: dict[str, Any],
    *,
    engine: str,
    master: str,
    metrics: str,
    console: Console,
) -> None:
    """Run a flow on directories of files, and print its progress: one line, or in a file a line for each step."""
    from tidegate.engine.formats import checked_input

    if engine == "spark":
        # PySpark takes a while to load, so first check everything that can be wrong without it.
        require("spark", "tidegate run")
    for table in plan.tables:
        checked_input(table.id, inputs[table.id])
    kinds = {s.id: _checked_stream(plan, s.id, inputs[s.id], engine) for s in plan.sources}
    places = {name: output_of(text) for name, text in outputs.items()}
    on_engine = (
        _spark_start(plan, inputs, kinds, master, console) if engine == "spark" else _local_start(plan, inputs, kinds)
    )
    say(which_engine(engine, master), console=console)
    with on_engine as start, _interruptible():
        run = start(places, checkpoint, trigger=trigger, metrics=metrics or None)
        try:
            _print_steps(run, console)
        except KeyboardInterrupt:
            _stop(run, console)
            # If the run has failed, this raises its error.
            run.await_termination()
    say(str(run.status()), console=console, lines=True)
    if run.status().state == "stopped":
        say(f"start it again with --checkpoint {checkpoint} to go on", console=console)


def which_engine(engine: str, master: str) -> str:
    """Return the line that says where a flow runs.

    >>> which_engine("spark", "local[2]")
    'on Spark, local[2]; --engine local runs in this process, without it'
    """
    if engine == "local":
        return "on the local engine, in this process"
    return f"on Spark, {master}; --engine local runs in this process, without it"


def output_of(text: str) -> Output:
    """Return the output for a text: ``console``, ``delta:PATH``, ``postgres:TABLE``, or a path for Parquet."""
    from tidegate.engine.outputs import console, delta, parquet, postgres

    kind, colon, rest = text.partition(":")
    if colon and kind == "delta":
        return delta(rest)
    if colon and kind == "postgres":
        return postgres(rest)
    return console() if text == "console" else parquet(text)


@contextmanager
def _local_start(plan: Plan, inputs: dict[str, str], kinds: dict[str, str]) -> Iterator[Callable[..., Run]]:
    """Yield a function that starts a flow in this process."""
    from tidegate.local_engine.session import local
    from tidegate.local_engine.streaming import start
    from tidegate.local_engine.streaming.feeds.files import files
    from tidegate.local_engine.streaming.reading import read_stream

    streams = {s.id: files(inputs[s.id]) if kinds[s.id] else read_stream(inputs[s.id]) for s in plan.sources}
    tables = {table.id: inputs[table.id] for table in plan.tables}
    yield partial(start, plan, local(), {**streams, **tables})


@contextmanager
def _spark_start(
    plan: Plan, inputs: dict[str, str], kinds: dict[str, str], master: str, console: Console
) -> Iterator[Callable[..., Run]]:
    """Yield a function that starts a flow on Spark; Spark is stopped at the end."""
    from tidegate.spark.files import read_rows
    from tidegate.spark.session import local_session
    from tidegate.spark.streaming import start

    with console.status("starting Spark"):
        spark = local_session(f"tidegate {plan.name}", master=master)
    try:
        given = {s.id: _stream_of_files(spark, plan, s.id, inputs[s.id], kinds[s.id]) for s in plan.sources}
        given |= {t.id: _table_rows(plan, t, inputs[t.id], read_rows(spark, t, inputs[t.id])) for t in plan.tables}
        yield partial(start, plan, spark, given)
    finally:
        spark.stop()


def _stop(run: Run, console: Console) -> None:
    """Stop a run when its current step has ended. A second Ctrl-C cancels the step."""
    console.print("stopping when the step has ended; again to cancel it …", highlight=False)
    try:
        ended = run.stop(timeout=None)
    except KeyboardInterrupt:
        ended = run.stop(timeout=0)
    if run.status().state != "failed":
        console.print("stopped" if ended else "stopped; the step was cancelled, and will be run again", highlight=False)


def _table_rows(plan: Plan, table: Table, path: str, read: FileRows) -> DataFrame:
    """Return the rows of a table. Raise if some do not parse, because joins would silently miss them."""
    broken = 0 if read.unreadable is None else read.unreadable.count()
    if broken:
        columns = ", ".join(map(str, table.schema.columns))
        error = BadInput(
            f"expected rows of {columns} in {path}, got {broken} that do not parse",
            hint="mend them: a run without --once and --every writes them to --rejected DIR",
        )
        raise error.at(f"table {table.id!r}").at(f"flow {plan.name!r}")
    return read.rows


def _checked_stream(plan: Plan, source: str, path: str, engine: str = "spark") -> str:
    """Check the path of a stream, and return the format of its files; empty if another flow writes it."""
    from tidegate.engine.formats import input_format

    if isinstance(getattr(plan[source], "watermark", None), Published):
        return ""
    if "://" not in path and "*" not in path and not Path(path).is_dir():
        raise BadArgument(
            f"expected a directory for source {source!r}, got {path}", hint="files that are added are read"
        )
    if engine == "spark" and Path(path).is_dir():
        # The path is taken literally. Spark would read it as a pattern.
        checked_directory(path, f"--input {source}", hint="")
    return input_format(path)


def _stream_of_files(spark: SparkSession, plan: Plan, source: str, path: str, kind: str) -> DataFrame:
    from tidegate.spark.arrow import struct_type
    from tidegate.spark.files import CSV, streamed_columns
    from tidegate.spark.inputs import UNREADABLE
    from tidegate.spark.streaming import read_stream

    if not kind:
        return read_stream(spark, path)
    (declared,) = (replace(s, schema=given_schema(s)) for s in plan.sources if s.id == source)
    schema, options = struct_type(streamed_columns(spark, declared, path, kind)), {}
    if kind != "parquet":
        # A value that does not parse must not become NULL. Its row is set aside with its text instead.
        schema = schema.add(UNREADABLE, "string")
        options = {**CSV, "enforceSchema": "false", "columnNameOfCorruptRecord": UNREADABLE}
    return spark.readStream.format(kind).schema(schema).options(**options).load(path)


def _print_steps(run: Run, console: Console) -> None:
    """Print a line about each step, until the run is over."""
    printed, total, over = -1, 0, False
    with console.status("waiting for rows") as status:
        while not over:
            over = run.await_termination(0.2)
            for step in run.metrics():
                if step["step"] > printed:
                    printed, total = step["step"], total + sum(step["rows"].values())
                    line = progress_line(step, total)
                    status.update(plain(line))
                    if not console.is_terminal:
                        say(line, console=console)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM raise KeyboardInterrupt here. PySpark's own handler would make the step fail."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
