"""Bounded flows on Spark against the same written by hand in PySpark, on rows in Parquet.

    python bench/bench_bounded.py --rows 10000000 --repeats 5

Both sides run in one session, in turn, so that whatever else the machine does hits both; a run computes everything and
throws it away (Spark's ``noop`` sink). Before it is timed, each pair is checked to give the same rows. The ratio is
that of the medians; the goal is at most 1.15. On a machine that others use too, processor time says more than the
clock: where the system tells it, its ratio stands beside.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import typer
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # as everyone has it
from rich.console import Console
from rich.table import Table

import tidegate as tg
from tidegate.spark.session import local_session

SCHEMA = "ts TIMESTAMP, k BIGINT, x INT"
Pair = tuple[Callable[[], DataFrame], Callable[[], DataFrame]]


def generate(spark: SparkSession, rows: int, directory: str) -> None:
    """Write events (``rows`` of them, over a day), payments of half of them, and prices (a tenth as many)."""
    day = "timestamp_micros(1767225600000000 + pmod(xxhash64(id, 1), 86400000) * 1000)"
    columns = [f"{day} AS ts", "pmod(xxhash64(id, 2), 10000) AS k", "CAST(pmod(xxhash64(id, 3), 1000) AS INT) AS x"]
    events = spark.range(0, rows, 1, 8).selectExpr("id", *columns)
    events.drop("id").write.parquet(f"{directory}/events")
    events.where("id % 2 = 0").select("ts", "k", F.col("x").alias("paid")).write.parquet(f"{directory}/payments")
    # Without ties: by hand, nobody would break them.
    prices = spark.range(rows, rows + rows // 10, 1, 8).selectExpr("id", *columns).dropDuplicates(["ts", "k"])
    prices.select("ts", "k", F.col("x").alias("price")).write.parquet(f"{directory}/prices")


def window_flow() -> tg.Flow:
    """Count and sum per hour and key."""
    flow = tg.Flow("window")
    flow.sink(
        "out", flow.source("events", SCHEMA, time="ts").window("1 hour").aggregate(by="k", n="count(*)", s="sum(x)")
    )
    return flow


def join_flow() -> tg.Flow:
    """Join two streams at equal times on a key."""
    flow = tg.Flow("join")
    left = flow.source("events", SCHEMA, time="ts")
    flow.sink("out", left.join(flow.source("payments", "ts TIMESTAMP, k BIGINT, paid INT", time="ts"), on="k"))
    return flow


def asof_flow() -> tg.Flow:
    """Give each event the latest price of its key."""
    flow = tg.Flow("asof")
    left = flow.source("events", SCHEMA, time="ts")
    flow.sink("out", left.join_asof(flow.source("prices", "ts TIMESTAMP, k BIGINT, price INT", time="ts"), on="k"))
    return flow


def accumulate_flow() -> tg.Flow:
    """Count and sum so far, per key, at each of its times."""
    flow = tg.Flow("accumulate")
    flow.sink("out", flow.source("events", SCHEMA, time="ts").accumulate(by="k", n="count(*)", s="sum(x)"))
    return flow


def window_aggregate(spark: SparkSession, events: DataFrame) -> Pair:
    """Count and sum per hour and key."""
    flow = window_flow()

    def by_hand() -> DataFrame:
        hourly = events.groupBy(F.window("ts", "1 hour"), "k").agg(F.count("*").alias("n"), F.sum("x").alias("s"))
        end = F.expr("window.end - INTERVAL 1 MICROSECOND").alias("ts")
        return hourly.select(end, "window", "k", "n", "s")

    return lambda: flow.compute(spark, {"events": events})["out"], by_hand


def join(spark: SparkSession, events: DataFrame, payments: DataFrame) -> Pair:
    """Join two streams at equal times on a key."""
    flow = join_flow()

    def by_hand() -> DataFrame:
        return events.join(payments, ["ts", "k"])

    return lambda: flow.compute(spark, {"events": events, "payments": payments})["out"], by_hand


def join_asof(spark: SparkSession, events: DataFrame, prices: DataFrame) -> Pair:
    """Give each event the latest price of its key."""
    flow = asof_flow()

    def by_hand() -> DataFrame:
        both = events.withColumn("side", F.lit(1)).unionByName(
            prices.withColumn("side", F.lit(0)), allowMissingColumns=True
        )
        upto = Window.partitionBy("k").orderBy("ts", "side").rowsBetween(Window.unboundedPreceding, 0)
        latest = both.withColumn("price", F.last("price", ignorenulls=True).over(upto))
        return latest.where("side = 1 AND price IS NOT NULL").select("ts", "k", "x", "price")

    return lambda: flow.compute(spark, {"events": events, "prices": prices})["out"], by_hand


def accumulate(spark: SparkSession, events: DataFrame) -> Pair:
    """Count and sum so far, per key, at each of its times."""
    flow = accumulate_flow()

    def by_hand() -> DataFrame:
        per_time = events.groupBy("ts", "k").agg(F.count("*").alias("n"), F.sum("x").alias("s"))
        upto = Window.partitionBy("k").orderBy("ts").rowsBetween(Window.unboundedPreceding, 0)
        return per_time.select("ts", "k", F.sum("n").over(upto).alias("n"), F.sum("s").over(upto).alias("s"))

    return lambda: flow.compute(spark, {"events": events})["out"], by_hand


def same_rows(pair: Pair) -> int:
    """Raise unless both sides give the same rows; answer how many."""
    seen = []
    for side in pair:
        rows = side()
        digest = rows.select(F.xxhash64(*rows.columns).alias("h")).agg(
            F.count("*"), F.sum(F.col("h").cast("decimal(38,0)"))
        )
        seen.append(tuple(digest.collect()[0]))
    assert seen[0] == seen[1], f"the two sides differ: {seen}"
    return int(seen[0][0])


def processor_seconds(spark: SparkSession) -> float:
    """Return how much processor time Spark's JVM has used; 0 where that cannot be told."""
    gateway: Any = spark.sparkContext._gateway
    try:
        fields = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(spark: SparkSession, side: Callable[[], DataFrame]) -> tuple[float, float]:
    """Run everything, plan included, and throw the rows away; answer seconds by the clock, and of the processor."""
    start, used = perf_counter(), processor_seconds(spark)
    side().write.format("noop").mode("overwrite").save()
    return perf_counter() - start, processor_seconds(spark) - used


