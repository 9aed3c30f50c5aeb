"""Long runs: what a step costs does not grow with the number of steps before it."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.engine import frame
from tests.spark.place import Place
from tests.spark.steps import engine_in

import tidegate as tg
from tidegate.engine.steps.work import StepWork
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.spark.streaming.engine import SparkEngine

pytestmark = pytest.mark.spark

#: Spark's own settings for compiled plans.
COMPILING = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def flow(*sinks: str) -> Plan:
    found = tg.Flow("long")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
    streams = {
        "windows": lambda: source.window(10, every=5).aggregate(by="k", n="count(*)"),
        # No other test has the code of this one in the session.
        "compiled": lambda: source.window(10, every=5).aggregate(by="k", most="max(x % 7 + length(k))"),
        "so_far": lambda: source.accumulate(by="k", total="sum(x)"),
    }
    for sink in sinks:
        found.sink(sink, streams[sink]())
    return found.plan


def feed(spark: SparkSession, plan: Plan, engine: SparkEngine, step: int) -> None:
    """Run one step: ten rows for each of two units of time, some of them two units back."""
    rows: list[tuple[Any, ...]] = [(step * 2 - i % 3, "ab"[i % 2], i) for i in range(20)]
    batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, rows)})
    engine.step(batch, step)


def test_a_step_takes_three_jobs(spark: SparkSession, tmp_path: Path) -> None:
    """With one operator that has state: one to note_metrics at the rows, one for its state, one for its output.

    Every fourth step at most writes a new base as well.
    """
    plan = flow("windows")
    engine = engine_in(spark, plan, {}, tmp_path)
    counts = []
    for step in range(4):
        spark.sparkContext.setJobGroup(f"step {step}", "one step")
        feed(spark, plan, engine, step)
        counts.append(len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"step {step}")))
    spark.sparkContext.setJobGroup("", "")
    assert max(counts[:3]) <= 3
    assert counts[3] <= 4


def test_a_step_that_completes_nothing_takes_one_job(spark: SparkSession, tmp_path: Path) -> None:
    """While no window ends, there is state to write, and nothing to answer."""
    plan = flow("windows")
    engine = engine_in(spark, plan, {}, tmp_path)
    for step, (at, jobs) in enumerate([(0, 1), (6, 1), (7, 2), (8, 1)]):
        spark.sparkContext.setJobGroup(f"at {at}", "one step")
        rows = frame(spark, plan.sources[0].schema, [(at, "a", 1)])
        engine.step(united(plan, spark_runtime(spark), {"s": rows}), step)
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"at {at}")) == jobs, at
    spark.sparkContext.setJobGroup("", "")


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that compiles plans, as users have it: that of most tests interprets them."""
    before = {name: spark.conf.get(name) for name in COMPILING}
    for name, value in COMPILING.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.slow
def test_steps_compile_nothing_anew(compiling: SparkSession, tmp_path: Path) -> None:
    """Frontiers move with each step, and the code that Spark generates stays the same."""
    plan = flow("compiled")
    engine = engine_in(compiling, plan, {}, tmp_path)
    found: Any = compiling.sparkContext._jvm.org.apache.spark.metrics.source
    compiled = getattr(getattr(found, "CodegenMetrics$"), "MODULE$").METRIC_COMPILATION_TIME()
    before, counts = compiled.getCount(), []
    for step in range(12):
        feed(compiling, plan, engine, step)
        counts.append(compiled.getCount())
    assert counts[-1] > before, "nothing is compiled at all"
    # What is done in some steps only, such as folding parts, is compiled when it first comes.
    assert counts[-3] == counts[-1], counts


@pytest.mark.slow
def test_state_levels_off(spark: SparkSession, tmp_path: Path) -> None:
    """After many steps there is no more state, in rows and in directories, than after some."""
    plan = flow("windows", "so_far")
    engine = engine_in(spark, plan, {}, tmp_path)
    rows, directories = [], []
    for step in range(300):
        feed(spark, plan, engine, step)
        rows.append(engine.metrics[-1].state_rows)
        directories.append(len(list((tmp_path / "checkpoint" / "state").glob("*/*/*"))))
    assert max(rows[60:]) <= max(rows[20:60])
    assert max(directories[60:]) <= max(directories[20:60])


def references() -> int:
    """Return how many objects in the JVM Python holds. The JVM's own count lags: it is told some time after."""
    from py4j.java_gateway import JavaObject

    gc.collect()
    return sum(isinstance(found, JavaObject) for found in gc.get_objects())


def held(run: tg.Run, checkpoint: Path) -> dict[str, int]:
    """How much a run holds: threads by name, what Python has in the JVM and does not remember on purpose, own files."""
    context: Any = run._spark.sparkContext
    threads = [thread.getName() for thread in context._jvm.java.lang.Thread.getAllStackTraces().keySet()]
    found = Counter(f"threads {re.split(r'[-# ]*[0-9]', name)[0]}" for name in threads)
    # A pool of Spark's with a thread for each of the last 128 broadcasts, or for those of the last minute.
    del found["threads broadcast-exchange"]
    batches = run._engine._batches
    found["references"] = references() - (len(batches.made) if batches else 0)
    # Spark's half keeps its last hundred batches, and the log its last hundred commits.
    paths = [path.relative_to(checkpoint) for path in checkpoint.rglob("*")]
    found["files"] = sum(path.parts[0] not in ("spark", "commits") for path in paths)
    return dict(found)


def grown(place: Place, flow: tg.Flow, steps: int, since: int) -> dict[str, tuple[int, int]]:
    """Run a flow for so many steps; return what is more in the last quarter of them than in the first one.

    It is the least of a quarter that counts: from one moment to the next there may be more, which is let go.
    """
    for i in range(steps):
        place.feed.add((i * 2, "a", i), (i * 2 + 1, "b", i), (i * 2 - 2, "a", 1))
    found: list[dict[str, int]] = []
    runs: list[tg.Run] = []
    started = Event()

    def note_metrics(metrics: Any) -> None:
        started.wait(60)
        if metrics["step"] >= since and metrics["step"] % 4 == 0:
            found.append(held(runs[0], place.path / "checkpoint"))

    runs.append(place.start(flow, metrics=note_metrics))
    started.set()
    runs[0].await_termination()
    quarter = len(found) // 4
    names = {name for counts in found for name in counts}
    least = {
        name: tuple(min(counts.get(name, 0) for counts in part) for part in (found[:quarter], found[-quarter:]))
        for name in names
    }
    # Pools have a few threads more or less from one moment to the next.
    return {name: (first, last) for name, (first, last) in least.items() if last > first + 8}


@pytest.mark.slow
def test_a_long_run_holds_no_more_than_a_short_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, objects in the JVM and files level off after some steps; a step that keeps a DataFrame is noticed."""

    def both() -> tg.Flow:
        flow = tg.Flow("long")
        source = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
        flow.sink("windows", source.window(10, every=5).aggregate(by="k", n="count(*)"))
        flow.sink("so_far", source.accumulate(by="k", total="sum(x)"))
        return flow

    assert grown(place, both(), 120, since=40) == {}
    assert len(list((place.path / "checkpoint" / "commits").iterdir())) <= 101
    kept: list[Any] = []
    real = StepWork.release

    def leaking(self: StepWork) -> None:
        kept.extend(self.rows.values())
        real(self)

    monkeypatch.setattr(StepWork, "release", leaking)
    (place.path / "leaking").mkdir()
    assert "references" in grown(Place(place.spark, place.path / "leaking"), both(), 60, since=20)
