"""`top` against an `accumulate` that lists all rows so far, sorts them and cuts the list, on the local engine.

    python bench/bench_top.py --steps 40 --rows 2000 --keys 200

On streams, rows come from an iterator, a time for each step; the two flows take turns, so that both have the same
machine. State of `top` is n rows a key; the other keeps every row, so that the ratio grows with the steps. On bounded
data, a time for each row and one key: `top` has the rows of a few blocks to choose from at each time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated

import duckdb
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

import tidegate as tg

DDL = "ts BIGINT, k BIGINT, x BIGINT"
LISTED = "slice(array_sort(collect_list(named_struct('x', -x, 'ts', ts))), 1, 3)"


def made(rows: int, keys: int, first: int, per_time: int) -> pa.Table:
    """Return rows with random keys and numbers, so many at each time, from a time on."""
    sql = f"SELECT {first} + i // {per_time} AS ts, hash(i, {first}) % {keys} AS k, hash(i, {first}, 1) % 1000000 AS x"
    found = duckdb.sql(
        f"SELECT ts::BIGINT AS ts, k::BIGINT AS k, x::BIGINT AS x FROM ({sql} FROM range({rows}) AS r(i))"
    )
    assert found is not None, "a query gives rows"
    return found.to_arrow_table()


def flow_of(kind: str) -> tg.Flow:
    """Return the flow: the three greatest of each key so far."""
    flow = tg.Flow(kind)
    source = flow.source("s", DDL, time="ts", watermark=tg.bounded(0))
    by_hand = source.accumulate(by="k", best=LISTED)
    flow.sink("out", source.top(3, by="k", order="x DESC") if kind == "top" else by_hand)
    return flow


def on_streams(kind: str, steps: int, rows: int, keys: int, threads: int) -> float:
    """Return the seconds that a run of so many steps takes."""
    at = Path(tempfile.mkdtemp(prefix="tidegate-bench-", dir=os.environ.get("TMPDIR")))

    def batches() -> Iterator[pa.Table]:
        yield from (made(rows, keys, step, rows) for step in range(steps))

    try:
        begun = time.perf_counter()
        outputs = {"out": tg.foreach(lambda rows, step: None)}  # noqa: ARG005
        run = flow_of(kind).start(tg.local(threads=threads), {"s": batches()}, outputs, at / "ck")
        run.await_termination()
        return time.perf_counter() - begun
    finally:
        shutil.rmtree(at)


def bounded(kind: str, rows: pa.Table, threads: int) -> float:
    """Return the seconds that all answers take on bounded data."""
    begun = time.perf_counter()
    flow_of(kind).compute(tg.local(threads=threads), {"s": rows})["out"].to_arrow_table()
    return time.perf_counter() - begun


def main(
    steps: Annotated[int, typer.Option(help="How many steps a stream has.")] = 40,
    rows: Annotated[int, typer.Option(help="How many rows a step has.")] = 2000,
    keys: Annotated[int, typer.Option(help="How many keys there are.")] = 200,
    times: Annotated[int, typer.Option(help="How many rows, each at a time of its own, are bounded.")] = 4000,
    repeat: Annotated[int, typer.Option(help="How often each is run.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of DuckDB.")] = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few steps, once.")] = False,
) -> None:
    """Time both, in turns, and say how many times as long the list takes."""
    if quick:
        steps, rows, keys, times, repeat = 4, 100, 10, 200, 1
    table = Table(title=f"seconds, the three greatest of each key; {threads} threads")
    for heading in ("case", "top", "accumulate and cut", "ratio"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    given = made(times, 1, 0, 1)
    cases: dict[str, Callable[[str], float]] = {
        f"{steps} steps of {rows:,} rows, {keys:,} keys": lambda kind: on_streams(kind, steps, rows, keys, threads),
        f"bounded, one key, {times:,} times": lambda kind: bounded(kind, given, threads),
    }
    for name, timed in cases.items():
        taken: dict[str, list[float]] = {"top": [], "list": []}
        for _ in range(repeat):
            for kind, found in taken.items():
                found.append(timed(kind))
        top, by_hand = median(taken["top"]), median(taken["list"])
        table.add_row(name, f"{top:.2f}", f"{by_hand:.2f}", f"{by_hand / top:.1f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
