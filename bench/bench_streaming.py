"""Flows on streams against Structured Streaming written by hand, for the same answers.

    python bench/bench_streaming.py --rows 10000000 --steps 10 --repeats 3

Sources are Parquet files, as many to a step as there are cores, and both sides write Parquet. They run in turn in one
session; each run is a query of its own from an empty checkpoint, and the first of each side only warms up. A run takes
what Spark says that its batches took. A row far in the future follows the last step, so that all is complete: then both
sides must have given the same rows. On a machine that others use too, processor time says more than the clock.

Tidegate runs on Spark and, over the same files, in this process without it. By hand, state is in memory and in RocksDB.
`process` is compared with `transformWithStateInPandas`, which needs
``pip install "pandas<3" protobuf``; where they are missing, that side is left out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everyone has it
from rich.console import Console
from rich.table import Table

import tidegate as tg
from tidegate.spark.session import local_session

if TYPE_CHECKING:
    from tidegate.spark.streaming.run import SparkRun

SCHEMA = "ts TIMESTAMP, k BIGINT, x INT"
#: The state stores that Structured Streaming has.
STORES = {
    "in memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
_STORE = "spark.sql.streaming.stateStore.providerClass"
_EPOCH = 1767225600_000000
_DAY = 86400_000000

#: Runs a query on the inputs, writes below a directory, and answers the seconds of each step.
Side = Callable[[Path], list[float]]


@dataclass
class Bench:
    """A session, where the inputs are, and how much there is of them."""

    spark: SparkSession
    directory: Path
    rows: int
    steps: int
    keys: int
    cores: int
    made: set[str] = field(default_factory=set)

    def feed(self, name: str, steps: list[DataFrame]) -> str:
        """Write what comes in each step as files that are read in this order, and a last one that completes all."""
        place = self.directory / name
        if name not in self.made:
            place.mkdir()
            last = steps[0].limit(1).selectExpr("TIMESTAMP '2036-01-01' AS ts", "-1L AS k", *steps[0].columns[2:])
            for number, frame in enumerate([*steps, last]):
                aside = str(self.directory / "aside")
                frame.coalesce(self.cores).write.parquet(aside)
                found = sorted(Path(aside).glob("*.parquet"))
                # A step takes a fixed number of files: where there are fewer, the last is empty.
                assert len(found) <= self.cores
                for i in range(self.cores):
                    target = place / f"{number:05}-{i}.parquet"
                    if i < len(found):
                        found[i].rename(target)
                    else:
                        frame.limit(0).coalesce(1).write.mode("overwrite").parquet(aside)
                        next(Path(aside).glob("*.parquet")).rename(target)
                    os.utime(target, (1_000_000 + number, 1_000_000 + number))
                shutil.rmtree(aside)
            self.made.add(name)
        return str(place)

    def stream(self, path: str, schema: str = SCHEMA) -> DataFrame:
        """Read files, those of a step at a time."""
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", self.cores).parquet(path)

    def events(self, name: str, salt: int, rows: int = 0, steps: int = 0) -> str:
        """Rows of a day, a part of it in each step; up to five minutes late."""
        steps = steps or self.steps
        each, span = max(1, (rows or self.rows) // steps), _DAY // steps
        frames = []
        for step in range(steps):
            at = f"{_EPOCH + step * span}L - 300000000L + pmod(xxhash64(id, {salt}), {span + 300000000}L)"
            frames.append(
                self.spark.range(step * each, (step + 1) * each, 1, self.cores).selectExpr(
                    f"timestamp_micros({at}) AS ts",
                    f"pmod(xxhash64(id, {salt + 1}), {self.keys}L) AS k",
                    f"CAST(pmod(xxhash64(id, {salt + 2}), 1000) AS INT) AS x",
                )
            )
        return self.feed(name, frames)

    def by_tidegate(self, flow: tg.Flow, inputs: dict[str, DataFrame], at: Path) -> list[float]:
        """Run a flow over all there is."""
        trigger = {"availableNow": True}
        run = flow.start(self.spark, inputs, {"out": tg.parquet(str(at / "out"))}, str(at / "ck"), trigger=trigger)
        run.await_termination()
        return durations(cast("SparkRun", run).query)

    def sides(self, flow: tg.Flow, **paths: str) -> dict[str, Side]:
        """Run a flow over files on both engines."""

        def on_spark(at: Path) -> list[float]:
            return self.by_tidegate(flow, {name: self.stream(path) for name, path in paths.items()}, at)

        def locally(at: Path) -> list[float]:
            streams = {name: tg.files(path, per_step=self.cores) for name, path in paths.items()}
            session, outputs = tg.local(threads=self.cores), {"out": tg.parquet(at / "out")}
            run = flow.start(session, streams, outputs, at / "ck", trigger={"availableNow": True})
            run.await_termination()
            # The last step only completes what came before.
            return [step["seconds"] for step in run.metrics()][:-1]

        return {"Tidegate": on_spark, "Tidegate, local": locally}

    def by_hand(self, rows: DataFrame, at: Path, store: str, mode: str = "append") -> list[float]:
        """Run a query over all there is."""
        self.spark.conf.set(_STORE, STORES[store])
        writer = rows.writeStream.option("checkpointLocation", str(at / "ck")).outputMode(mode)
        if mode == "append":
            writer = writer.format("parquet").option("path", str(at / "out"))
        else:
            writer = writer.foreachBatch(lambda batch, n: batch.write.parquet(str(at / "out" / f"step={n}")))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return durations(query)


def durations(query: Any) -> list[float]:
    """Return the seconds of each batch with rows, the last left out: it only completes what came before."""
    taken = {
        p["batchId"]: p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]
    }
    return [taken[number] for number in sorted(taken)][:-1]


def window_counts(bench: Bench, every: str) -> dict[str, Side]:
    """Count and sum per hour and key."""
    path = bench.events("events", 1)
    flow = tg.Flow("windows")
    source = flow.source("s", SCHEMA, time="ts", watermark=tg.bounded("10 minutes"))
    flow.sink("out", source.window("1 hour", every=every).aggregate(by="k", n="count(*)", s="sum(x)"))

    def by_hand(store: str) -> Side:
        def run(at: Path) -> list[float]:
            rows = bench.stream(path).withWatermark("ts", "10 minutes")
            hourly = rows.groupBy(F.window("ts", "1 hour", every), "k").agg(
                F.count("*").alias("n"), F.sum("x").alias("s")
            )
            end = F.expr("window.end - INTERVAL 1 MICROSECOND").alias("ts")
            return bench.by_hand(hourly.select(end, "window", "k", "n", "s"), at, store)

        return run

    return bench.sides(flow, s=path) | {store: by_hand(store) for store in STORES}


def joined(bench: Bench) -> dict[str, Side]:
    """Pair the rows of two streams that have the same key in the same minute."""
    left = bench.events("left", 1, bench.rows // 2)
    right = bench.events("right", 11, bench.rows // 2)
    flow = tg.Flow("join")
    one = flow.source("l", SCHEMA, time="ts", watermark=tg.bounded("10 minutes"))
    two = flow.source("r", SCHEMA, time="ts", watermark=tg.bounded("10 minutes")).select("k", "x AS y")
    flow.sink("out", one.window_join(two, on="k", size="1 minute"))

    def by_hand(store: str) -> Side:
        def run(at: Path) -> list[float]:
            minute = F.window("ts", "1 minute").alias("w")
            one = bench.stream(left).withWatermark("ts", "10 minutes").select(minute, "k", "x")
            two = bench.stream(right).withWatermark("ts", "10 minutes").select(minute, "k", F.col("x").alias("y"))
            pairs = one.join(two, ["w", "k"])
            end = F.expr("w.end - INTERVAL 1 MICROSECOND").alias("ts")
            return bench.by_hand(pairs.select(end, "k", "x", "y"), at, store)

        return run

    return bench.sides(flow, l=left, r=right) | {store: by_hand(store) for store in STORES}


def joined_apart(bench: Bench) -> dict[str, Side]:
    """Pair the rows of two streams that have the same key, the second up to five minutes after the first."""
    left = bench.events("left", 1, bench.rows // 2)
    right = bench.events("right", 11, bench.rows // 2)
    flow = tg.Flow("apart")
    one = flow.source("l", SCHEMA, time="ts", watermark=tg.bounded("10 minutes"))
    two = flow.source("r", SCHEMA, time="ts", watermark=tg.bounded("10 minutes")).select("k", "x AS y")
    flow.sink("out", one.interval_join(two, on="k", lower=0, upper="5 minutes"))

    def by_hand(store: str) -> Side:
        def run(at: Path) -> list[float]:
            one = bench.stream(left).withWatermark("ts", "10 minutes")
            two = bench.stream(right).withWatermark("ts", "10 minutes").selectExpr("ts AS t", "k AS j", "x AS y")
            near = F.expr("k = j AND t >= ts AND t <= ts + INTERVAL 5 MINUTES")
            return bench.by_hand(one.join(two, near).selectExpr("greatest(ts, t) AS ts", "k", "x", "y"), at, store)

        return run

    return bench.sides(flow, l=left, r=right) | {store: by_hand(store) for store in STORES}


@dataclass(frozen=True)
class Total:
    """The sum so far, event by event."""

    total: int = 0

    def apply(self, event: Any) -> tuple[Total, list[Any]]:
        if isinstance(event, tg.WM):
            return self, []
        total = self.total + event.d["x"]
        return Total(total), [tg.DT(event.t, {"x": event.d["x"], "total": total})]

    def exit(self) -> list[Any]:
        return []

    def state(self) -> int:
        return self.total

    def resume(self, state: int) -> Total:
        return Total(state)


@dataclass(frozen=True)
class BatchTotal(Total):
    """The same on all rows of a key at once."""

    def apply_batch(self, rows: pa.Table) -> tuple[Total, pa.Table]:
        totals = pc.cumulative_sum(rows["x"].cast(pa.int64()), start=self.total)
        answers = pa.Table.from_arrays([rows["ts"], rows["x"], totals], names=["ts", "x", "total"])
        return BatchTotal(totals[-1].as_py()), answers

    def resume(self, state: int) -> BatchTotal:
        return BatchTotal(state)


def processed(bench: Bench) -> dict[str, Side]:
    """Let a Python function keep the sum so far of each key, and answer it for each row.

    By hand, rows are taken as they come, which is the same answer only because here they come by time: a flow puts them
    in order. Ties in time are broken by all columns, and by hand nobody would: here there are none.
    """
    span = _DAY // bench.steps
    each = bench.rows // bench.steps
    steps = [
        bench.spark.range(step * each, (step + 1) * each, 1, 1).selectExpr(
            f"timestamp_micros({_EPOCH + step * span}L + (id - {step * each}L) * {max(1, span // each)}L) AS ts",
            f"pmod(xxhash64(id, 2), {bench.keys}L) AS k",
            "CAST(pmod(xxhash64(id, 3), 1000) AS INT) AS x",
        )
        for step in range(bench.steps)
    ]
    path = bench.feed("ordered", steps)

    def ours(operator: Any) -> dict[str, Side]:
        flow = tg.Flow("totals")
        source = flow.source("s", SCHEMA, time="ts", watermark=tg.bounded("0 seconds"))
        flow.sink("out", source.process(operator, by="k", schema="x INT, total BIGINT"))
        return bench.sides(flow, s=path)

    per_event = {f"{side}, per event": run for side, run in ours(Total()).items()}
    sides = ours(BatchTotal()) | per_event
    missing = [name for name in ("pandas", "google.protobuf") if not installed(name)]
    if missing:
        said = (
            f"transformWithStateInPandas is left out, for want of {', '.join(missing)}: pip install 'pandas<3' protobuf"
        )
        Console(stderr=True).print(said)
        return sides

    def by_hand(at: Path) -> list[float]:
        rows = bench.stream(path).withWatermark("ts", "0 seconds").groupBy("k")
        totals = rows.transformWithStateInPandas(
            _totals(), "ts TIMESTAMP, k BIGINT, x INT, total BIGINT", "Append", "None"
        )
        return bench.by_hand(totals, at, "RocksDB")

    return sides | {"transformWithStateInPandas": by_hand}


def installed(name: str) -> bool:
    """Return whether a package can be imported."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _totals() -> Any:
    """Return the sum so far as a processor of Structured Streaming."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Totals(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "total BIGINT")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
            found = self.total.get()
            total = found[0] if found else 0
            for part in rows:
                answers = part[["ts", "k", "x"]].copy()
                answers["total"] = part["x"].cumsum() + total
                total = int(answers["total"].iloc[-1])
                yield answers
            self.total.update((total,))

        def close(self) -> None:
            pass

    return Totals()


def one_row(bench: Bench) -> dict[str, Side]:
    """Count per hour and key, one row a step."""
    small = Bench(bench.spark, bench.directory, bench.steps * 3, bench.steps * 3, bench.keys, 1, bench.made)
    path = small.events("few", 1)
    flow = tg.Flow("windows")
    source = flow.source("s", SCHEMA, time="ts", watermark=tg.bounded("10 minutes"))
    flow.sink("out", source.window("1 hour").aggregate(by="k", n="count(*)"))

    def by_hand(store: str) -> Side:
        def run(at: Path) -> list[float]:
            rows = small.stream(path).withWatermark("ts", "10 minutes")
            hourly = rows.groupBy(F.window("ts", "1 hour"), "k").agg(F.count("*").alias("n"))
            end = F.expr("window.end - INTERVAL 1 MICROSECOND").alias("ts")
            return small.by_hand(hourly.select(end, "window", "k", "n"), at, store)

        return run

    return small.sides(flow, s=path) | {store: by_hand(store) for store in STORES}


def large_state(bench: Bench) -> dict[str, Side]:
    """Count and sum so far, for as many groups as there are rows; after the first step, a thousand of them in each."""
    times = [f"timestamp_micros({_EPOCH + step * 1000000}L) AS ts" for step in range(bench.steps)]
    all_of_them = bench.spark.range(0, bench.rows, 1, bench.cores).selectExpr(times[0], "id AS k", "1 AS x")
    steps = [
        bench.spark.range(0, 1000, 1, bench.cores).selectExpr(
            at, f"pmod(xxhash64(id, {i}), {bench.rows}L) AS k", "CAST(id AS INT) AS x"
        )
        for i, at in enumerate(times)
    ]
    path = bench.feed("groups", [all_of_them, *steps[1:]])
    flow = tg.Flow("so_far")
    source = flow.source("s", SCHEMA, time="ts", watermark=tg.bounded("0 seconds"))
    flow.sink("out", source.accumulate(by="k", n="count(*)", s="sum(x)"))

    def by_hand(store: str) -> Side:
        def run(at: Path) -> list[float]:
            so_far = (
                bench.stream(path)
                .groupBy("k")
                .agg(F.max("ts").alias("ts"), F.count("*").alias("n"), F.sum("x").alias("s"))
            )
            return bench.by_hand(so_far.select("ts", "k", "n", "s"), at, store, "update")

        return run

    return bench.sides(flow, s=path) | {store: by_hand(store) for store in STORES}


SCENARIOS: dict[str, Callable[[Bench], dict[str, Side]]] = {
    "tumbling": lambda bench: window_counts(bench, "1 hour"),
    "sliding": lambda bench: window_counts(bench, "10 minutes"),
    "join": joined,
    "interval join": joined_apart,
    "process": processed,
    "one row": one_row,
    "large state": large_state,
}


def digest(spark: SparkSession, at: Path) -> tuple[Any, ...]:
    """Return what tells two sets of rows apart; the row that completes all is left out."""
    rows = tg.read(spark, str(at)) if (at / "_tidegate.json").exists() else spark.read.parquet(str(at)).drop("step")
    chosen = rows.where("k >= 0")
    hashed = chosen.select(F.xxhash64(*sorted(chosen.columns)).alias("h"))
    return tuple(hashed.agg(F.count("*"), F.sum(F.col("h").cast("decimal(38,0)"))).collect()[0])


def processor_seconds(spark: SparkSession) -> float:
    """Return how much processor time this process, Spark's JVM and its Python workers have used; 0 if none can tell."""
    gateway: Any = spark.sparkContext._gateway
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total = time.process_time() if used else 0.0
    for process in used:
        ancestor = process
        while ancestor in parents and ancestor != gateway.proc.pid:
            ancestor = parents[ancestor]
        total += used[process] if ancestor == gateway.proc.pid else 0.0
    return total


