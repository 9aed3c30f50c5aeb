"""Runs as others see them: on Spark, and one that was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidegate as tg
from tests.live.test_server import answer
from tests.spark.place import Place, counts
from tidegate.live import Page
from tidegate.live.watched import WatchedCheckpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_on_spark_is_seen_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Its frontiers, counts, reasons and late rows are those that the run tells; its page needs no session."""
    place = Place(spark, tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2), (None, "n", 3))
    place.feed.add((2, "late", 4), (12, "c", 5))
    run = place.start(counts(), ui=0)
    assert run.await_termination(120)
    assert run.ui is not None
    status = run.status()
    watched = WatchedCheckpoint(tmp_path / "checkpoint")
    found = watched.snapshot()
    assert (found["engine"], found["state"], found["step"], found["problems"]) == ("spark", "stopped", status.step, [])
    assert {s["name"]: s["frontier"] for s in found["sinks"]} == status.frontiers
    assert [(s["rows"], s["late"], s["rejected"]) for s in found["sources"]] == [(5, 1, 1)]
    (reason,) = run.why(30)
    assert [p["name"] for p in watched.why("out", ["30"])["reasons"][0]["path"]] == [place for place, _ in reason.path]
    assert [row["reason"] for row in watched.aside("s")["rows"]] == ["late", "null time in t"]
    assert len(found["steps"]) == len(run.metrics())


KILLED = """
import os, signal, sys
import pyarrow as pa
import tidegate as tg

flow = tg.Flow("killed")
rows = flow.source("s", "t INT, x INT", time="t", watermark=tg.bounded(2))
flow.sink("out", rows.aggregate(n="count(*)"))
table = pa.table({"t": pa.array([1, 9], pa.int32()), "x": pa.array([1, 2], pa.int32())})

def die(step):
    os.kill(os.getpid(), signal.SIGKILL)

outputs = {"out": tg.parquet(sys.argv[1] + "/out")}
run = flow.start(tg.local(), {"s": iter([table])}, outputs, sys.argv[1] + "/checkpoint", metrics=die)
run.await_termination()
"""


def test_a_run_that_was_killed_is_seen_as_it_was(tmp_path: Path) -> None:
    """Its lock is there and its process is not: it has died, and its frontiers, counts and reasons can be read."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=120)
    assert done.returncode == -9
    page = Page(port=0)
    try:
        page.add(tmp_path / "checkpoint")
        found = answer(page, "/api/run/0")
        assert (found["state"], found["step"], found["problems"]) == ("dead", 0, [])
        assert found["holder"].startswith("process ")
        assert found["places"]["sink out"]["frontier"] == "7"
        assert [source["rows"] for source in found["sources"]] == [2]
        assert answer(page, "/api/run/0/why?sink=out&time=7")["reasons"][0]["from"] == "s"
    finally:
        page.close()


def test_two_runs_of_a_process_share_a_page(tmp_path: Path) -> None:
    """Each has an address there; the page stays when they are stopped, and shows that they are."""
    flow = tg.Flow("shared")
    flow.sink("out", flow.source("s", "t INT, x INT", time="t"))

    def start(name: str) -> tg.Run:
        place = tmp_path / name
        return flow.start(tg.local(), {"s": tg.files(place / "*.parquet")}, {"out": tg.parquet(place / "out")},
                          place / "checkpoint", ui=True)  # fmt: skip

    runs = [start("one"), start("two")]
    addresses = [run.ui or "" for run in runs]
    assert addresses[0].removesuffix("#run=0") == addresses[1].removesuffix("#run=1")
    for run in runs:
        run.stop()
    from tidegate.live import shared_page

    page = shared_page._PAGES.pop(None)
    try:
        assert [run["state"] for run in answer(page, "/api/runs")] == ["stopped", "stopped"]
    finally:
        page.close()
