"""Building and explaining a flow of 50 operators, without a JVM.

    python bench/bench_flow_build.py

The flow is built anew each time, with other names and numbers in its expressions, so that no parsed text is found in a
cache. Import, and the first flow of a process, are timed in processes of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from rich.console import Console
from rich.table import Table

import tidegate as tg

REPEATS = 15
OPERATORS = 50


def build(salt: int) -> tg.Flow:
    """Build a flow of 50 operators of all kinds."""
    flow = tg.Flow("bench")
    columns = f"ts TIMESTAMP, page STRING, editor STRING, bytes_{salt} INT"
    edits = flow.source("edits", columns, time="ts", watermark=tg.bounded("10 minutes"))
    pages = flow.table("pages", "page STRING, topic STRING")
    for i in range((OPERATORS - 2) // 6):
        big = edits.where(f"bytes_{salt} > {100 + i} AND page LIKE 'A%'")
        sized = big.select("page", "editor", f"bytes_{salt} / {1024 + i + salt} AS kib")
        topics = sized.join(pages, on="page")
        hourly = topics.window("1 hour", every="10 minutes")
        flow.sink(f"hourly{i}", hourly.aggregate(by="topic", n="count(*)", mean=f"sum(kib) / count(*) + {salt}"))
        flow.sink(f"so_far{i}", topics.accumulate(by="editor", n="count(*)", most=f"max(kib) - {salt}"))
        flow.sink(f"sessions{i}", topics.session("30 minutes").aggregate(by="editor", n="count(*)"))
    return flow


def main() -> None:
    building: list[float] = []
    explaining: list[float] = []
    drawing: list[float] = []
    build(REPEATS)
    for salt in range(REPEATS):
        start = perf_counter()
        flow = build(salt)
        built = perf_counter()
        explanation = flow.explain()
        str(explanation)
        explained = perf_counter()
        explanation.svg()
        drawn = perf_counter()
        building.append(built - start)
        explaining.append(explained - built)
        drawing.append(drawn - explained)
    assert len(build(0).plan.operators) == OPERATORS
    assert "pyspark" not in sys.modules
    importing: list[float] = []
    first: list[float] = []
    program = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}; from time import perf_counter as now;"
        "begin = now(); import tidegate; tidegate.Flow; imported = now();"
        "from bench_flow_build import build; ready = now(); str(build(0).explain());"
        "print(imported - begin, now() - ready)"
    )
    for _ in range(5):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
        for times, value in zip((importing, first), map(float, run.stdout.split()), strict=True):
            times.append(value)
    table = Table("a flow of 50 operators", "median", "least", "greatest", title=f"{REPEATS} runs")
    both = [a + b for a, b in zip(building, explaining, strict=True)]
    rows = {
        "build": building,
        "explain": explaining,
        "build and explain": both,
        "build and explain, first in a process": first,
        "draw": drawing,
        "import": importing,
    }
    for name, times in rows.items():
        table.add_row(name, *(f"{1000 * value:.1f} ms" for value in (median(times), min(times), max(times))))
    Console().print(table)


if __name__ == "__main__":
    main()
