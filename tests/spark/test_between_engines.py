"""Flows that follow each other across engines: what one publishes, the other reads, rows and frontiers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.local_engine.place import Place as LocalPlace
from tests.spark.place import Place, counts

import tidegate as tg
from tidegate.engine.storage.errors import FlowChanged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = {"availableNow": True}


def sums(path: Path) -> tg.Flow:
    """A flow that adds up what the other counts, as its frontier moves."""
    flow = tg.Flow("sums")
    read = flow.source("counts", "t INT, k STRING, n BIGINT", time="t", watermark=tg.published(path))
    flow.sink("sums", read.accumulate(n="sum(n)"))
    return flow


def check_following(place: Any, session: Any, directory: Path) -> None:
    """Let a flow publish where it runs, and another follow on a session, in steps, up to the end of both."""
    path, out = directory / "out", directory / "sums"

    def follow() -> tg.Run:
        inputs, outputs = {"counts": tg.read_stream(session, path)}, {"sums": tg.parquet(out)}
        run = sums(path).start(session, inputs, outputs, directory / "follower", trigger=NOW)
        assert run.await_termination(120)
        return run

    def found() -> list[Any]:
        return sorted(tg.read(tg.local(), out).fetchall())

    place.feed.add((1, "a", 1), (2, "a", 1))
    place.feed.add((5, "b", 1))
    place.run(counts())
    run = follow()
    assert found() == [(1, 1), (2, 2)]
    assert run.status().frontiers == {"sums": "3"}
    place.feed.add((9, "c", 1))
    place.start(counts(), trigger=None).finish()
    assert follow().status().state == "ended"
    assert found() == [(1, 1), (2, 2), (5, 3), (9, 4)]


@pytest.mark.spark
def test_a_local_flow_follows_one_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """It gives what is complete there, goes on from its own checkpoint, and ends when the other has ended."""
    check_following(Place(spark, tmp_path), tg.local(threads=2), tmp_path)


@pytest.mark.spark
def test_a_flow_on_spark_follows_a_local_one(spark: SparkSession, tmp_path: Path) -> None:
    """The other way round, the same."""
    check_following(LocalPlace(tmp_path), spark, tmp_path)


@pytest.mark.spark
def test_a_checkpoint_belongs_to_the_engine_that_made_it(spark: SparkSession, tmp_path: Path) -> None:
    """Positions in the sources mean nothing to the other: it is told so, and the checkpoint stays as it is."""
    for made, other in ((Place, LocalPlace), (LocalPlace, Place)):
        directory = tmp_path / made.__module__
        directory.mkdir()
        place: Any = made(directory) if made is LocalPlace else made(spark, directory)
        place.feed.add((1, "a", 1), (9, "b", 1))
        place.run(counts())
        rest: Any = object.__new__(other)
        rest.path, rest.feed = place.path, place.feed
        rest.session = rest.spark = tg.local() if other is LocalPlace else spark
        with pytest.raises(FlowChanged, match=r"(?s)a checkpoint of the .* engine made.*hint: continue with the"):
            rest.start(counts())
        place.feed.add((12, "a", 1))
        assert place.run(counts()).status().rows == {"s": 3}
