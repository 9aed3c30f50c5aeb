"""Maps of the paper on Aggregates on bounded Spark: dedicated, composed with A+, and composed and then optimised.

    python bench/bench_aggregates.py --rows 100000 --repeats 5

The forms run in one session, in turn; a run computes everything and throws it away (Spark's ``noop`` sink). The
percentages are throughputs, with dedicated as 100 %, of the medians. Bounded runs have no watermarks on the way:
latency is not measured, and neither is the loop of A, which bounded Spark does not run as rounds.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated

import typer
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from tidegate.queries import QUERIES, draw_texts
from tidegate.queries.texts import SCHEMA
from tidegate.spark.session import local_session

#: Maps of low and of high cost.
NAMES = ("LLM", "HLM", "AHM")


def timed(table: DataFrame) -> float:
    """Answer the seconds that it takes to compute a table."""
    start = perf_counter()
    table.write.format("noop").mode("overwrite").save()
    return perf_counter() - start


def main(
    rows: Annotated[int, typer.Option(help="How many texts.")] = 50_000,
    repeats: Annotated[int, typer.Option(help="How often each form is run.")] = 5,
    cores: Annotated[int, typer.Option(help="Cores that Spark may use.")] = 2,
    quick: Annotated[bool, typer.Option(help="Few rows, few runs.")] = False,
) -> None:
    """Time each form of some queries."""
    rows, repeats = (2_000, 3) if quick else (rows, repeats)
    spark = local_session("bench", master=f"local[{cores}]", spark__sql__shuffle__partitions=str(2 * cores))
    table = Table(title=f"{rows:,} texts, {repeats} runs each, local[{cores}]; seconds: median (least–most)")
    for heading in ("query", "dedicated", "A+", "A+ optimised"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    with TemporaryDirectory(prefix="tidegate-bench-") as directory:
        path = str(Path(directory) / "texts")
        spark.createDataFrame(list(islice(draw_texts(Random(1)), rows)), SCHEMA).repartition(2 * cores).write.parquet(
            path
        )
        texts = spark.read.parquet(path)
        for name in NAMES:
            flow = QUERIES[name]()
            composed = flow.to_aggregates(using="A+")
            forms = [form.compute(spark, {"texts": texts})["out"] for form in (flow, composed, composed.optimize())]
            assert len({form.count() for form in forms}) == 1, "the forms differ"
            times: list[list[float]] = [[] for _ in forms]
            for repeat in range(repeats):
                # Whoever comes first pays for cold caches: take turns.
                for i in range(len(forms)):
                    form = (i + repeat) % len(forms)
                    times[form].append(timed(forms[form]))
            base = median(times[0])
            table.add_row(
                name, *(f"{median(t):.2f} ({min(t):.2f}–{max(t):.2f}), {100 * base / median(t):.0f} %" for t in times)
            )
    spark.stop()
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
