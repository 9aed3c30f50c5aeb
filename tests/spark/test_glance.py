"""A look at results on Spark: no job runs for it, unless the session says that DataFrames show their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.flow.case import ints

import tidegate as tg

pytestmark = pytest.mark.spark
EAGER = "spark.sql.repl.eagerEval.enabled"


@pytest.fixture
def eager(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(EAGER, "true")
    yield spark
    spark.conf.unset(EAGER)


def results(spark: SparkSession) -> Any:
    flow = tg.Flow("few")
    flow.sink("out", ints(flow).where("x > 1"))
    given = spark.createDataFrame([*((n, "a", n) for n in range(9)), (None, "b", 1)], "t INT, k STRING, x INT")
    return flow.compute(spark, {"s": given})


def test_a_look_starts_no_job(spark: SparkSession) -> None:
    """There are columns, and the setting by which there would be rows."""
    tables, context = results(spark), spark.sparkContext
    context.setJobGroup("a look at results", "none is to run")
    try:
        html = tables._repr_html_()
        assert list(context.statusTracker().getJobIdsForGroup("a look at results")) == []
        tables["out"].count()
        assert list(context.statusTracker().getJobIdsForGroup("a look at results")) != []
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert f"<caption>out: rows not computed, as {EAGER} is not true</caption>" in html
    assert "<tr><td>x</td><td>INT</td></tr>" in html


def test_where_dataframes_show_rows_so_do_results(eager: SparkSession) -> None:
    """Five rows of a sink, and how many rows were rejected."""
    html = results(eager)._repr_html_()
    assert "<caption>out: 5 rows, and tables[&#x27;out&#x27;] has more</caption>" in html
    assert "rejected rows: 1 of s" in html
