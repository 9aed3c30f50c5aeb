"""Processing time on Spark: arrival, ticks, and windows that end without rows; in one run, as a session is slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.place import Place

import tidegate as tg
from tidegate.engine.storage.files import Files
from tidegate.spark.streaming.heartbeat import Ticker, delete_beats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


def until(condition: Callable[[], Any], run: tg.Run) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        assert run.is_active, run.exception()
        time.sleep(0.1)


def test_rows_arrive_and_clocks_tick(spark: SparkSession, place: Place) -> None:
    """Rows without a time get that of their step, its windows end in silence, and ticks come by themselves."""
    flow = tg.Flow("clocks")
    rows = flow.source("s", "t INT, k STRING, x INT", time=tg.arrival())
    ticks = flow.source("ticks", "ts TIMESTAMP", time="ts")
    flow.sink(
        "out", rows.window("1 second").aggregate(by="k", n="count(*)", last="max(arrived)").select("k", "n", "last")
    )
    flow.sink("ticks", ticks)
    place.feed.add((1, "a", 1), (2, "a", 1))
    began = datetime.now()
    inputs = {"s": place.feed.stream(spark), "ticks": tg.clock("1 second")}
    outputs = {name: tg.parquet(place.path / name) for name in ("out", "ticks")}
    run = flow.start(spark, inputs, outputs, place.path / "ck")
    until(lambda: place.rows("out") and len(place.rows("ticks")) > 1, run)
    run.stop()
    ((end, key, n, last),) = place.rows("out")
    assert (key, n) == ("a", 2)
    assert began <= last <= end
    found = [tick for (tick,) in place.rows("ticks")]
    assert found == sorted(set(found))
    assert not any(tick.microsecond for tick in found)
    # Who goes on goes on after them.
    run = flow.start(spark, inputs, outputs, place.path / "ck")
    place.feed.add((3, "b", 1))
    until(lambda: len(place.rows("out")) > 1, run)
    run.stop()
    assert run.late("s").count() == 0
    assert [k for _, k, *_ in place.rows("out")] == ["a", "b"]


def test_windows_end_behind_the_clock(spark: SparkSession, place: Place) -> None:
    """A window of rows that are an hour old ends without others, as the clock is further."""
    flow = tg.Flow("behind")
    old = flow.source("old", "ts TIMESTAMP, k STRING", time="ts", watermark=tg.bounded("1 day", clock="1 minute"))
    flow.sink("out", old.window("1 minute").aggregate(by="k", n="count(*)").select("k", "n"))
    at = place.path / "old"
    spark.sql("SELECT TIMESTAMP '2026-01-01 12:00:01' AS ts, 'a' AS k").write.parquet(str(at))
    inputs = {"old": spark.readStream.schema("ts TIMESTAMP, k STRING").parquet(str(at))}
    run = flow.start(spark, inputs, {"out": tg.parquet(place.path / "out")}, place.path / "ck")
    until(lambda: place.rows("out"), run)
    run.stop()
    ((_, key, n),) = place.rows("out")
    assert (key, n) == ("a", 1)


def test_a_tick_is_written_once(tmp_path: Path) -> None:
    """Rounded down, after the last one that was read, whatever the clock does; those that were read can go."""
    shown = 103.0
    files = Files(tmp_path)
    ticker = Ticker(files, "t", 10_000_000, after=-1, clock=lambda: shown)
    assert files.names("ticks/t") == ["100000000.json"]
    for shown in (109.0, 121.0, 50.0):  # noqa: B007
        ticker.beat()
    assert files.names("ticks/t") == ["100000000.json", "120000000.json"]
    shown = 110.0
    Ticker(files, "t", 10_000_000, after=120_000_000, clock=lambda: shown)
    delete_beats(files, 100_000_000, "t")
    assert files.names("ticks/t") == ["120000000.json"]