def main(
    rows: Annotated[int, typer.Option(help="How many events.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(help="How often each side is run.")] = 5,
    cores: Annotated[int, typer.Option(help="Cores that Spark may use.")] = 2,
    only: Annotated[str, typer.Option(help="Only this one.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few runs.")] = False,
) -> None:
    """Time each operator against the same by hand."""
    rows, repeats = (100_000, 3) if quick else (rows, repeats)
    options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(4 * cores)}
    spark = local_session("bench", master=f"local[{cores}]", **options)
    table = Table(title=f"{rows:,} rows, {repeats} runs each, local[{cores}]; seconds: median (least–most)")
    for heading in ("operator", "rows out", "Tidegate", "by hand", "ratio", "processor"):
        table.add_column(heading, justify="left" if heading == "operator" else "right")
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        generate(spark, rows, directory)
        events, payments, prices = (spark.read.parquet(f"{directory}/{n}") for n in ("events", "payments", "prices"))
        pairs = {
            "window().aggregate": window_aggregate(spark, events),
            "join": join(spark, events, payments),
            "join_asof": join_asof(spark, events, prices),
            "accumulate": accumulate(spark, events),
        }
        for name, pair in pairs.items():
            if only not in name:
                continue
            count = same_rows(pair)
            times: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
            for repeat in range(repeats):
                # Whoever is second profits from a warm cache of files: take turns.
                for side in (0, 1) if repeat % 2 else (1, 0):
                    times[side].append(timed(spark, pair[side]))
            clock, used = ([[run[i] for run in side] for side in times] for i in (0, 1))
            shown = [f"{median(t):.2f} ({min(t):.2f}–{max(t):.2f})" for t in clock]
            ratios = [f"{median(a) / median(b):.2f}" if median(b) else "" for a, b in (clock, used)]
            table.add_row(name, f"{count:,}", *shown, *ratios)
            # A run takes minutes: say what is known so far.
            Console(stderr=True).print(f"{name}: {shown[0]} against {shown[1]}, {' and '.join(ratios)} times")
    spark.stop()
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
