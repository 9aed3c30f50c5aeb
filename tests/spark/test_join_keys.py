"""Computed keys of joins are columns on Spark: the same pairs, and each key is computed once for a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from tests.flow.case import assert_same_rows
from tests.flow.specified import by_reference
from tests.spark.engine import frame

import tidegate as tg
from tidegate.spark import relation
from tidegate.spark.join_keys import keys_as_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KINDS = ["inner", "left", "right", "full", "semi", "anti"]
TEXTS = ["1", "22", "", None, "333", "x1"]
LEFT = [(t, f"{t}", text, i) for t in (0, 1) for i, text in enumerate(TEXTS)]
RIGHT = [(t, f"{t}", text, 2 * i) for t in (0, 1) for i, text in enumerate(TEXTS)]
CONDITIONS = [
    "length(left.s) = length(right.o)",
    "right.n + 1 = left.x AND left.x < 4",
    "length(left.s) = length(right.o) AND left.x + 1 = right.n AND left.s <> right.o",
    # One side is a column, of another type.
    "left.x = right.n / 2",
    "CAST(length(left.s) AS BIGINT) = right.n",
    # What connects alternatives stays as it is, beside a key and alone.
    "length(left.s) = length(right.o) AND (left.x = 1 OR right.n = 2)",
    "length(left.s) = length(right.o) OR left.x = right.n",
]


def joined(how: str, where: str) -> tg.Flow:
    flow = tg.Flow("keys")
    left = flow.source("a", "t INT, k STRING, s STRING, x INT", time="t")
    right = flow.source("b", "t INT, k STRING, o STRING, n INT", time="t")
    flow.sink("out", left.join(right, on="k", where=where, how=how))
    return flow


def by_spark(spark: SparkSession, flow: tg.Flow, a: list[Any], b: list[Any]) -> DataFrame:
    given = {"a": a, "b": b}
    frames = {source.id: frame(spark, source.schema, given[source.id]) for source in flow.plan.sources}
    return flow.compute(spark, frames)["out"]


@pytest.mark.parametrize("how", KINDS)
def test_the_pairs_are_those_of_the_specification(spark: SparkSession, how: str) -> None:
    """Of every kind of join, with keys of one side and of both, of one type and of two, with NULL among them."""
    for where in CONDITIONS:
        flow = joined(how, where)
        found = [tuple(row) for row in by_spark(spark, flow, LEFT, RIGHT).collect()]
        assert_same_rows(found, by_reference(flow, {"a": LEFT, "b": RIGHT}))


def test_broken_keys_are_found(spark: SparkSession) -> None:
    """The comparison can fail: both sides have the key of the left one."""

    def broken(condition: str) -> Any:
        left, right, on = keys_as_columns(condition)
        return left, {name: sql.replace("length", "1 + length") for name, sql in right.items()}, on

    with patch.object(relation, "keys_as_columns", broken), pytest.raises(AssertionError):
        test_the_pairs_are_those_of_the_specification(spark, "inner")


def test_a_computed_key_is_a_column_of_each_side(spark: SparkSession) -> None:
    """Spark's join compares columns, and does not compute lengths."""
    found = by_spark(spark, joined("inner", CONDITIONS[0]), LEFT, RIGHT)
    plan = str(found._jdf.queryExecution().optimizedPlan())  # type: ignore[operator]
    (join,) = (line for line in plan.splitlines() if line.strip(" :+-").startswith("Join "))
    assert "__key0" in join
    assert "length" not in join


def failed(run: Any) -> bool:
    try:
        run()
    except Exception as error:
        assert "CAST_INVALID_INPUT" in str(error)  # noqa: PT017
        return True
    return False


@pytest.mark.parametrize("how", ["inner", "left", "semi"])
@pytest.mark.parametrize("where", ["left.x < 3 AND CAST(left.s AS INT) = right.n", "CAST(left.s AS INT) = right.n"])
def test_keys_fail_where_they_failed_before(spark: SparkSession, how: str, where: str) -> None:
    """A key that cannot be computed stops the join, or does not, as if it were computed in the condition."""
    left = [(0, "0", "1", 1), (0, "0", "bad", 5)]
    right = [(0, "0", "y", 1)]
    run = lambda: by_spark(spark, joined(how, where), left, right).collect()  # noqa: E731
    found = failed(run)
    with patch.object(relation, "keys_as_columns", lambda condition: ({}, {}, condition)):
        assert failed(run) == found


@pytest.mark.parametrize(
    "condition",
    [
        "left.a = right.b",
        "left.a = 5",
        "length(left.a) = 5",
        "left.a = left.b + 1",
        "left.a + right.b = 5",
        "left.a + right.b = right.c",
        "length(left.a) <=> length(right.b)",
        "length(left.a) < length(right.b)",
        "length(left.a) = length(right.b) OR left.a = right.b",
        "NOT length(left.a) = length(right.b)",
        "exists(left.a, x -> x = length(right.b))",
    ],
)
def test_other_conditions_stay(condition: str) -> None:
    """Only what equates a value of one side with a value of the other is a key, and columns need no others."""
    assert keys_as_columns(condition) == ({}, {}, condition)
