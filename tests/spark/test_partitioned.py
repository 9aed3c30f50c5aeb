"""Results of Spark in directories by the values of columns: named and read as those of the local engine are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.local_engine.place import Place as LocalPlace
from tests.local_engine.test_partitioned import ODD
from tests.spark.place import DDL, Place

import tidegate as tg
from tidegate.engine.storage.partitions import longest_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}
ROWS = [(i, text, i % 3) for i, text in enumerate(ODD)]


def flow(source: Any = None) -> tg.Flow:
    found = tg.Flow("apart")
    found.sink("out", found.source("s", DDL, time="t", watermark=source or tg.bounded(0)).gate())
    return found


def filled(place: Any) -> list[Path]:
    """Let a flow write odd values apart, in two steps; return the directories that it made."""
    place.feed.add(*ROWS[:7])
    place.feed.add(*ROWS[7:])
    place.start(flow(), outputs={"out": tg.parquet(str(place.path / "out"), partition_by=("x", "k"))}).finish()
    root = place.path / "out"
    return sorted({path.parent.relative_to(root) for path in root.glob("step=*/**/*.parquet")})


def test_both_engines_write_and_read_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Directories have the same names, each engine reads what either wrote, and each follows the other."""
    made = {}
    for name, session, other in (("spark", spark, tg.local(threads=1)), ("local", None, spark)):
        (tmp_path / name).mkdir()
        place = Place(spark, tmp_path / name) if session else LocalPlace(tmp_path / name)
        made[name] = filled(place)
        out = str(place.path / "out")
        assert sorted(tg.read(tg.local(), out).fetchall(), key=str) == sorted(ROWS, key=str)
        assert sorted((tuple(row) for row in tg.read(spark, out).collect()), key=str) == sorted(ROWS, key=str)
        seen = str(place.path / "seen")
        follower = flow(tg.published(out))
        inputs = {"s": tg.read_stream(other, out)}
        run = follower.start(other, inputs, {"out": tg.parquet(seen)}, str(place.path / "other"), trigger=NOW)
        assert run.await_termination(120)
        assert run.status().state == "ended"
        assert sorted(tg.read(tg.local(), seen).fetchall(), key=str) == sorted(ROWS, key=str)
    assert [path.parts[1:] for path in made["spark"]] == [path.parts[1:] for path in made["local"]]


def test_spark_finds_the_columns_in_the_names_of_directories(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever reads the directory without Tidegate can choose by them; the texts are those that were written."""
    place = Place(spark, tmp_path)
    place.feed.add((1, "a/b: ä", 1), (2, "c", 2), (3, "d", 3))
    place.start(flow(), outputs={"out": tg.parquet(str(tmp_path / "out"), partition_by="k")}).finish()
    rows = spark.read.parquet(str(tmp_path / "out")).where("k = 'a/b: ä'")
    assert [(row.t, row.k) for row in rows.collect()] == [(1, "a/b: ä")]
    assert len(rows.inputFiles()) == 3
    assert "PartitionFilters: [isnotnull(k" in rows._jdf.queryExecution().toString()  # type: ignore[operator]


def test_a_text_that_is_too_long_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Before its step is committed, with what helps."""
    place = Place(spark, tmp_path)
    place.feed.add((1, "x" * (longest_text("k") + 1), 1))
    place.feed.add((2, "b", 1))
    run = place.start(flow(), outputs={"out": tg.parquet(str(tmp_path / "out"), partition_by="k")})
    with pytest.raises(tg.errors.RowRefused, match=r"substring\(k, 1, 61\)"):
        run.await_termination(120)
