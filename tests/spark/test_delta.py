"""Results in Delta tables, with the library that writes them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    LongType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
)
from tests.spark.deaths import Killer, run_dying
from tests.spark.place import Place, counts

import tidegate as tg
from tidegate.engine.outputs import Sender
from tidegate.engine.storage.errors import BadCheckpoint, SinkFailed
from tidegate.flow.errors import BadArgument, NotSupported
from tidegate.spark.hadoop import files_at
from tidegate.spark.streaming.host import SparkResults, fields_of
from tidegate.spark.streaming.start import prepare

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: pip install deltalake")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SENDER = Sender("checkpoint", "flow", "out", ("t",))


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist())


def test_rows_are_added_once_if_a_run_dies_when_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    """The step that was written is known by its number, and is not written again; each step is one version."""
    path = tmp_path / "out"
    cuts = [[(1, "a", 1), (2, "b", 1)], [(2, "a", 1), (3, "b", 1)], [(3, "b", 1), (4, "c", 1)]]
    output = tg.delta(str(path))
    run_dying(spark, counts(delay=0).plan, output, tmp_path, cuts, Killer("handed over", 1))
    assert rows_of(path) == [(1, "a", 1), (2, "a", 1), (2, "b", 1), (3, "b", 2)]
    history = deltalake.DeltaTable(str(path)).history()
    assert [entry.get("step") for entry in reversed(history)] == [None, "0", "1", "2"]


def test_values_of_every_type_arrive(spark: SparkSession, tmp_path: Path) -> None:
    """Nested values too, and instants as the instants that they are."""
    rows = spark.sql(
        "SELECT 1 AS t, CAST('1.50' AS DECIMAL(10, 2)) AS price, TIMESTAMP '2026-01-01 00:00:00+02:00' AS at, "
        "struct(array('a', NULL) AS texts, map('k', 1L) AS counts) AS nested, CAST(NULL AS BINARY) AS bytes"
    )
    output = tg.delta(str(tmp_path / "out"))
    output.claim(SENDER, fields_of(rows.schema))
    output.deliver(SENDER, SparkResults(rows), 0)
    nested = {"texts": ["a", None], "counts": [("k", 1)]}
    at = datetime(2025, 12, 31, 22, tzinfo=UTC)
    assert rows_of(tmp_path / "out") == [(1, Decimal("1.50"), at, nested, None)]
    assert deltalake.DeltaTable(str(tmp_path / "out")).schema().to_json() == _json(rows)
    with pytest.raises(BadCheckpoint, match="with columns t, x, got"):
        output.claim(SENDER, fields_of(spark.sql("SELECT 1 AS t, 2 AS x").schema))


def _json(rows: Any) -> str:
    """The schema in Delta's words, with every value nullable."""
    from tidegate.engine.outputs.delta import _in_delta

    return _in_delta(fields_of(rows.schema)).to_json()


def test_rows_of_a_committed_step_go_to_the_table_that_the_sink_has_now(spark: SparkSession, tmp_path: Path) -> None:
    """A start hands them over before it looks at the outputs: the table is made for them, and is this sender's."""
    rows = spark.createDataFrame([(1, 2)], "t LONG, n LONG")
    tg.delta(tmp_path / "out").deliver(SENDER, SparkResults(rows), 3)
    assert rows_of(tmp_path / "out") == [(1, 2)]
    with pytest.raises(BadCheckpoint, match="belongs to another"):
        tg.delta(tmp_path / "out").deliver(Sender("other", "flow", "out", ("t",)), SparkResults(rows), 4)


