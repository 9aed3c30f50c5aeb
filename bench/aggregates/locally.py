"""What the 24 queries of the paper on Aggregates cost on the local engine: processor time for each row or comparison.

    python -m bench.aggregates.locally --only LLM,llj

Rows are in files, one for every 50 ms at a rate, and a step takes those of half a second, as on streams that come as
fast as they are answered. What counts is the time of the processor, of all threads: other programs disturb it less than
the clock. Joins have tumbling windows, whole ones, and answer early. Several runs, of which the first does not count.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tidegate as tg
from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.pace import Pace, rows_of, write_file
from bench.aggregates.queries import QUERIES

#: How many rows come in a second, and for how many seconds, by what a query reads and whether it joins.
RATES = {("texts", False): (40_000.0, 2.0), ("scans", False): (4_000.0, 1.0)}
RATES |= {("texts", True): (40_000.0, 6.0), ("scans", True): (400.0, 4.0)}
#: How many files a step takes: those of half a second.
PER_STEP = 10


def given(asked: Asked, pools: Pools, place: Path, rate: float, seconds: float) -> int:
    """Write the files of a query, and one row that completes the last window; return how many rows there are."""
    pool, pace = pools.table(asked.source), Pace(rate, seconds + 1 / rate)
    for part in pace.parts():
        path = place / part.name
        write_file(rows_of(pool, part.first, part.rows, rate), path)
        os.utime(path, (part.number, part.number))
    return pace.rows


def processor_time(asked: Asked, files: Path, directory: Path, threads: int) -> tuple[float, float, int]:
    """Run a query on files; return its seconds of the processor, those of the clock, and how many rows it gives."""
    session = tg.local(threads=threads)
    began, clock = time.process_time(), time.perf_counter()
    run = asked.flow().start(
        session,
        {asked.source: tg.files(f"{files}/*.parquet", per_step=PER_STEP)},
        {"out": tg.parquet(str(directory / "out"))},
        str(directory / "checkpoint"),
        trigger={"availableNow": True},
    )
    run.await_termination()
    taken = time.process_time() - began, time.perf_counter() - clock
    return *taken, len(tg.read(tg.local(), str(directory / "out")))


def main(
    only: Annotated[str, typer.Option(help="Only these, with commas between.")] = "",
    runs: Annotated[int, typer.Option(help="How many runs count.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of DuckDB.")] = 2,
    times: Annotated[float, typer.Option(help="So many times the rate.")] = 1.0,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, one run.")] = False,
) -> None:
    """Measure, query by query."""
    names = [name.strip() for name in only.split(",") if name.strip()] or list(QUERIES)
    table = Table(title=f"microseconds of the processor, {threads} threads")
    for heading in ("query", "rows a second", "rows", "answers", "a row", "spread", "a comparison", "by the clock"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    at = Path(tempfile.mkdtemp(prefix="tidegate-bench-", dir=os.environ.get("TMPDIR")))
    try:
        pools = Pools(at)
        for name in names:
            asked = Asked(name, tumbling=True)
            rate, seconds = RATES[asked.source, asked.joins]
            rate, seconds = rate * times / (20 if quick else 1), 1.0 if quick and not asked.joins else seconds
            files = at / f"{asked.source}-{asked.joins}"
            if not files.exists():
                files.mkdir()
                given(asked, pools, files, rate, seconds)
            rows = round(rate * seconds) + 1
            found = []
            for number in range(1 if quick else runs + 1):
                place = at / f"{name}-{number}"
                found.append(processor_time(asked, files, place, threads))
                shutil.rmtree(place)
            counted = found[-runs:]
            a_row = [1e6 * processor / rows for processor, _, _ in counted]
            compared = pools.comparisons(asked, rate) * seconds
            table.add_row(
                name,
                f"{rate:,.0f}",
                f"{rows:,}",
                f"{counted[0][2]:,}",
                f"{median(a_row):,.2f}",
                f"{min(a_row):,.2f} to {max(a_row):,.2f}",
                f"{median(a_row) * rows / compared:.3g}" if compared else "",
                f"{median(1e6 * clock / rows for _, clock, _ in counted):,.2f}",
            )
            Console(stderr=True).print(f"{name}: {median(a_row):,.2f} µs a row", highlight=False)
    finally:
        shutil.rmtree(at)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
