"""The 24 queries on bounded Spark give what a few lines of plain Python give, in every form."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from bench.aggregates.queries import QUERIES, draw_scans, draw_texts
from tests.flow.case import assert_same_rows
from tests.flow.plain import plain
from tests.spark.engine import by_spark, frame

from tidegate.engine.lowering import pairs
from tidegate.spark.runtime import spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 1)
AWKWARD = [
    (START, " leading and  double ", "", "   "),
    (START, "b a B a b", "x", "x x y"),
    (START, "", " ", "a"),
    (START, "aaaaaaaaaaaa", "bbbbbbbbbb c bbbbbbbbbb", "cccccccccc"),
]
#: One of each kind and cost on each kind of data runs in every test run, the others in the long one.
QUICK = ("LLM", "HHM", "ALJ", "lhm", "hlm", "hlj")


def texts(name: str) -> list[Any]:
    """Texts of which some match, or have no words."""
    apart = timedelta(milliseconds=400)
    if name.endswith("M"):
        return [*AWKWARD, *islice(draw_texts(Random(2), apart=apart), 12)]
    rows = [row for row in islice(draw_texts(Random(3), apart=apart), 60) if len(row[1]) > 100][:16]
    rows += [(ts, orig.upper(), change, updated) for ts, orig, change, updated in rows[:3]]
    return rows + [(ts, orig[::-1], change, updated) for ts, orig, change, updated in rows[:16]]


def scans(name: str) -> list[Any]:
    """Scans of which some are far, and some are alike."""
    rows = list(islice(draw_scans(Random(4), apart=timedelta(milliseconds=150)), 6))
    if name.endswith("m"):
        return [(ts, n, [d - dist[0] + 1.5 + 2 * (n % 3) for d in dist]) for ts, n, dist in rows]
    return (
        rows
        + [(ts, n + 10, [d + 0.0085 for d in dist]) for ts, n, dist in rows[:3]]
        + [(ts, n + 20, [d + 0.0072 for d in dist]) for ts, n, dist in rows[:2]]
        + [(ts, n + 30, [d + 0.006 for d in dist]) for ts, n, dist in rows[:2]]
    )


@pytest.mark.parametrize(
    ("name", "using"),
    [
        pytest.param(name, using, marks=[] if name in QUICK and using in ("", "A") else pytest.mark.slow)
        for name in QUERIES
        for using in ("", "A", "A+")
    ],
)
def test_queries_give_what_plain_python_gives(spark: SparkSession, name: str, using: str) -> None:
    """Dedicated, and composed of A or of A+: words, points, and pairs once for each window that they share."""
    rows = texts(name) if name.isupper() else scans(name)
    expected = plain(name, rows)
    assert expected
    flow = QUERIES[name]()
    given = {"texts" if name.isupper() else "scans": rows}
    found = by_spark(spark, flow.to_aggregates(using=using) if using else flow, given)
    assert_same_rows(sorted(map(_rounded, found)), sorted(map(_rounded, expected)))


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


@pytest.mark.parametrize("name", ["LLJ", "hhj"])
def test_a_stream_that_is_joined_with_itself_is_computed_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """The sides differ in the names of columns only, so that one of them is enough; with other names, it is not."""
    assert exchanges(spark, name, tmp_path) == (1, 1)
    monkeypatch.setattr(pairs, "_names", lambda _operator, _left, right: {n: n for n in right.names})
    assert exchanges(spark, name, tmp_path) == (2, 0)


def _rounded(row: Any) -> Any:
    """A row whose fractions are cut to what no engine differs in."""
    if isinstance(row, dict):
        return tuple(_rounded(value) for value in row.values())
    if isinstance(row, list | tuple):
        return tuple(_rounded(value) for value in row)
    return round(row, 7) + 0.0 if isinstance(row, float) else row
