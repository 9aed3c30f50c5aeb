"""Flows written with Aggregates alone run on bounded Spark too, and give what the specification gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows, rows_given
from tests.flow.test_rewrites import OPERATORS, ROWS, flow_of, given_rows, zeros
from tests.spark.engine import by_spark
from tests.spark.steps import by_steps

from tidegate.check.flows import DrawnFlow, flows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

#: One of each kind runs in every test run, the others in the long one.
QUICK = ("where and select", "explode", "join that equates", "accumulate what cannot be merged")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in OPERATORS]
)
def test_each_composition_gives_the_same_rows(spark: SparkSession, name: str) -> None:
    """With duplicates, nulls as keys, empty arrays and no arrays."""
    flow = flow_of(OPERATORS[name][0])
    expected = [tuple(row.values()) for row in flow.reference(given_rows(flow)).rows("out")]
    for using in ("A", "A+"):
        assert_same_rows(by_spark(spark, flow.to_aggregates(using=using), ROWS), expected)


@pytest.mark.parametrize(
    "name", ["explode", *(pytest.param(name, marks=pytest.mark.slow) for name in ("where", "join where"))]
)
def test_a_loop_gives_the_same_rows(spark: SparkSession, name: str) -> None:
    """Unfolding as a loop, a round for each element, gives what unfolding in one go gives."""
    flow = flow_of(OPERATORS[name][0])
    looped = flow.to_aggregates(using="A", looped=True)
    assert any(getattr(operator, "looped", False) for operator in looped.plan)
    expected = [tuple(row.values()) for row in flow.reference(given_rows(flow)).rows("out")]
    assert_same_rows(by_spark(spark, looped, ROWS), expected)


@pytest.mark.parametrize(
    "name", ["explode", *(pytest.param(name, marks=pytest.mark.slow) for name in ("where", "join where"))]
)
def test_a_loop_gives_the_same_rows_in_steps(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """On streams, each step runs the rounds of what it completes."""
    flow = flow_of(OPERATORS[name][0])
    looped = flow.to_aggregates(using="A", looped=True)
    assert_same_rows(by_steps(spark, looped, ROWS, tmp_path), by_spark(spark, flow, ROWS))


def test_a_loop_keeps_the_sign_of_zero(spark: SparkSession) -> None:
    """As a key, -0.0 is 0.0; what a loop gives out is not made of a key."""
    flow, rows = zeros()
    found = by_spark(spark, flow.to_aggregates(using="A", looped=True), rows)
    assert sorted(map(str, found)) == sorted(map(str, by_spark(spark, flow, rows)))
    assert Counter(map(str, found))["(1, -0.0, -0.0)"] == 2


@pytest.mark.slow
def test_a_loop_keeps_the_sign_of_zero_in_steps(spark: SparkSession, tmp_path: Path) -> None:
    """Also if a step runs the rounds of rows that came in several steps."""
    flow, rows = zeros()
    found = by_steps(spark, flow.to_aggregates(using="A", looped=True), rows, tmp_path)
    assert Counter(map(str, found)) == Counter(map(str, by_spark(spark, flow, rows)))


@pytest.mark.slow
@drawn_examples(3, 100)
@given(drawn=flows(watermarks=False), using=st.sampled_from(["A", "A+"]))
def test_rewritten_flows_give_what_the_specification_gives(spark: SparkSession, drawn: DrawnFlow, using: str) -> None:
    """Random flows, rewritten and also optimised again, give on Spark what they were on the reference."""
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    composed = drawn.flow.to_aggregates(using=using)
    for flow in (composed, composed.optimize()):
        assert_same_rows(by_spark(spark, flow, rows_given(drawn)), expected)
