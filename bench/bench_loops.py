"""Loops on graphs that change: components kept up to date, many versions at once, ranks, long chains.

    python bench/bench_loops.py --edges 1000000

Everything runs in one session. What is computed again is so by the same engine, and by hand in plain PySpark, twice:
least labels that spread, and large star / small star, which needs few rounds; the better one counts. Answers are
checked against each other before a figure is printed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean, median
from time import perf_counter
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everyone has it
from rich.console import Console
from rich.table import Table

import tidegate as tg
from tidegate.engine.loops.queries import LoopRows, Queries
from tidegate.engine.loops.rounds import Rounds
from tidegate.flow.plan import Iterate
from tidegate.spark.backend import SparkBackend
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.session import local_session
from tidegate.spark.streaming.start import start

EDGES = "version INT, src BIGINT, dst BIGINT"
console = Console(stderr=True)


def random_edges(spark: SparkSession, count: int, *, nodes: int, seed: int, version: str = "0") -> DataFrame:
    """Return random edges, the same for the same seed."""
    ends = [f"pmod(xxhash64(id, {seed}, {i}), {nodes}) AS {name}" for i, name in enumerate(("src", "dst"))]
    return spark.range(0, count, 1, 4).selectExpr(f"CAST({version} AS INT) AS version", *ends)


def components(*, watermark: bool = False) -> tg.Flow:
    """A flow of components; with a watermark, a version is complete when a later one comes."""
    flow = tg.Flow("components")
    edges = flow.source("edges", EDGES, time="version", watermark=tg.bounded(0) if watermark else tg.at_end())
    flow.sink("out", tg.graph.components(edges, "src", "dst"))
    return flow


def timed(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    begin = perf_counter()
    work()
    return perf_counter() - begin


# The same by hand, in plain PySpark.


def least_labels(edges: DataFrame) -> DataFrame:
    """Spread least labels over all edges until none changes; the plan is cut in every round."""
    both = edges.select("src", "dst").union(edges.select("dst", "src")).distinct().persist()
    known = both.groupBy(F.col("src").alias("node")).agg(F.least(F.min("dst"), F.first("src")).alias("label"))
    known = known.localCheckpoint()
    while True:
        best = both.join(known, F.col("dst") == F.col("node")).groupBy("src").agg(F.min("label").alias("best"))
        then = known.join(best, F.col("node") == F.col("src"), "left").select(
            "node", F.least("label", "best").alias("label"), (F.col("best") < F.col("label")).alias("changed")
        )
        then = then.localCheckpoint()
        changed = then.where("changed").limit(1).count()
        known = then.select("node", "label")
        if not changed:
            both.unpersist()
            return known


def stars(edges: DataFrame) -> DataFrame:
    """Large star and small star in turn (Kiveris et al.), until the edges are stars."""
    nodes = edges.select(F.col("src").alias("node")).union(edges.select("dst")).distinct()
    pairs = edges.where("src <> dst").selectExpr("greatest(src, dst) AS u", "least(src, dst) AS v").distinct()
    before = None
    while True:
        both = pairs.union(pairs.select("v", "u"))
        least = both.groupBy("u").agg(F.min("v").alias("m")).select("u", F.least("u", "m").alias("m"))
        large = both.join(least, "u").where("v > u").select(F.col("v").alias("u"), F.col("m").alias("v")).distinct()
        large = large.localCheckpoint()
        least = large.groupBy("u").agg(F.min("v").alias("m"))
        small = large.join(least, "u").where("v <> m").select(F.col("v").alias("u"), F.col("m").alias("v"))
        pairs = small.union(least.select("u", F.col("m").alias("v"))).distinct().localCheckpoint()
        now = pairs.agg(F.count("*"), F.sum(F.xxhash64("u", "v").cast("decimal(38,0)"))).first()
        if now == before:
            return nodes.join(pairs, F.col("node") == F.col("u"), "left").select(
                "node", F.coalesce("v", "node").alias("label")
            )
        before = now


def ranks_by_hand(edges: DataFrame, rounds: int, damping: float = 0.85) -> DataFrame:
    """The power iteration as one would write it: what does not change is cached, the plan is cut in every round."""
    nodes = edges.select(F.col("src").alias("node")).union(edges.select("dst")).distinct().persist()
    count = nodes.count()
    degrees = edges.groupBy("src").agg(F.count("*").alias("n"))
    links = edges.join(degrees, "src").select("src", "dst", (F.lit(damping) / F.col("n")).alias("share")).persist()
    ends = nodes.join(degrees, F.col("node") == F.col("src"), "left_anti").persist()
    known = nodes.select("node", F.lit(1 / count).alias("rank"))
    for _ in range(rounds):
        lost = known.join(ends, "node").agg(F.coalesce(F.sum("rank"), F.lit(0.0)).alias("lost"))
        given = known.join(links, F.col("node") == F.col("src")).select(
            F.col("dst").alias("node"), (F.col("rank") * F.col("share")).alias("rank")
        )
        rest = nodes.crossJoin(lost).select(
            "node", ((F.lit(1 - damping) + F.lit(damping) * F.col("lost")) / F.lit(count)).alias("rank")
        )
        known = given.union(rest).groupBy("node").agg(F.sum("rank").alias("rank")).localCheckpoint()
    for frame in (nodes, links, ends):
        frame.unpersist()
    return known


# What is measured.


@dataclass(slots=True)
class Pace:
    """When the rounds of a loop ended, and how many facts were fresh."""

    rounds: Rounds
    at: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, spark: SparkSession, edges: DataFrame) -> Pace:
        """Find the components of edges in memory, and look at the clock after each round."""
        (operator,) = (o for o in components().plan if isinstance(o, Iterate))
        backend = SparkBackend(spark_runtime(spark))
        kept = edges.select("version", "src", "dst").persist()
        kept.count()
        given = backend.relation(kept)
        with backend.in_rounds():
            rounds = Rounds(Queries(operator, backend, {"input": LoopRows(given, given)}))
            pace = cls(rounds)
            rounds.watch = lambda number, least: pace.at.append(perf_counter())  # noqa: ARG005
            pace.at.append(perf_counter())
            rounds.run()
            rounds.release()
        kept.unpersist()
        return pace

    @property
    def seconds(self) -> list[float]:
        """How long each round took, the first, which has no facts to begin with, included."""
        return [b - a for a, b in zip(self.at, self.at[1:], strict=False)]


def digest(frame: DataFrame) -> object:
    """Return what tells labellings apart."""
    return frame.agg(F.count("*"), F.sum(F.xxhash64("node", "label").cast("decimal(38,0)"))).first()


def kept_up_to_date(spark: SparkSession, edges: int, steps: int, added: int, table: Table) -> None:
    """Load edges, then add a few in each step; against computing again."""
    nodes = edges // 2
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        first = random_edges(spark, edges, nodes=nodes, seed=1)
        first.coalesce(1).write.parquet(f"{directory}/in/0")
        for step in range(1, steps + 1):
            new = random_edges(spark, added, nodes=nodes, seed=step + 1, version=str(step))
            new.coalesce(1).write.parquet(f"{directory}/in/{step}")
        # A node that is less than all others gets an edge to the giant component; then a row that completes it.
        for version, src in ((steps + 1, -1), (steps + 2, 0)):
            last = spark.createDataFrame([(version, src, 0)], EDGES)
            last.coalesce(1).write.parquet(f"{directory}/in/{version}")
        everything = spark.read.schema(EDGES).parquet(*(f"{directory}/in/{i}" for i in range(steps + 1))).persist()
        everything.count()
        flow = components()
        again: dict[str, Callable[[], DataFrame]] = {
            "same engine": lambda: _last(flow.compute(spark, {"edges": everything})["out"]),
            "by hand, least labels": lambda: least_labels(everything),
            "by hand, stars": lambda: stars(everything),
        }
        # The first run of the engine is for the compiler.
        digest(again["same engine"]())
        seconds, truth = {}, set()
        for name, work in again.items():
            began = perf_counter()
            truth.add(digest(work()))
            seconds[name] = perf_counter() - began
            console.print(f"compute again, {name}: {seconds[name]:.1f} s")
        assert len(truth) == 1, "the three ways to compute again differ"
        rounds: dict[int, int] = {}

        def probe(point: str, step: int) -> None:
            if point == "round":
                rounds[step] = rounds.get(step, 0) + 1

        # Rows of a version are complete when the next one comes: step n answers for version n - 1.
        rows = spark.readStream.schema(EDGES).option("maxFilesPerTrigger", 1).option("recursiveFileLookup", "true")
        run = start(
            components(watermark=True).plan,
            spark,
            {"edges": rows.parquet(f"{directory}/in")},
            {"out": tg.parquet(f"{directory}/out")},
            f"{directory}/ck",
            trigger={"availableNow": True},
            probe=probe,
        )
        run.await_termination()
        took = {int(m["step"]): float(m["seconds"]) for m in run.metrics()}
        load, worst = took[1], took[steps + 2]
        small = [took[step] for step in range(2, steps + 2)]
        out = tg.read(spark, f"{directory}/out").where(f"version <= {steps}")
        assert {digest(_last(out))} == truth, "steps differ from computing again"
        everything.unpersist()
    shown = f"{median(small):.2f} s ({min(small):.2f} to {max(small):.2f})"
    most = max(rounds.get(step, 0) for step in range(2, steps + 2))
    table.add_row(f"load {edges:,} edges in a step", f"{load:.1f} s", f"{rounds.get(1, 0)} rounds")
    table.add_row(f"a step of {added:,} new edges, {steps} steps", shown, f"at most {most} rounds")
    for name, took_again in seconds.items():
        ratio = f"a step is {median(small) / took_again:.3f} of it"
        table.add_row(f"compute again, {name}", f"{took_again:.1f} s", ratio)
    table.add_row("a step with one edge that relabels all", f"{worst:.1f} s", f"{rounds.get(steps + 2, 0)} rounds")


def _last(answers: DataFrame) -> DataFrame:
    """Return the labels of the last version, of all updates."""
    return answers.groupBy("node").agg(F.min("label").alias("label"))


def many_versions(spark: SparkSession, edges: int, counts: tuple[int, ...], table: Table) -> None:
    """The same edges in one version, and in many. Most rounds of many are small, so the dearest are told apart."""

    def rounds(versions: int) -> list[float]:
        given = random_edges(spark, edges, nodes=edges // 2, seed=7, version=f"pmod(xxhash64(id, 9), {versions})")
        return sorted(Pace.of(spark, given).seconds, reverse=True)

    # The first run is for the compiler.
    rounds(1)
    one: list[float] = []
    for versions in counts:
        each = rounds(versions)
        one = one or each
        console.print(f"{versions} versions: {sum(each):.1f} s")
        ratio = f"{fmean(each) / fmean(one):.2f} times the cost of a round"
        dear = f"{median(each[:5]):.2f} s the five dearest, {median(each[:5]) / median(one[:5]):.2f} times"
        table.add_row(
            f"{edges:,} edges in {versions} versions",
            f"{fmean(each):.3f} s a round",
            f"{len(each)} rounds, {ratio}; {dear}",
        )


def by_round(spark: SparkSession, edges: int, table: Table) -> None:
    """How long rounds take, and how much changes in them."""
    pace = Pace.of(spark, random_edges(spark, edges, nodes=edges // 2, seed=1))
    pairs = list(zip(pace.rounds.changed, pace.seconds, strict=True))
    for number, (changed, seconds) in enumerate(pairs):
        console.print(f"round {number}: {changed:,} facts fresh, {seconds:.2f} s")
    large = [seconds for changed, seconds in pairs if changed > edges // 20]
    few = [seconds for changed, seconds in pairs if changed <= 10_000]
    text = f"{len(pairs)} rounds; few facts fresh in {len(few)}: {median(few):.2f} s each" if few else ""
    table.add_row(f"rounds on {edges:,} edges, many facts fresh", f"{median(large):.2f} s each" if large else "", text)


def chain(spark: SparkSession, length: int, table: Table) -> None:
    """A chain is as many rounds as it is long."""
    edges = spark.range(0, length, 1, 1).selectExpr("0 AS version", "id AS src", "id + 1 AS dst")
    pace = Pace.of(spark, edges)
    each = sorted(pace.seconds)
    parts = [pace.seconds[: len(each) // 4], pace.seconds[-len(each) // 4 :]]
    text = f"median {median(each):.3f} s a round; first quarter {median(parts[0]):.3f}, last {median(parts[1]):.3f}"
    table.add_row(f"a chain of {length:,} nodes", f"{sum(each):.1f} s", text)


def ranks(spark: SparkSession, edges: int, rounds: int, repeats: int, table: Table) -> None:
    """Ranks against the same by hand, in turn."""
    given = random_edges(spark, edges, nodes=edges // 2, seed=3).persist()
    given.count()
    flow = tg.Flow("ranks")
    source = flow.source("edges", EDGES, time="version")
    flow.sink("out", tg.graph.pagerank(source, "src", "dst", rounds=rounds))

    def ours() -> float:
        found = flow.compute(spark, {"edges": given})["out"].agg(F.sum("rank"), F.max("rank")).first()
        assert found is not None
        assert abs(found[0] - 1) < 1e-6, "ranks sum to one"
        return float(found[1])

    def by_hand() -> float:
        found = ranks_by_hand(given, rounds).agg(F.sum("rank"), F.max("rank")).first()
        assert found is not None
        assert abs(found[0] - 1) < 1e-6, "ranks sum to one"
        return float(found[1])

    assert abs(ours() - by_hand()) < 1e-9, "ranks differ"
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats):
        for side in (0, 1) if repeat % 2 else (1, 0):
            times[side].append(timed((ours, by_hand)[side]))
    given.unpersist()
    a, b = (median(t) for t in times)
    table.add_row(
        f"ranks, {rounds} rounds, {edges:,} edges", f"{a:.1f} s", f"{a / b:.2f} times the same by hand ({b:.1f} s)"
    )


def main(
    edges: Annotated[int, typer.Option(help="How many edges.")] = 1_000_000,
    steps: Annotated[int, typer.Option(help="How many steps add edges.")] = 20,
    cores: Annotated[int, typer.Option(help="Cores that Spark may use.")] = 2,
    only: Annotated[str, typer.Option(help="Only this one: steps, versions, rounds, chain, ranks.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few edges, few steps.")] = False,
) -> None:
    """Time loops."""
    edges, steps = (400, 1) if quick else (edges, steps)
    options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(cores)}
    spark = local_session("bench", master=f"local[{cores}]", **options)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    table = Table(title=f"loops, local[{cores}]")
    for heading in ("what", "time", ""):
        table.add_column(heading)
    parts: dict[str, Callable[[], None]] = {
        "steps": lambda: kept_up_to_date(spark, edges, steps, min(1_000, edges // 20), table),
        "versions": lambda: many_versions(spark, edges // 20, (1, 2) if quick else (1, 10, 100), table),
        "rounds": lambda: by_round(spark, edges, table),
        "chain": lambda: chain(spark, 8 if quick else 1_000, table),
        "ranks": lambda: ranks(spark, edges, *((1, 1) if quick else (20, 3)), table),
    }
    for name, part in parts.items():
        if only in ("", name):
            console.print(f"{name}: {timed(part):.0f} s")
    spark.stop()
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
