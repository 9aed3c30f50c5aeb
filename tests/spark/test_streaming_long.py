"""Long runs: what a step costs does not grow with the number of steps before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.engine import frame
from tests.spark.steps import engine_in

import tidegate as tg
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.spark.streaming.engine import Engine

pytestmark = pytest.mark.spark


def flow(*sinks: str) -> Plan:
    found = tg.Flow("long")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
    streams = {
        "windows": lambda: source.window(10, every=5).aggregate(by="k", n="count(*)"),
        "so_far": lambda: source.accumulate(by="k", total="sum(x)"),
    }
    for sink in sinks:
        found.sink(sink, streams[sink]())
    return found.plan


def feed(spark: SparkSession, plan: Plan, engine: Engine, step: int) -> None:
    """Run one step: ten rows for each of two units of time, some of them two units back."""
    rows: list[tuple[Any, ...]] = [(step * 2 - i % 3, "ab"[i % 2], i) for i in range(20)]
    batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, rows)})
    engine.step(batch, step)


def test_a_step_takes_three_jobs(spark: SparkSession, tmp_path: Path) -> None:
    """With one operator that has state: one to look at the rows, one for its state, one for its output.

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


def test_steps_compile_nothing_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Frontiers move with each step, and the code that Spark generates stays the same."""
    plan = flow("windows")
    engine = engine_in(spark, plan, {}, tmp_path)
    found: Any = spark.sparkContext._jvm.org.apache.spark.metrics.source
    compiled = getattr(getattr(found, "CodegenMetrics$"), "MODULE$").METRIC_COMPILATION_TIME()
    counts = []
    for step in range(12):
        feed(spark, plan, engine, step)
        counts.append(compiled.getCount())
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