def measured(bench: Bench, sides: dict[str, Side], repeats: int) -> tuple[dict[str, list[tuple[float, float]]], int]:
    """Run each side in turn; return the median seconds of a step, by the clock and of the processor, for each run."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    digests: dict[str, tuple[Any, ...]] = {}
    for repeat in range(repeats + 1):
        for name, side in sides.items():
            at = bench.directory / "run"
            used = processor_seconds(bench.spark)
            seconds = side(at)
            used = processor_seconds(bench.spark) - used
            if repeat:
                # The first step has no state to read and finds code that is cold.
                taken[name].append((median(seconds[1:]), used / (len(seconds) + 1)))
            else:
                digests[name] = digest(bench.spark, at / "out")
            shutil.rmtree(at)
    assert len(set(digests.values())) == 1, f"the sides differ: {digests}"
    return taken, int(next(iter(digests.values()))[0])


def memory(bench: Bench, steps: int) -> str:
    """Return what many steps with one row take: memory of this process, seconds, and rows of state."""
    small = Bench(bench.spark, bench.directory, steps, steps, 10, 1, bench.made)
    path = small.events("many", 1)
    flow = tg.Flow("windows")
    source = flow.source("s", SCHEMA, time="ts", watermark=tg.bounded("10 minutes"))
    flow.sink("out", source.window("1 hour").aggregate(by="k", n="count(*)"))
    seen: list[float] = []

    def megabytes() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    at = bench.directory / "run"
    outputs = {"out": tg.parquet(str(at / "out"))}
    trigger = {"availableNow": True}
    run = flow.start(bench.spark, {"s": small.stream(path)}, outputs, str(at / "ck"), trigger=trigger)
    fifth = steps // 5
    while not run.await_termination(1):
        if len(run.metrics()) > fifth:
            seen.append(megabytes())
    found = run.metrics()
    seconds, rows = [step["seconds"] for step in found], [step["state_rows"] for step in found]
    early, late = slice(fifth, 2 * fifth), slice(-fifth, None)
    shutil.rmtree(at)
    return (
        f"{steps} steps, the second fifth of them and the last: "
        f"{seen[0]:.0f} and {megabytes():.0f} MB of memory of the driver's Python, "
        f"{median(seconds[early]):.3f} and {median(seconds[late]):.3f} seconds a step, "
        f"at most {max(rows[early])} and {max(rows[late])} rows of state"
    )


def main(
    rows: Annotated[int, typer.Option(help="How many rows.")] = 1_000_000,
    steps: Annotated[int, typer.Option(help="In how many steps.")] = 10,
    repeats: Annotated[int, typer.Option(help="How often each side is run, after a first time to warm up.")] = 3,
    keys: Annotated[int, typer.Option(help="How many keys.")] = 10_000,
    cores: Annotated[int, typer.Option(help="Cores that Spark may use.")] = 2,
    only: Annotated[str, typer.Option(help="Only these, with commas between.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, few runs.")] = False,
) -> None:
    """Time each scenario against the same by hand."""
    rows, steps, repeats, keys = (5000, 3, 1, 50) if quick else (rows, steps, repeats, keys)
    chosen = [name.strip() for name in only.split(",") if name.strip()] or [*SCENARIOS, "memory"]
    options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(cores)}
    spark = local_session("bench", master=f"local[{cores}]", **options)
    table = Table(
        title=f"{rows:,} rows in {steps} steps, {repeats} runs, local[{cores}]; seconds a step, median of runs"
    )
    for heading in ("scenario", "side", "clock (least–most)", "times Tidegate", "processor", "times Tidegate"):
        table.add_column(heading, justify="left" if heading in ("scenario", "side") else "right")
    said = ""
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        bench = Bench(spark, Path(directory), rows, steps, keys, cores)
        for name in chosen:
            if name == "memory":
                said = memory(bench, 10 if quick else 500)
                continue
            taken, count = measured(bench, SCENARIOS[name](bench), repeats)
            first: tuple[float, float] | None = None
            for side, runs in taken.items():
                clock, used = ([run[i] for run in runs] for i in (0, 1))
                middle = (median(clock), median(used))
                first = first or middle
                ratios = [f"{mine / ours:.2f}" if ours else "" for mine, ours in zip(middle, first, strict=True)]
                spread = f"{middle[0]:.3f} ({min(clock):.3f}–{max(clock):.3f})"
                scenario = f"{name}, {count:,} rows out" if side == "Tidegate" else ""
                table.add_row(scenario, side, spread, ratios[0], f"{middle[1]:.3f}", ratios[1])
                # A run takes minutes: say what is known so far.
                Console(stderr=True).print(f"{name}, {side}: {spread}, processor {middle[1]:.3f}", highlight=False)
    spark.stop()
    Console().print(table)
    if said:
        Console().print(said)


if __name__ == "__main__":
    typer.run(main)
