"""The 24 queries on bounded Spark give what a few lines of plain Python give, in every form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.aggregates.queries import PUBLISHED, QUERIES
from tests.bench.given import CHANGES, PAIRS, QUICK, changed, edges, given, rounded, scans, texts
from tests.flow.case import assert_same_rows
from tests.flow.plain import plain
from tests.spark.engine import by_spark, frame

from tidegate.engine.lowering import pairs
from tidegate.spark.runtime import spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("name", "using"),
    [
        pytest.param(name, using, marks=[] if name in QUICK and using == "A" else pytest.mark.slow)
        for name in QUERIES
        for using in ("", "A", "A+")
    ],
)
def test_queries_give_what_plain_python_gives(spark: SparkSession, name: str, using: str) -> None:
    """Dedicated, and composed of A or of A+: words, points, and pairs once for each window that they share."""
    rows = given(name)
    expected = plain(name, *rows.values())
    assert expected
    flow = QUERIES[name]()
    found = by_spark(spark, flow.to_aggregates(using=using) if using else flow, rows)
    assert_same_rows(sorted(map(rounded, found)), sorted(map(rounded, expected)))


def test_changes_are_split_as_java_splits_them(spark: SparkSession) -> None:
    """Java's ``$`` also matches before an end of line at the end of a text; so the key of a Join is made without it."""
    pairs = by_spark(spark, QUERIES["LLJ"](), {"texts": changed()})
    assert {(int(row[2][-2]), row[1]) for row in pairs} == set(enumerate(CHANGES.values()))


@pytest.mark.parametrize(
    ("program", "name"),
    [
        pytest.param(program, name, marks=pytest.mark.slow)
        for program in PUBLISHED
        for name in PUBLISHED[program]
        # The Maps of all programs are the same.
        if program == "flink" or name.endswith("J")
    ],
)
def test_published_queries_give_what_plain_python_gives(spark: SparkSession, program: str, name: str) -> None:
    """Queries of the programs that differ from the table, which DuckDB computes in other ways."""
    rows = given(name)
    expected = plain(name, *rows.values(), published=program)
    found = by_spark(spark, PUBLISHED[program][name](), rows)
    assert_same_rows(sorted(map(rounded, found)), sorted(map(rounded, expected)))


@pytest.mark.parametrize("program", PUBLISHED)
def test_published_joins_of_texts_differ_at_their_edges(spark: SparkSession, program: str) -> None:
    """Each gives the pairs that were worked out by hand; the six differ in two numbers, so that one is enough."""
    rows = edges("ALJ")
    found = by_spark(spark, PUBLISHED[program]["ALJ"](), {"texts": rows})
    assert {row[2][0] + row[3][0] for row in found} == PAIRS[program]
    assert_same_rows(sorted(found), sorted(plain("ALJ", rows, published=program)))


def exchanges(spark: SparkSession, name: str, place: Path) -> tuple[int, int]:
    """How many exchanges the plan of a Join of two large sides has, and how many of them are used again."""
    source, rows = ("texts", texts(name)) if name.isupper() else ("scans", scans(name))
    flow = QUERIES[name]()
    frame(spark, flow.plan[source].schema, rows).write.mode("overwrite").parquet(str(place))
    large = spark_runtime(spark).settings(
        spark__sql__adaptive__enabled="false", spark__sql__autoBroadcastJoinThreshold="-1"
    )
    with large:
        table = flow.compute(spark, {source: spark.read.parquet(str(place))})["out"]
        plan = table._jdf.queryExecution().executedPlan().toString()
    reused = plan.count("ReusedExchange")
    return plan.count("Exchange hashpartitioning") - reused, reused


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LLJ", "hhj"])
def test_a_stream_that_is_joined_with_itself_is_computed_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """The sides differ in the names of columns only, so that one of them is enough; with other names, it is not."""
    assert exchanges(spark, name, tmp_path) == (1, 1)
    monkeypatch.setattr(pairs, "_names", lambda _operator, _left, right: {n: n for n in right.names})
    assert exchanges(spark, name, tmp_path) == (2, 0)
