"""Computed keys of joins are columns on Spark: the same pairs, and each key is computed once for a row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from tests.flow.case import assert_same_rows
from tests.flow.specified import by_reference
from tests.spark.engine import by_spark as rows_by_spark
from tests.spark.engine import frame

import tidegate as tg
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.schema import parse_schema
from tidegate.spark import join_keys, relation
from tidegate.spark.backend import SparkBackend
from tidegate.spark.far_pairs import without_far_pairs
from tidegate.spark.join_keys import keys_as_columns
from tidegate.spark.runtime import spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KINDS = ["inner", "left", "right", "full", "semi", "anti"]
TEXTS = ["1", "22", "", None, "333", "x1"]
LEFT = [(t, f"{t}", text, i) for t in (0, 1) for i, text in enumerate(TEXTS)]
RIGHT = [(t, f"{t}", text, 2 * i) for t in (0, 1) for i, text in enumerate(TEXTS)]
CONDITIONS = [
    "length(left.s) = length(right.o)",
    "length(right.o) = left.x AND left.x < 4",
    "length(left.s) = length(right.o) AND left.x = length(right.o) AND left.s <> right.o",
    # Keys of one side each, and then one that is of the side of the first, or of both.
    "length(left.s) = right.n AND left.x = length(right.o) AND length(left.k) = right.n",
    "length(left.s) = right.n AND left.x = length(right.o) AND length(left.k) = length(right.k2)",
    # One side is a column, of another type.
    "left.x = length(right.o) * CAST(1 AS DOUBLE)",
    # They may fail, so they are no columns.
    "CAST(length(left.s) AS BIGINT) = right.n",
    "left.x = right.n + 1",
    # What connects alternatives stays as it is, beside a key and alone.
    "length(left.s) = length(right.o) AND (left.x = 1 OR right.n = 2)",
    "length(left.s) = length(right.o) OR left.x = right.n",
]

TYPES = {f"{side}.{name}": "STRING" for side in ("left", "right") for name in "abc"}
TYPES |= {"left.n": "INT", "right.n": "INT", "left.l": "ARRAY<INT>", "left.st": "STRUCT<f: STRING>"}


def joined(how: str, where: str) -> tg.Flow:
    flow = tg.Flow("keys")
    left = flow.source("a", "t INT, k STRING, s STRING, x INT", time="t")
    right = flow.source("b", "t INT, k STRING, o STRING, n INT", time="t")
    right = right.with_columns(k2="k") if "k2" in where else right
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

    def broken(condition: str, types: Any) -> Any:
        left, right, on = keys_as_columns(condition, types)
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


def guarded(how: str) -> tg.Flow:
    """Return a join whose key fails for rows that an operator before it excludes."""
    flow = tg.Flow("guarded")
    rows = flow.source("a", "t INT, k STRING, s STRING, x INT", time="t")
    good = flow.table("b", "k STRING")
    numbers = flow.table("c", "n INT")
    if how == "aggregate":
        rows = rows.aggregate(by=("k", "s"), c="count(*)").where("c > 1")
    else:
        rows = rows.join(good, on="k", how=how)
    flow.sink("out", rows.join(numbers, on=(), where="CAST(left.s AS INT) = right.n").select("s", "n"))
    return flow


def by_guarded(spark: SparkSession, how: str) -> None:
    flow = guarded(how)
    rows = [(0, "p", "1", 1), (0, "p", "1", 1), (0, "q", "bad", 5)]
    given: dict[str, list[Any]] = {"a": rows, "b": [("q",) if how == "anti" else ("p",)], "c": [(1,), (2,)]}
    inputs = (*flow.plan.sources, *flow.plan.tables)
    frames = {one.id: frame(spark, one.schema, given[one.id]) for one in inputs}
    found = [tuple(row) for row in flow.compute(spark, frames)["out"].collect()]
    assert_same_rows(found, by_reference(flow, given))


@pytest.mark.parametrize("how", ["inner", "semi", "anti", "aggregate"])
def test_no_key_is_computed_for_rows_that_are_excluded_before(spark: SparkSession, how: str) -> None:
    """Spark would compute a column, to see whether it is NULL, below the operators before the join."""
    by_guarded(spark, how)


def test_keys_that_may_fail_are_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would find it if such a key were a column."""
    monkeypatch.setattr(join_keys, "never_fails", lambda condition, types: True)
    monkeypatch.setattr(join_keys, "_written", join_keys._written.__wrapped__)
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        by_guarded(spark, "semi")


#: Keys that never fail but are not strict, with the column of the left side that they read, and the rows of the table.
NOT_STRICT = [
    ("(left.n IN (1, 2)) = right.g", "CAST(s AS INT) AS n", "g BOOLEAN", [(True,), (False,)]),
    ("(left.n > 2 OR left.n < 2) = right.g", "CAST(s AS INT) AS n", "g BOOLEAN", [(True,), (False,)]),
    (
        "size(filter(left.xs, x -> x > 0)) = right.m",
        "IF(s = '', NULL, array(CAST(s AS INT))) AS xs",
        "m INT",
        [(1,), (2,)],
    ),
]


def by_guarded_column(spark: SparkSession, how: str, key: tuple[str, str, str, list[Any]]) -> None:
    """Compare a join by a key that reads a column which fails for rows that an operator before it excludes."""
    where, column, columns, others = key
    flow = tg.Flow("guarded")
    rows = flow.source("a", "t INT, k STRING, s STRING", time="t")
    if how == "aggregate":
        rows = rows.aggregate(by=("k", "s"), c="count(*)").where("c > 1")
    else:
        rows = rows.join(flow.table("b", "k STRING"), on="k", how=how)
    flow.sink("out", rows.select("k", column).join(flow.table("c", columns), on=(), where=where).select("k"))
    given: dict[str, list[Any]] = {"a": [(0, "p", "1"), (0, "p", "1"), (0, "q", "bad")], "c": others}
    given |= {} if how == "aggregate" else {"b": [("q",) if how == "anti" else ("p",)]}
    expected = by_reference(flow, given)
    assert expected
    assert_same_rows(rows_by_spark(spark, flow, given), expected)