def test_a_table_has_one_writer_and_secrets_stay_secret(place: Place) -> None:
    """A table of another checkpoint is refused; a store that can't be reached is told without its key."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts(), outputs={"out": tg.delta(str(place.path / "table"))})
    assert rows_of(place.path / "table") == [(1, "a", 1)]
    other = files_at(place.spark, str(place.path / "other"))
    with pytest.raises(BadCheckpoint, match="belongs to another: written by tidegate: sink out of flow counts"):
        prepare(counts().plan, place.spark, {}, {"out": tg.delta(str(place.path / "table"))}, other)
    secrets = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "xyzzy-key")
    secrets |= {"aws_endpoint": "http://127.0.0.1:1/xyzzy-key", "aws_allow_http": "true", "aws_region": "nowhere"}
    output = tg.delta("s3://nowhere/table", storage_options=secrets | {"max_retries": "0"})
    with pytest.raises(SinkFailed) as failed:
        output.claim(SENDER, fields_of(place.spark.sql("SELECT 1 AS t").schema))
    assert "xyzzy-key" not in f"{failed.value} {output!r}"


@pytest.mark.parametrize(
    ("had", "has"),
    [
        (LongType(), DoubleType()),
        (DateType(), TimestampType()),
        (DoubleType(), DecimalType(38, 2)),
        (ArrayType(StructType([StructField("a", LongType())])), ArrayType(StructType([StructField("a", ByteType())]))),
    ],
    ids=lambda type_: type_.simpleString(),
)
def test_a_column_of_another_type_is_refused_at_the_start(tmp_path: Path, had: DataType, has: DataType) -> None:
    """Delta would convert values in silence, or fail when the step is committed; both types are told."""
    output, n = tg.delta(tmp_path / "out"), StructField("n", had)
    output.claim(SENDER, fields_of(_schema(n)))
    output.claim(SENDER, fields_of(_schema(n)))
    names = (
        rf"column n of type {re.escape(had.simpleString().upper())}, as .*, got {re.escape(has.simpleString().upper())}"
    )
    with pytest.raises(BadCheckpoint, match=names):
        output.claim(SENDER, fields_of(_schema(StructField("n", has))))


def test_whether_values_may_be_missing_is_no_matter_of_types(tmp_path: Path) -> None:
    """A table of the user's may promise that nothing is null, inside of arrays too, and say more about its columns."""
    column = StructField("n", ArrayType(LongType(), containsNull=False), False, {"comment": "those of the hour"})
    deltalake.DeltaTable.create(tmp_path / "out", deltalake.Schema.from_json(_schema(column).json()))
    tg.delta(tmp_path / "out").claim(SENDER, fields_of(_schema(StructField("n", ArrayType(LongType())))))


@pytest.mark.parametrize(
    "type_",
    [DayTimeIntervalType(), YearMonthIntervalType(), CalendarIntervalType(), ArrayType(DayTimeIntervalType())],
    ids=lambda type_: type_.simpleString(),
)
def test_a_type_that_delta_does_not_have_is_refused_before_a_table_is_made(tmp_path: Path, type_: DataType) -> None:
    """The column is named; a field that is called like such a type is none."""
    with pytest.raises(NotSupported, match=r"column n is of type .*interval.*, which has no form in Delta"):
        tg.delta(tmp_path / "out").claim(SENDER, fields_of(_schema(StructField("n", type_))))
    assert not (tmp_path / "out").exists()
    named = StructField("n", StructType([StructField("interval", LongType())]))
    tg.delta(tmp_path / "out").claim(SENDER, fields_of(_schema(named)))


def test_whatever_deltalake_raises_is_told_in_a_line_without_secrets(spark: SparkSession, tmp_path: Path) -> None:
    """Some of its errors are plain exceptions, with its own stack behind the message."""
    for number, (type_, value) in enumerate([("integer", "'a-secret'"), ("interval day", "INTERVAL 1 DAY")]):
        path = tmp_path / str(number)
        output = tg.delta(path, storage_options={"key": "a-secret"})
        output.claim(SENDER, fields_of(_schema()))
        # Someone makes another table of it under the run.
        rmtree(path)
        field = {"name": "n", "type": type_, "nullable": True, "metadata": {}}
        made = deltalake.Schema.from_json(json.dumps({"type": "struct", "fields": [field]}))
        deltalake.DeltaTable.create(path, made)
        with pytest.raises(SinkFailed, match=f"/{number} did not take the rows: ") as failed:
            output.deliver(SENDER, SparkResults(spark.sql(f"SELECT {value} AS n")), 0)
        assert "a-secret" not in str(failed.value)
        assert [line.strip()[:5] for line in str(failed.value).split("\n")] == ["the D", "hint:"]


def test_a_store_that_fails_at_the_start_has_no_rows_to_keep(tmp_path: Path) -> None:
    """Its error says what could not be done, with all causes that deltalake names, and is of no other class."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkFailed, match=r"could not be made ready for rows: .*Not a directory") as failed:
        tg.delta(tmp_path / "file" / "table").claim(SENDER, fields_of(_schema()))
    assert "kept" not in str(failed.value)
    assert "\x1b" not in failed.value.what


def _schema(*columns: StructField) -> StructType:
    return StructType([StructField("t", LongType()), *columns])


def test_a_path_that_is_none_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(BadArgument, match="expected a path"):
        tg.delta("")
