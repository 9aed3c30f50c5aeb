"""What only Spark can tell: settled before data is read, with errors like those of building a flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.engine import rows

import tidegate as tg
from tidegate.flow.errors import BadArgument, BadExpression, ColumnClash, FlowError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Build = Callable[[tg.Stream], tg.Stream]


@pytest.fixture(scope="module")
def never_read(spark: SparkSession) -> DataFrame:
    """Rows that cannot be read: whoever reads them fails."""
    return spark.range(1).selectExpr(
        "CAST(raise_error('data was read') AS INT) AS t", "'a' AS k", "CAST(id AS INT) AS x"
    )


def built(build: Build) -> tg.Flow:
    flow = tg.Flow("settle")
    flow.sink("out", build(flow.source("s", "t INT, k STRING, x INT", time="t")))
    return flow


def refused(build: Build, kind: type[FlowError], spark: SparkSession, given: DataFrame) -> str:
    flow = built(build)
    with pytest.raises(kind) as caught:
        flow.compute(spark, {"s": given})
    return str(caught.value)


def test_an_unknown_function_is_pointed_at(spark: SparkSession, never_read: DataFrame) -> None:
    """A function that Spark lacks is an error with the text, a caret, the operator and the flow."""
    message = refused(lambda s: s.select("x + nosuch(x) AS y"), BadExpression, spark, never_read)
    _, text, carets, *places, hint = message.split("\n")
    assert (text, carets) == ("  x + nosuch(x)", "      ^^^^^^^^^")
    assert places == ["  at: select(…) on s", "  at: flow 'settle'"]
    assert "spark.udf.register" in hint


def test_types_that_do_not_fit_are_pointed_at(spark: SparkSession, never_read: DataFrame) -> None:
    """An argument of a type that a function does not take is an error with its place in the text."""
    message = refused(lambda s: s.where("x > 0 AND size(x) > 1"), BadExpression, spark, never_read)
    assert "  x > 0 AND size(x) > 1\n            ^^^^^^^\n" in message
    assert "SQLSTATE" not in message


def test_an_aggregate_that_does_not_fit_is_pointed_at(spark: SparkSession, never_read: DataFrame) -> None:
    """The same holds inside of aggregates."""
    message = refused(lambda s: s.accumulate(by="k", y="sum(map(k, x))"), BadExpression, spark, never_read)
    assert "sum(map(k, x))" in message
    assert "accumulate(…) on s" in message


@pytest.mark.parametrize("changed", [{"start": "SELECT nosuch(x) AS node, x AS label FROM input"}, {"rounds": 2}])
@pytest.mark.parametrize("others", [0, 2])
def test_a_query_of_a_loop_that_does_not_fit_is_shown(
    spark: SparkSession, never_read: DataFrame, changed: dict[str, Any], others: int
) -> None:
    """The expression that Spark refuses, and not a column of what the loop keeps; whatever else the loop reads."""
    flow = tg.Flow("settle")
    also = {f"o{i}": flow.table(f"o{i}", "y INT") for i in range(others)}
    joined = "".join(f" JOIN {name} ON {name}.y = k.node" for name in also)
    step = f"SELECT i.x AS node, nosuch(k.label) AS label FROM known k JOIN input i ON i.x = k.node{joined}"
    queries = {"start": "SELECT x AS node, x AS label FROM input", "step": step} | changed
    rows = flow.source("s", "t INT, k STRING, x INT", time="t")
    flow.sink("out", rows.iterate(**queries, key="node", keep="min(label) AS label", also=also))
    with pytest.raises(BadExpression) as caught:
        flow.compute(spark, {"s": never_read} | {name: spark.sql("SELECT 1 AS y") for name in also})
    message = str(caught.value)
    assert message.startswith("Cannot resolve routine `nosuch`")
    assert "\n  nosuch(" in message
    assert message.split("\n")[-3].startswith("  at: iterate(…) on s")
    assert "spark.udf.register" in message


def test_a_condition_that_is_none(spark: SparkSession, never_read: DataFrame) -> None:
    """A condition whose type was open and turns out to be a number is refused."""
    message = refused(lambda s: s.where("try_add(x, 1)"), BadArgument, spark, never_read)
    assert message.startswith("expected a condition, got try_add(x, 1)")


def test_exploding_what_is_no_array(spark: SparkSession, never_read: DataFrame) -> None:
    """A column whose type was open and turns out to be no array is refused."""
    message = refused(lambda s: s.select("try_add(x, 1) AS y").explode("y"), BadArgument, spark, never_read)
    assert message.startswith("expected an array column, got y INT")


def test_a_union_converts_nothing_in_silence(spark: SparkSession, never_read: DataFrame) -> None:
    """Spark alone would make doubles of both; here the two types are told, and the cast."""
    message = refused(
        lambda s: s.select("try_add(x, 1) AS y").union(s.select("try_divide(x, 2) AS y")),
        ColumnClash,
        spark,
        never_read,
    )
    assert message.startswith("expected y of one type on both sides, got INT in select#1 and DOUBLE in select#2")
    assert 'hint: with_columns(y="CAST(y AS INT)") on select#2' in message


def test_a_join_converts_nothing_in_silence(spark: SparkSession, never_read: DataFrame) -> None:
    """The same holds for columns that are joined on."""
    message = refused(
        lambda s: s.select("try_add(x, 1) AS y").join(s.select("try_divide(x, 2) AS y"), on="y"),
        ColumnClash,
        spark,
        never_read,
    )
    assert "expected y of one type on both sides" in message


def test_a_function_of_the_users_own(spark: SparkSession) -> None:
    """A function that was registered with the session is found when the flow starts."""
    spark.udf.register("twice", lambda x: 2 * x, "int")
    given = spark.createDataFrame([(1, "a", 21)], "t INT, k STRING, x INT")
    table = built(lambda s: s.select("twice(x) AS y")).compute(spark, {"s": given})["out"]
    assert rows(table) == [(1, 42)]
