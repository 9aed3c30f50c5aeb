"""How long a step of the local engine takes: from the arrival of rows to the moment at which the answer can be read.

    python bench/bench_local_steps.py --steps 1000 --groups 5000000

Rows come from an iterator in this process. A row has arrived when the iterator gives it away; its answer can be read
when the output has been given it, after the commit is on the disk. With the rows of a step comes one more, which
completes their time. Three cases: one row a step; a thousand rows a step on state of many groups; and a thousand more
edges on the connected components of many.
"""

from __future__ import annotations

import os
import queue
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import duckdb
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

import tidegate as tg

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("x", pa.int64())])
DDL = "ts BIGINT, k BIGINT, x BIGINT"


class Pump:
    """An iterator that gives a batch away when it is told to, and knows when."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[pa.Table | None] = queue.Queue()
        self.gave = 0.0

    def put(self, rows: int, k: str, x: str, step: int) -> None:
        """Give rows away that differ in ``i``, at a time of their own, and one that completes it."""
        made = f"SELECT {2 * step} AS ts, {k} AS k, {x} AS x FROM range({rows}) AS r(i)"
        last = f"SELECT {2 * step + 1}, {-1 - step}, {-1 - step}"
        picked = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in SCHEMA.names)
        found = duckdb.sql(f"SELECT {picked} FROM ({made} UNION ALL {last})")
        assert found is not None, "a query gives rows"
        self._waiting.put(found.to_arrow_table())

    def end(self) -> None:
        self._waiting.put(None)

    def __iter__(self) -> Iterator[pa.Table]:
        while (batch := self._waiting.get()) is not None:
            self.gave = time.perf_counter()
            yield batch


def timed(
    flow: tg.Flow, directory: Path, threads: int, feed: Callable[[Pump, int], None], steps: int, *, first: bool
) -> list[float]:
    """Run steps one after the other, each when the one before is answered; return the seconds of each.

    With ``first``, the first one only makes the state. Each batch has to give an answer.
    """
    pump, answered = Pump(), queue.Queue[float]()
    outputs = {"out": tg.foreach(lambda rows, step: answered.put(time.perf_counter()))}  # noqa: ARG005
    run = flow.start(tg.local(threads=threads), {"s": iter(pump)}, outputs, directory / "ck")
    found = []
    try:
        for step in range(steps + first):
            feed(pump, step)
            while True:
                try:
                    found.append(answered.get(timeout=1) - pump.gave)
                    break
                except queue.Empty:
                    run.await_termination(0)
    finally:
        run.stop()
        pump.end()
    return found[first:]


def one_row(directory: Path, threads: int, steps: int) -> list[float]:
    """Count so far, by key, one row a step."""
    flow = tg.Flow("one_row")
    flow.sink("out", flow.source("s", DDL, time="ts", watermark=tg.bounded(0)).accumulate(by="k", n="count(*)"))
    return timed(flow, directory, threads, lambda pump, step: pump.put(1, f"{step % 10}", "1", step), steps, first=True)


def large_state(directory: Path, threads: int, steps: int, groups: int) -> list[float]:
    """Count and sum so far, by key, a thousand rows a step on state of many groups."""
    flow = tg.Flow("large_state")
    source = flow.source("s", DDL, time="ts", watermark=tg.bounded(0))
    flow.sink("out", source.accumulate(by="k", n="count(*)", total="sum(x)"))

    def feed(pump: Pump, step: int) -> None:
        pump.put(1000 if step else groups, f"hash(i, {step}) % {groups}" if step else "i", "1", step)

    return timed(flow, directory, threads, feed, steps, first=True)


def more_edges(directory: Path, threads: int, steps: int, edges: int) -> list[float]:
    """Components of a random graph, a thousand more edges a step."""
    flow = tg.Flow("edges")
    source = flow.source("s", DDL, time="ts", watermark=tg.bounded(0))
    flow.sink("out", tg.graph.components(source.select("k AS src", "x AS dst"), "src", "dst"))
    nodes = edges // 2

    def feed(pump: Pump, step: int) -> None:
        one, other = (f"hash(i, {step}, {end}) % {nodes}" for end in (0, 1))
        pump.put(1000 if step else edges, one, other, step)

    return timed(flow, directory, threads, feed, steps, first=True)


def main(
    steps: Annotated[int, typer.Option(help="How many steps with one row.")] = 1000,
    groups: Annotated[int, typer.Option(help="How many groups the large state has.")] = 5_000_000,
    edges: Annotated[int, typer.Option(help="How many edges the graph has.")] = 1_000_000,
    some: Annotated[int, typer.Option(help="How many steps on the large state and on the graph.")] = 20,
    threads: Annotated[int, typer.Option(help="Threads of DuckDB.")] = 2,
    only: Annotated[str, typer.Option(help="Only these, with commas between.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few steps.")] = False,
) -> None:
    """Time steps, and say what state and memory they had."""
    if quick:
        steps, groups, edges, some = 20, 1000, 1000, 3
    cases: dict[str, Callable[[Path], list[float]]] = {
        "one row": lambda at: one_row(at, threads, steps),
        f"1,000 rows on {groups:,} groups": lambda at: large_state(at, threads, some, groups),
        f"1,000 more edges on {edges:,}": lambda at: more_edges(at, threads, some, edges),
    }
    table = Table(title=f"milliseconds from arrival to answer, {threads} threads")
    for heading in ("case", "steps", "median", "95 %", "99 %", "most", "memory of the process"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for name, run in cases.items():
        if only and not any(part.strip() in name for part in only.split(",")):
            continue
        at = Path(tempfile.mkdtemp(prefix="tidegate-bench-", dir=os.environ.get("TMPDIR")))
        try:
            taken = [1000 * seconds for seconds in run(at)]
        finally:
            shutil.rmtree(at)
        cuts = quantiles(taken, n=100, method="inclusive")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures = [median(taken), cuts[94], cuts[98], max(taken)]
        table.add_row(name, str(len(taken)), *(f"{figure:.1f}" for figure in figures), f"{most:,.0f} MB")
        Console(stderr=True).print(f"{name}: median {figures[0]:.1f} ms", highlight=False)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
