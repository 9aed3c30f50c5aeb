"""The same bounded flows on the local engine and on Spark, on rows in Parquet, and how soon the first answer comes.

    python bench/bench_local.py --rows 10000000 --repeats 5

Both engines have as many threads, run in turn, and read the same files; a run computes everything and throws it away.
Before it is timed, each flow is checked to give as many rows on both. The ratio is that of the medians: how many times
the local engine is as fast; the goal is 5.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tidegate as tg
from bench_bounded import accumulate_flow, asof_flow, generate, join_flow, window_flow  # type: ignore[import-not-found]  # beside this file
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


def read_all(flow: tg.Flow, directory: str, names: tuple[str, ...], threads: int) -> int:
    """Compute a flow locally, look at every row, and count them."""
    inputs = {name: f"{directory}/{name}/*.parquet" for name in names}
    found = flow.compute(tg.local(threads=threads), inputs)["out"]
    return sum(batch.num_rows for batch in found.to_arrow_reader(1_000_000))


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


def main(
    rows: Annotated[int, typer.Option(help="How many events.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(help="How often each side is run.")] = 5,
    cores: Annotated[int, typer.Option(help="Threads of each engine.")] = 2,
    only: Annotated[str, typer.Option(help="Only this one.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few runs.")] = False,
) -> None:
    """Time each flow on both engines."""
    rows, repeats = (100_000, 2) if quick else (rows, repeats)
    table = Table(title=f"{rows:,} rows, {repeats} runs each, {cores} threads; seconds: median (least–most)")
    for heading in ("flow", "rows out", "local", "Spark", "times as fast"):
        table.add_column(heading, justify="left" if heading == "flow" else "right")
    first = shown(first_answer(repeats))
    Console(stderr=True).print(f"first answer of a new Python: {first}")
    options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(4 * cores)}
    spark = local_session("bench", master=f"local[{cores}]", **options)
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        generate(spark, rows, directory)
        for name, (build, inputs) in FLOWS.items():
            if only not in name:
                continue
            flow = build()
            frames = {given: spark.read.parquet(f"{directory}/{given}") for given in inputs}
            count = flow.compute(spark, frames)["out"].count()
            assert read_all(flow, directory, inputs, cores) == count, f"{name}: the engines differ"
            local: list[float] = []
            on_spark: list[float] = []
            for _ in range(repeats):
                start = perf_counter()
                read_all(flow, directory, inputs, cores)
                local.append(perf_counter() - start)
                start = perf_counter()
                flow.compute(spark, frames)["out"].write.format("noop").mode("overwrite").save()
                on_spark.append(perf_counter() - start)
            ratio = f"{median(on_spark) / median(local):.1f}"
            table.add_row(name, f"{count:,}", shown(local), shown(on_spark), ratio)
            Console(stderr=True).print(f"{name}: {shown(local)} against {shown(on_spark)}, {ratio} times as fast")
    spark.stop()
    Console().print(table)
    Console().print(f"first answer of a new Python: {first}")


if __name__ == "__main__":
    typer.run(main)
