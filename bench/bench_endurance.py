"""A long run of a small flow: what the two processes and the checkpoint hold after many steps.

    python bench/bench_endurance.py --steps 1000

One file of a few rows is read in each step. After every so many steps, the table has a line: threads of the JVM, its
heap after a collection, memory and open files of both processes, objects that Python holds in the JVM, files in the
checkpoint, and the median of the steps' times. All of them should level off, after what fills up at first: pools of
threads, caches, and the hundred batches that Spark keeps in its half of the checkpoint.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import tidegate as tg
from tidegate.spark.session import local_session

SCHEMA = "t BIGINT, k BIGINT, x BIGINT"
_KEYS = 7
_ROWS = 20


def flow() -> tg.Flow:
    """Windows, totals and a Python function: state, output and worker processes in each step."""
    made = tg.Flow("endurance")
    rows = made.source("s", SCHEMA, time="t", watermark=tg.bounded(4))
    made.sink("windows", rows.window(20, every=10).aggregate(by="k", n="count(*)", x="sum(x)"))
    made.sink("so_far", rows.map_batches(_same, SCHEMA).accumulate(by="k", x="sum(x)"))
    return made


def _same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def write_inputs(directory: Path, steps: int) -> None:
    """Write a file for each step: two units of time further, some rows two units back."""
    directory.mkdir()
    for step in range(steps):
        times = [step * 2 - i % 3 for i in range(_ROWS)]
        columns = {"t": times, "k": [i % _KEYS for i in range(_ROWS)], "x": list(range(_ROWS))}
        path = directory / f"{step:06}.parquet"
        pq.write_table(pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}), path)
        os.utime(path, (1_000_000 + step, 1_000_000 + step))


@dataclass(frozen=True)
class Held:
    """What is held after a step."""

    step: int
    threads: int
    by_name: Mapping[str, int]
    heap_mb: float
    jvm_mb: float
    python_mb: float
    jvm_files: int
    python_files: int
    references: int
    checkpoint_files: int
    step_seconds: float


class Meter:
    """Looks at both processes and at the checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        context: Any = spark.sparkContext
        self._jvm, self._gateway = context._jvm, context._gateway
        self._checkpoint = checkpoint
        self._beans = self._jvm.java.lang.management.ManagementFactory
        self._pid = self._beans.getRuntimeMXBean().getPid()

    def measure(self, step: int, seconds: float) -> Held:
        """Return what is held now, after both processes have collected their garbage."""
        # What Python lets go of is let go of in the JVM too, and what Spark hangs on that is cleaned up by a thread.
        for _ in range(2):
            gc.collect()
            self._jvm.java.lang.System.gc()
        names = [thread.getName() for thread in self._jvm.java.lang.Thread.getAllStackTraces().keySet()]
        return Held(
            step,
            len(names),
            Counter(_group(name) for name in names),
            self._beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6,
            _resident(self._pid),
            _resident(os.getpid()),
            self._beans.getOperatingSystemMXBean().getOpenFileDescriptorCount(),
            len(os.listdir("/dev/fd")),
            self._references(),
            sum(len(files) for _, _, files in os.walk(self._checkpoint)),
            seconds,
        )

    def _references(self) -> int:
        return int(self._gateway.java_gateway_server.getGateway().getBindings().size())


def _group(name: str) -> str:
    """Return a thread's name without its numbers and what follows them."""
    return re.split(r"[-\s#]*\d", name, maxsplit=1)[0].strip() or name


def _resident(pid: int) -> float:
    """Return the megabytes of memory that a process has."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) * 1024 / 1e6


def endure(spark: SparkSession, directory: Path, steps: int, every: int, console: Console) -> list[Held]:
    """Run the flow for so many steps, and return what is held after every so many."""
    write_inputs(directory / "in", steps)
    checkpoint = directory / "checkpoint"
    meter = Meter(spark, checkpoint)
    found: list[Held] = []
    seconds: list[float] = []

    def report(metrics: Mapping[str, Any]) -> None:
        seconds.append(metrics["seconds"])
        if len(seconds) == 1 or len(seconds) % every == 0:
            found.append(meter.measure(metrics["step"] + 1, median(seconds[-every:])))
            last = found[-1]
            console.print(f"step {last.step}: {last.threads} threads, {last.heap_mb:.0f} MB of heap, ", end="")
            console.print(
                f"{last.references} references, {last.checkpoint_files} files, {last.step_seconds:.2f} s a step"
            )

    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(directory / "in"))
    outputs = {name: tg.parquet(str(directory / name)) for name in ("windows", "so_far")}
    run = flow().start(spark, {"s": stream}, outputs, str(checkpoint), trigger={"availableNow": True}, metrics=report)
    run.await_termination()
    return found


def show(found: list[Held], console: Console) -> None:
    """Print the table, and the threads that the end has more of than the middle."""
    table = Table(title="what is held after so many steps", title_justify="left")
    headings = ("step", "threads", "heap MB", "JVM MB", "Python MB", "JVM fds", "Python fds", "references", "files")
    for heading in (*headings, "s a step"):
        table.add_column(heading, justify="right")
    for held in found:
        sizes = (held.heap_mb, held.jvm_mb, held.python_mb)
        counts = (held.jvm_files, held.python_files, held.references, held.checkpoint_files)
        table.add_row(
            f"{held.step:,}",
            str(held.threads),
            *(f"{size:,.0f}" for size in sizes),
            *(f"{count:,}" for count in counts),
            f"{held.step_seconds:.2f}",
        )
    console.print(table)
    middle, end = found[len(found) // 2], found[-1]
    more = {name: (middle.by_name.get(name, 0), n) for name, n in end.by_name.items()}
    for name, (before, after) in sorted(more.items(), key=lambda item: item[1][0] - item[1][1]):
        if after > before or after >= 8:
            console.print(f"threads {name!r}: {before} after step {middle.step:,}, {after} after step {end.step:,}")


def main(
    steps: Annotated[int, typer.Option(help="How many steps.")] = 1000,
    every: Annotated[int, typer.Option(help="After how many steps to look.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="A few steps only.")] = False,
) -> None:
    """Run a small flow for many steps, and show what is held."""
    console = Console()
    if quick:
        steps, every = 10, 5
    spark = local_session("endurance", master="local[2]")
    try:
        with tempfile.TemporaryDirectory() as directory:
            show(endure(spark, Path(directory), steps, every, console), console)
    finally:
        spark.stop()


if __name__ == "__main__":
    typer.run(main)
