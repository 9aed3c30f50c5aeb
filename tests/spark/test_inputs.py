"""What is handed to `compute`: checked before data is read; rows without a time are set aside and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.engine import rows

import tidegate as tg
from tidegate.flow.errors import BadArgument, BadInput, BadTime, NotSupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def one_source(schema: str = "t INT, k STRING, x INT", time: Any = "t", **options: Any) -> tg.Flow:
    flow = tg.Flow("inputs")
    flow.sink("out", flow.source("clicks", schema, time=time, **options))
    return flow


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "a", 1), (None, "b", 2), (2, "c", 3)], "t INT, k STRING, x INT")


def refused(flow: tg.Flow, spark: SparkSession, inputs: Any, kind: type[Exception] = BadInput) -> str:
    with pytest.raises(kind) as caught:
        flow.compute(spark, inputs)
    return str(caught.value)


def test_a_missing_input_is_named(spark: SparkSession, clicks: DataFrame) -> None:
    """The error names the source that has no input, and the input that may have been meant."""
    assert refused(one_source(), spark, {}) == (
        "expected an input for 'clicks', got none\n  at: flow 'inputs'\n  hint: declared are clicks"
    )
    assert "hint: is it 'click'?" in refused(one_source(), spark, {"click": clicks})


def test_an_input_too_many_is_named(spark: SparkSession, clicks: DataFrame) -> None:
    """An input without a source is an error, not ignored."""
    message = refused(one_source(), spark, {"clicks": clicks, "pages": clicks})
    assert "got an input 'pages' that the flow has no source or table for" in message


def test_other_columns_are_listed(spark: SparkSession, clicks: DataFrame) -> None:
    """What is missing and what is too many is said, with what to do."""
    given = clicks.withColumnRenamed("x", "y")
    assert refused(one_source(), spark, {"clicks": given}) == (
        "expected columns t INT, k STRING, x INT; the input differs\n"
        "  it lacks x INT\n"
        "  it also has y INT\n"
        "  at: source 'clicks'\n"
        "  at: flow 'inputs'\n"
        "  hint: rename or add columns first, or declare in source('clicks', …) those that there are"
    )
    extra = refused(one_source("t INT, k STRING"), spark, {"clicks": clicks})
    assert 'hint: df.select("t", "k"), or declare the others too' in extra


def test_another_type_is_told(spark: SparkSession, clicks: DataFrame) -> None:
    """A column of another type is an error that says both, and the cast; nothing is converted in silence."""
    message = refused(one_source("t INT, k STRING, x BIGINT"), spark, {"clicks": clicks})
    assert "expected column x of type BIGINT, got INT" in message
    assert 'hint: df.withColumn("x", F.col("x").cast("bigint"))' in message


def test_a_time_of_the_wrong_type_is_told(spark: SparkSession, clicks: DataFrame) -> None:
    """A time column of another type is an error about time."""
    message = refused(one_source("t DATE, k STRING, x INT"), spark, {"clicks": clicks}, BadTime)
    assert "expected column t of type DATE, got INT" in message


def test_columns_may_come_in_any_order_and_case(spark: SparkSession, clicks: DataFrame) -> None:
    """Columns are matched by name as in Spark, and named as they were declared."""
    table = one_source().compute(spark, {"clicks": clicks.select("x", "K", "T")})["out"]
    assert table.columns == ["t", "k", "x"]
    assert sorted(rows(table)) == [(1, "a", 1), (2, "c", 3)]


@pytest.mark.parametrize("given", [None, [1], "path"])
def test_only_dataframes_are_taken(spark: SparkSession, given: Any) -> None:
    """Something other than a DataFrame is an error that says what it is."""
    assert f"expected a DataFrame, got {type(given).__name__}" in refused(one_source(), spark, {"clicks": given})


def test_a_streaming_dataframe_is_refused(spark: SparkSession) -> None:
    """`compute` is for bounded inputs; the message says what to call."""
    stream = spark.readStream.format("rate").load()
    assert "flow.start(…) runs on streams" in refused(one_source(), spark, {"clicks": stream})


def test_spark_connect_is_refused(clicks: DataFrame) -> None:
    """A session of Spark Connect is refused with a word; it is known by where its class lives."""
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    message = refused(one_source(), remote, {"clicks": clicks}, NotSupported)
    assert message.startswith("expected a classic Spark session, got one of Spark Connect\n  at: flow 'inputs'")


def test_something_else_is_no_session(clicks: DataFrame) -> None:
    """A session is asked for by name if something else comes."""
    assert "expected a Spark session, got 3 (int)" in refused(one_source(), 3, {"clicks": clicks}, BadArgument)  # type: ignore[arg-type]


def test_rows_without_a_time_are_rejected_and_counted(spark: SparkSession, clicks: DataFrame) -> None:
    """A null time does not vanish: the row is there with the reason, and is counted."""
    tables = one_source().compute(spark, {"clicks": clicks})
    assert sorted(rows(tables["out"])) == [(1, "a", 1), (2, "c", 3)]
    assert rows(tables.rejected["clicks"]) == [(None, "b", 2, "null time in t")]
    assert tables.rejected.counts() == {"clicks": 1}


def test_the_reason_names_each_column_without_a_time(spark: SparkSession) -> None:
    """On several time columns, one null is enough, and the reason names those that are null."""
    given = spark.createDataFrame([(1, 1), (None, 1), (None, None)], "v INT, w INT")
    tables = one_source("v INT, w INT", ("v", "w")).compute(spark, {"clicks": given})
    assert rows(tables["out"]) == [(1, 1)]
    assert sorted(reason for *_, reason in rows(tables.rejected["clicks"])) == ["null time in v", "null time in v, w"]


def test_a_column_called_reason_stays(spark: SparkSession) -> None:
    """A source may have a column of that name; the reason then goes under another one."""
    given = spark.createDataFrame([(None, "mine")], "t INT, reason STRING")
    rejected = one_source("t INT, reason STRING").compute(spark, {"clicks": given}).rejected["clicks"]
    assert rejected.columns == ["t", "reason", "__reason"]
    assert rows(rejected) == [(None, "mine", "null time in t")]


def test_punctuation_is_neither_data_nor_rejected(spark: SparkSession, clicks: DataFrame) -> None:
    """Rows that are watermarks are not data, and may lack a time."""
    flow = one_source(watermark=tg.punctuated("x >= 2"))
    tables = flow.compute(spark, {"clicks": clicks})
    assert rows(tables["out"]) == [(1, "a", 1)]
    assert tables.rejected.counts() == {"clicks": 0}


def test_an_unknown_sink_is_told(spark: SparkSession, clicks: DataFrame) -> None:
    """Asking for a result that is not there names those that are; it is a KeyError as for every mapping."""
    tables = one_source().compute(spark, {"clicks": clicks})
    with pytest.raises(KeyError, match="out"):
        tables["outt"]
    assert list(tables) == ["out"]
    assert "missing" not in tables