@pytest.mark.parametrize("key", NOT_STRICT, ids=["in", "or", "lambda"])
@pytest.mark.parametrize("how", ["inner", "semi", "anti", "aggregate"])
def test_no_column_that_a_key_reads_is_computed_for_rows_that_are_excluded_before(
    spark: SparkSession, how: str, key: Any
) -> None:
    """The key never fails, but what computes the column may: Spark would see below both whether the key is NULL."""
    by_guarded_column(spark, how, key)


def test_keys_that_are_not_strict_are_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would find it if such a key were a column."""
    monkeypatch.setattr(join_keys, "_is_strict", lambda node: True)
    monkeypatch.setattr(join_keys, "_written", join_keys._written.__wrapped__)
    for key in NOT_STRICT:
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            by_guarded_column(spark, "semi", key)


def test_spark_asks_of_columns_below_strict_keys_whether_they_are_null(spark: SparkSession) -> None:
    """It does for each function, and each other expression, of which keys may be made."""
    texts = {name: f"{name}(o.s)" for name in join_keys._STRICT}
    texts |= {name: f"{name}(o.s, o.u)" for name in ("startswith", "endswith", "contains")} | {"abs": "abs(o.d)"}
    texts |= {sign: f"o.d {sign} o.e" for sign in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")}
    texts |= {"cast": "CAST((o.n) AS BIGINT)", "not": "NOT (o.d > 1)", "!=": "(o.d != o.e) = true"}
    left = frame(spark, parse_schema("n INT, s STRING, u STRING, d DOUBLE, e DOUBLE", time=()), []).alias("o")
    for sql in texts.values():
        assert join_keys._is_strict(parse_plain(sql)), sql
        type_ = left.selectExpr(sql).schema[0].dataType
        other = frame(spark, parse_schema(f"z {type_.simpleString()}", time=()), [])
        joined = left.join(other, spark_runtime(spark).expr(f"({sql}) = z"))
        plan = str(joined._jdf.queryExecution().optimizedPlan())  # type: ignore[operator]
        for column in re.findall(r"o\.(\w)", sql):
            assert f"isnotnull({column}#" in plan, (sql, plan)


def test_a_pattern_after_an_equation_is_no_key(spark: SparkSession) -> None:
    """`a = b RLIKE c` asks whether the text of `a = b` is like the pattern."""
    backend = SparkBackend(spark_runtime(spark))
    left = frame(spark, parse_schema("flag BOOLEAN", time=()), [(True,), (False,)])
    right = frame(spark, parse_schema("f STRING", time=()), [("t",), ("f",)])
    columns = {"flag": "left.flag", "f": "right.f"}
    on = "left.flag = right.f RLIKE '^tr'"
    found = backend.relation(left).join(backend.relation(right), on, "inner", columns).frame.collect()
    assert sorted(map(tuple, found)) == [(False, "f"), (True, "t")]


def test_a_column_stays_as_it_is(spark: SparkSession) -> None:
    """Only what is computed is a column: rows that are divided by a column are not divided again."""
    found = by_spark(spark, joined("inner", "left.x = length(right.o)"), LEFT, RIGHT)
    plan = str(found._jdf.queryExecution().optimizedPlan())  # type: ignore[operator]
    (join,) = (line for line in plan.splitlines() if line.strip(" :+-").startswith("Join "))
    assert join.count("__key") == 1
    assert "(x#" in join or "= x#" in join


def test_keys_are_found_beside_sums_of_lists() -> None:
    """What comes before a sum is in parentheses, so the parts of the condition are still its parts."""
    types = TYPES | {"left.l": "ARRAY<DOUBLE>", "right.l": "ARRAY<DOUBLE>"}
    total = "reduce(zip_with(left.l, right.l, (x, y) -> abs(x - y)), CAST(0 AS DOUBLE), (s, t) -> s + t) < 0.5"
    condition = without_far_pairs(f"length(left.a) = length(right.b) AND {total}", types)
    assert "THEN false" in condition
    left, right, on = keys_as_columns(condition, types)
    assert (left, right) == ({"__key0": "length(left.a)"}, {"__key0": "length(right.b)"})
    assert on.startswith("`left`.__key0 = `right`.__key0 AND (CASE WHEN ")


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
        # These may fail, or it is not known whether they do.
        "CAST(left.a AS INT) = right.n",
        "left.n + 1 = right.n",
        "left.a = right.b COLLATE UTF8_LCASE",
        "left.n = hash(right.b)",
        # They may be NULL where no column is, or the other way round, and Spark would compute columns to see it.
        "(left.n IN (1, 2)) = (right.n > 0)",
        "(left.n > 2 OR left.n < 1) = (right.n > 0)",
        "(left.n <=> 1) = (right.n > 0)",
        "size(left.l) = right.n",
        "length(trim(left.a)) = right.n",
        "length(left.st.f) = right.n",
        # Parentheses compute nothing.
        "(left.a) = ((right.b))",
        "left.n = unknown(right.b)",
        "CAST(left.a AS TIME) = CAST(right.b AS TIME)",
    ],
)
def test_other_conditions_stay(condition: str) -> None:
    """Only what equates a value of one side with a value of the other is a key, and columns need no others."""
    assert keys_as_columns(condition, TYPES) == ({}, {}, condition)
