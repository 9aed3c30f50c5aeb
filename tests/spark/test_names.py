"""Names and paths that mean something in SQL or in patterns, through whole runs, with late and rejected rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import ParseException
from tests.flow.cases.names import K, T, X, tick
from tests.spark.steps import run_steps

import tidegate as tg
from tidegate.engine import inputs as engine_inputs
from tidegate.engine.outputs import Sender
from tidegate.flow.errors import BadArgument
from tidegate.spark.streaming.host import SparkResults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

#: A directory whose name means something elsewhere.
ODD = "run 1, 100%20 'é' \"x\" #; a=b $HOME ~ & +"


def rows_of(spark: SparkSession, *given: tuple[Any, ...]) -> Any:
    return spark.createDataFrame(list(given), f"{tick(T)} INT, {tick(K)} STRING, {tick(X)} INT").coalesce(1)


def flow() -> tg.Flow:
    found = tg.Flow("odd")
    schema = {T: "INT", K: "STRING", X: "INT"}
    read = found.source("s", schema, time=T, watermark=tg.bounded(2, by=K, idle="1 hour"))
    found.sink("out", read.aggregate(f"sum({tick(X)}) AS {tick(X)}", by=tick(K)))
    found.sink("late", read.window(5, lateness=5).aggregate(f"count(*) AS {tick(X)}", by=tick(K)))
    return found


def run(spark: SparkSession, home: Path, outputs: dict[str, Any]) -> tg.Run:
    """Run on what is in the directory, in one step for each file."""
    given = spark.readStream.schema(rows_of(spark, (0, "", 0)).schema).option("maxFilesPerTrigger", 1)
    read = given.parquet(str(home / "in"))
    places = {"out": tg.parquet(home / "out"), "late": tg.parquet(home / "late")} | outputs
    started = flow().start(spark, {"s": read}, places, str(home / "checkpoint"), trigger={"availableNow": True})
    started.await_termination(120)
    return started


@pytest.fixture
def home(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """An odd directory."""
    yield tmp_path / ODD
    for query in spark.streams.active:
        query.stop()


@pytest.mark.slow
def test_odd_names_and_paths_are_names_and_paths(spark: SparkSession, home: Path) -> None:
    """Over a restart, with a late row and a rejected one, partitions by such a column, and a flow that follows."""
    first = [(1, "it's", 1), (2, None, 2), (9, "it's", 4), (9, None, 8), (None, 'a "b"', 1)]
    rows_of(spark, *first).write.parquet(str(home / "in"))
    run(spark, home, {})
    rows_of(spark, (1, "it's", 100), (12, "it's", 16), (12, None, 1)).write.mode("append").parquet(str(home / "in"))
    again = run(spark, home, {})
    expected = [(1, "it's", 1), (2, None, 2), (9, "it's", 4), (9, None, 8)]
    assert sorted(map(tuple, tg.read(spark, home / "out").collect()), key=repr) == sorted(expected, key=repr)
    assert {r[3:] for r in tg.read(spark, home / "late").collect()} >= {(1, 0), (2, 1)}
    assert again.status().rejected == {"s": 1}
    (rejected,) = again.rejected("s").collect()
    assert rejected.reason == f"null time in {T}"
    # The window takes it, and so nothing else is told that it was late.
    assert again.late("s").count() == 0
    following = tg.Flow("following")
    schema = {T: "INT", K: "STRING", X: "BIGINT"}
    followed = following.source("out", schema, time=T, watermark=tg.published(home / "out"))
    following.sink("n", followed.aggregate(n="count(*)"))
    inputs = {"out": tg.read_stream(spark, home / "out")}
    places = {"n": tg.parquet(home / "n")}
    run_ = following.start(spark, inputs, places, str(home / "ck 2"), trigger={"availableNow": True})
    run_.await_termination(120)
    assert sorted(map(tuple, tg.read(spark, home / "n").collect())) == [(1, 1), (2, 1), (9, 2)]


def test_a_name_that_goes_into_sql_as_it_is_is_caught(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote in it would end the text of the reason."""
    given = {"s": rows_of(spark, (None, "a", 1), (1, "a", 1))}
    (row,) = flow().compute(spark, given).rejected["s"].collect()
    assert row.reason == f"null time in {T}"
    monkeypatch.setattr(engine_inputs, "literal", lambda text: f"'{text}'")
    with pytest.raises(ParseException):
        flow().compute(spark, given)


@pytest.mark.parametrize("name", ["runs[1]", "{a,b}", "a*", "what?", "a\\b", "10:00"])
def test_paths_that_spark_does_not_read_as_they_are_are_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Of a checkpoint and of an output; Spark would read streams below them twice, or not find its files again."""
    with pytest.raises(BadArgument, match="that Spark reads as it is"):
        tg.parquet(tmp_path / name)
    streamed = spark.readStream.schema(rows_of(spark, (0, "", 0)).schema).parquet(str(tmp_path))
    places = {"out": tg.parquet(tmp_path / "out"), "late": tg.parquet(tmp_path / "late")}
    with pytest.raises(BadArgument, match="that Spark reads as it is"):
        flow().start(spark, {"s": streamed}, places, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["runs[1]", "a%20b", "a\\b", "two\nlines"])
def test_paths_that_deltalake_does_not_read_as_they_are_are_refused(tmp_path: Path, name: str) -> None:
    """It would write to another directory, or give up in a way that nobody can catch."""
    with pytest.raises(BadArgument, match="that deltalake reads as it is"):
        tg.delta(tmp_path / name)


def test_the_file_system_of_a_path_may_have_colons() -> None:
    """A scheme, and a host with a port."""
    paths = ["file:/a", "hdfs://host:8020/a", "s3a://bucket/a b"]
    assert [tg.parquet(path).path for path in paths] == paths
    for path in ("a:b", "file:/a:b", "hdfs://host:8020/a:b"):
        with pytest.raises(BadArgument, match="that Spark reads as it is"):
            tg.parquet(path)


def test_the_console_prints_rows_and_passes_nothing_on_that_a_terminal_obeys(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of the table stay; what is in the rows is escaped."""
    rows = spark.createDataFrame([(1, "a\x1b[2J\u202eb")], "t INT, k STRING")
    tg.console().deliver(Sender("checkpoint", "flow", "out", ("t",)), SparkResults(rows), 3)
    said = capsys.readouterr().out
    assert said.startswith("step 3\n+---+")
    assert "|1  |a\\x1b[2J\\u202eb|" in said
    assert "\x1b" not in said


def test_a_column_that_is_called_as_sparks_own_is_another(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever follows an output with a column `_metadata` knows the steps of its rows all the same."""
    flow = tg.Flow("named")
    rows = flow.source("s", "t INT, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.select("named_struct('file_path', '/step=7/a') AS _metadata"))
    run_steps(spark, flow.plan, [{"s": [(1, 1)]}, {"s": [(2, 1)]}], {}, tmp_path)
    found: list[Any] = []
    stream = tg.read_stream(spark, tmp_path / "out")
    writer = stream.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    steps = sorted((row.t, row["__step"], row["_metadata"].file_path) for row in found)
    assert steps == [(1, 0, "/step=7/a"), (2, 1, "/step=7/a")]
