"""The Python of workers: that of the driver where Spark is local, and otherwise looked at before data is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidegate as tg
from tidegate.spark import workers
from tidegate.spark.workers import BadWorkers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "t INT, x INT"
ROOT = Path(__file__).parents[2]

#: A job as the README has it, with a function: nothing says which Python workers should run.
JOB = """
from pyspark.sql import SparkSession
import tidegate as tg

flow = tg.Flow("job")
rows = flow.source("s", "t INT, x INT", time="t")
flow.sink("out", rows.map_batches(lambda batch: batch, "t INT, x INT").aggregate(n="sum(x)"))
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
tables = flow.compute(spark, {"s": spark.createDataFrame([(1, 2), (1, 3), (2, 4)], "t INT, x INT")})
print("rows:", sorted(map(tuple, tables["out"].collect())))
"""


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_TRIED", set())


def flow() -> tg.Flow:
    found = tg.Flow("functions")
    found.sink("out", found.source("s", SCHEMA, time="t").map_batches(lambda batch: batch, SCHEMA))
    return found


def without_tidegate(path: Path) -> str:
    """A program that is this Python in every way, but for the package."""
    hiding = path.parent / "hiding"
    hiding.mkdir()
    (hiding / "tidegate.py").write_text("raise ModuleNotFoundError(\"No module named 'tidegate'\")")
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{hiding}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
def test_a_job_runs_its_functions_on_its_own_python(tmp_path: Path) -> None:
    """A script run by the Python of an environment, on a plain session, while ``python3`` on the path is another."""
    (tmp_path / "job.py").write_text(JOB)
    without_tidegate(tmp_path / "python3")
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(tmp_path / "job.py")]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert "rows: [(1, 5), (2, 4)]" in run.stdout, run.stderr[-3000:]


def test_a_python_without_tidegate_is_refused_before_data_is_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker lacks is said with the flow and what to set; nothing is read. Without functions, nobody looks."""
    unread = spark.range(1).selectExpr("CAST(raise_error('data was read') AS INT) AS t", "CAST(id AS INT) AS x")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", without_tidegate(tmp_path / "bare"))
    with pytest.raises(BadWorkers) as caught:
        flow().compute(spark, {"s": unread})
    message = str(caught.value)
    assert "got Python" in message
    assert "no Tidegate (No module named 'tidegate') from" in message
    assert "at: flow 'functions'" in message
    assert f"set PYSPARK_PYTHON to a Python with Tidegate {tg.__version__}" in message
    plain = tg.Flow("plain")
    plain.sink("out", plain.source("s", SCHEMA, time="t"))
    assert list(plain.compute(spark, {"s": unread})) == ["out"]


def test_a_python_that_does_not_start_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is not there is named in the error, at the start of a stream too."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "nowhere"))
    (tmp_path / "in").mkdir()
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    with pytest.raises(BadWorkers, match="nowhere"):
        flow().start(spark, {"s": stream}, {"out": tg.parquet(tmp_path / "out")}, tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


def test_workers_are_tried_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second flow of an application starts no job before its sinks are asked for; what was given is left alone."""
    given = spark.createDataFrame([(1, 2)], SCHEMA)
    before = spark.sparkContext.pythonExec
    jobs = []
    for group in ("first", "second"):
        spark.sparkContext.setJobGroup(group, "compute")
        flow().compute(spark, {"s": given})
        jobs.append(len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)))
    spark.sparkContext.setJobGroup("", "")
    assert jobs == [1, 0]
    assert spark.sparkContext.pythonExec == before == os.environ["PYSPARK_PYTHON"]
