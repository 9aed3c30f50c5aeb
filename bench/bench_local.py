"""The same bounded flows on the local engine and on Spark, on rows in Parquet, and how soon the first answer comes.

    python bench/bench_local.py --rows 10000000 --repeats 5

Both engines have as many threads, run in turn, and read the same files; a run computes everything and throws it away.
Before it is timed, each flow is checked to give as many rows on both. The ratio is that of the medians: how many times
the local engine is as fast; the goal is 5. Loops are run on the local engine alone (`bench_loops.py` is for Spark), and
checked against components that are found in plain Python: those of a random graph, where the goal is 8 seconds for
1,000,000 edges, and of a chain, which takes as many rounds as it is long, where it is 5 seconds for 1,000. On a machine
that others use too, processor time says more than the clock, and stands beside.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Annotated

import duckdb
import pyarrow.compute as pc
import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import tidegate as tg
from bench_bounded import accumulate_flow, asof_flow, generate, join_flow, processor_seconds, window_flow  # type: ignore[import-not-found]  # beside this file
from bench_loops import components, random_edges  # type: ignore[import-not-found]  # beside this file
from tidegate.spark.session import local_session

FLOWS: dict[str, tuple[Callable[[], tg.Flow], tuple[str, ...]]] = {
    "window().aggregate": (window_flow, ("events",)),
    "join": (join_flow, ("events", "payments")),
    "join_asof": (asof_flow, ("events", "prices")),
    "accumulate": (accumulate_flow, ("events",)),
}

#: A flow from nothing: what somebody types first.
FIRST = """
import pyarrow as pa, tidegate as tg
flow = tg.Flow("clicks")
clicks = flow.source("clicks", "t INT, page STRING", time="t")
flow.sink("n", clicks.window(10).aggregate(by="page", n="count(*)"))
rows = pa.table({"t": pa.array([1, 2, 12], pa.int32()), "page": ["a", "a", "b"]})
print(flow.compute(tg.local(), {"clicks": rows})["n"].fetchall())
"""


def by_local(flow: tg.Flow, files: Mapping[str, str], threads: int) -> tuple[int, int]:
    """Compute a flow locally, look at every row, and count them; add up labels, if there are any."""
    found = flow.compute(tg.local(threads=threads), files)["out"]
    rows = labels = 0
    for batch in found.to_arrow_reader(1_000_000):
        rows += batch.num_rows
        labels += pc.sum(batch.column("label")).as_py() if "label" in found.columns else 0
    return rows, labels


def first_answer(repeats: int) -> list[float]:
    """How long a Python takes from its start to the first answer of a flow."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", FIRST], check=True, stdout=subprocess.DEVNULL)
        times.append(perf_counter() - start)
    return times


def shown(times: list[float]) -> str:
    """Seconds: median (least–most)."""
    return f"{median(times):.2f} ({min(times):.2f}–{max(times):.2f})"


@dataclass(slots=True)
class Times:
    """Seconds of runs, by the clock and of the processor."""

    used: Callable[[], float]
    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def add(self, work: Callable[[], object]) -> None:
        """Time some work."""
        start, used = perf_counter(), self.used()
        work()
        self.clock.append(perf_counter() - start)
        self.processor.append(self.used() - used)

    def shown(self) -> str:
        """Return both."""
        return f"{shown(self.clock)}; processor {median(self.processor):.2f}"


def on_both(
    spark: SparkSession, flow: tg.Flow, files: Mapping[str, str], repeats: int, threads: int
) -> tuple[int, Times, Times]:
    """Run a flow on both engines in turn; return how many rows it gives, and the times."""
    frames = {name: spark.read.parquet(path) for name, path in files.items()}
    count = flow.compute(spark, frames)["out"].count()
    assert by_local(flow, files, threads)[0] == count, "the engines differ"
    local, by_spark = Times(process_time), Times(lambda: processor_seconds(spark))
    for _ in range(repeats):
        local.add(lambda: by_local(flow, files, threads))
        by_spark.add(lambda: flow.compute(spark, frames)["out"].write.format("noop").mode("overwrite").save())
    return count, local, by_spark


def loop(files: Mapping[str, str], repeats: int, threads: int) -> tuple[int, Times]:
    """Find components on the local engine; return how many nodes there are, and the times."""
    found: set[tuple[int, int]] = set()
    times = Times(process_time)
    for _ in range(repeats):
        times.add(lambda: found.add(by_local(components(), files, threads)))
    assert found == {in_python(files["edges"])}, "the labels are wrong"
    return next(iter(found))[0], times


def in_python(path: str) -> tuple[int, int]:
    """Return how many nodes the edges in files have, and the sum of their labels, by union and find."""
    edges = duckdb.read_parquet(path).select("src", "dst").to_arrow_table().to_pydict()
    parents: dict[int, int] = {}

    def root(node: int) -> int:
        while (above := parents.setdefault(node, node)) != node:
            parents[node] = node = parents[above]
        return node

    for a, b in zip(edges["src"], edges["dst"], strict=True):
        low, high = sorted((root(a), root(b)))
        parents[high] = low
    return len(parents), sum(map(root, list(parents)))


def main(
    rows: Annotated[int, typer.Option(help="How many events.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="How many edges.")] = 1_000_000,
    length: Annotated[int, typer.Option(help="How long the chain is.")] = 1_000,
    repeats: Annotated[int, typer.Option(help="How often each side is run.")] = 5,
    cores: Annotated[int, typer.Option(help="Threads of each engine.")] = 2,
    only: Annotated[str, typer.Option(help="Only this one.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few runs.")] = False,
) -> None:
    """Time each flow on both engines, and loops."""
    if quick:
        rows, edges, length, repeats = 100_000, 1_000, 8, 2
    table = Table(title=f"{rows:,} rows, {repeats} runs each, {cores} threads; seconds: median (least–most)")
    for heading in ("flow", "rows out", "local", "Spark", "times as fast", "by processor"):
        table.add_column(heading, justify="left" if heading == "flow" else "right")
    first = shown(first_answer(repeats))
    console = Console(stderr=True)
    console.print(f"first answer of a new Python: {first}")
    options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(4 * cores)}
    spark = local_session("bench", master=f"local[{cores}]", **options)
    loops = {
        f"components, {edges:,} edges": random_edges(spark, edges, nodes=edges // 2, seed=1),
        f"components, a chain of {length:,}": spark.range(0, length, 1, 1).selectExpr(
            "CAST(0 AS INT) AS version", "id AS src", "id + 1 AS dst"
        ),
    }
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        for number, (name, frame) in enumerate(loops.items()):
            if only not in name:
                continue
            frame.write.parquet(f"{directory}/loop{number}")
            nodes, times = loop({"edges": f"{directory}/loop{number}/*.parquet"}, repeats, cores)
            table.add_row(name, f"{nodes:,}", times.shown(), "–", "–", "–")
            console.print(f"{name}: {times.shown()}")
        chosen = {name: flow for name, flow in FLOWS.items() if only in name}
        if chosen:
            generate(spark, rows, directory)
        for name, (build, inputs) in chosen.items():
            files = {given: f"{directory}/{given}/*.parquet" for given in inputs}
            count, local, by_spark = on_both(spark, build(), files, repeats, cores)
            ratio = f"{median(by_spark.clock) / median(local.clock):.1f}"
            used = f"{median(by_spark.processor) / median(local.processor):.1f}"
            table.add_row(name, f"{count:,}", local.shown(), by_spark.shown(), ratio, used)
            console.print(
                f"{name}: {local.shown()} against {by_spark.shown()}: {ratio} times as fast, {used} by processor"
            )
    spark.stop()
    Console().print(table)
    Console().print(f"first answer of a new Python: {first}")


if __name__ == "__main__":
    typer.run(main)
