"""Lexicographic orders on Spark's streams: the specification's answers, whatever the widths of numbers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.spark.steps import engine_in, frame, marked_rows, run_steps, with_marks
from tests.spark.test_streaming_flows import compare

import tidegate as tg
from tidegate.check.flows import DrawnFlow
from tidegate.check.ordered_flows import AtOrBelow, lexicographic_flows
from tidegate.engine.frontiers import shown
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.spec import DT, WM
from tidegate.time import TOP, Int, Lexicographic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDER = Lexicographic(Int(), Int())
#: Columns whose numbers fit into a BIGINT, and such whose do not.
widths = pytest.mark.parametrize("columns", ["a SMALLINT, b INT", "a INT, b BIGINT"], ids=["narrow", "wide"])


def event(a: int, b: int, k: str, x: int) -> DT[Any, Any]:
    """A row at its time."""
    return DT((a, b), {"a": a, "b": b, "k": k, "x": x})


#: What comes in each step.
STEPS: list[list[Any]] = [
    [event(1, 5, "p", 1), event(1, -3, "q", 2), event(2, -9, "p", 4), WM((1, 4))],
    [event(1, 6, "p", 8), event(1, 5, "q", 16), WM((1, TOP))],
    [event(2, -10, "q", 32), WM((2, -9))],
    [event(2, -8, "p", 64), event(3, -1, "q", 128)],
]


def totals(columns: str) -> tg.Flow:
    """What is kept of times, in different ways."""
    flow = tg.Flow("totals")
    rows = flow.source("s", f"{columns}, k STRING, x INT", time=tg.ordered(("a", "b"), ORDER))
    flow.sink("sums", rows.accumulate(by="k", n="sum(x)"))
    flow.sink("last", rows.last(2, emit="complete"))
    flow.sink("once", rows.deduplicate("k"))
    flow.sink("as_of", rows.join_asof(rows.where("k = 'q'").select("x AS y"), how="left"))
    flow.sink("below", rows.process(AtOrBelow(ORDER), by="k", schema="n INT"))
    return flow


@widths
def test_a_stream_in_steps(spark: SparkSession, tmp_path: Path, columns: str) -> None:
    """Each step by an engine that knows nothing but the checkpoint."""
    flow = totals(columns)
    expected = flow.reference({"s": [e for step in STEPS for e in step]})
    plan = with_marks(flow.plan)
    cuts = [{"s": marked_rows(plan["s"], step)} for step in STEPS]
    got = run_steps(spark, plan, cuts, {}, tmp_path, restart=True)
    for sink in plan.sinks:
        assert_same_rows(got[sink.name], [tuple(row.values()) for row in expected.rows(sink.name)])


@widths
def test_the_frontier_and_what_is_set_aside(spark: SparkSession, tmp_path: Path, columns: str) -> None:
    """A watermark with NULL completes the first column's value; one that begins with NULL is rejected."""
    flow = tg.Flow("marks")
    flow.sink("out", flow.source("s", f"{columns}, k STRING, x INT", time=tg.ordered(("a", "b"), ORDER)).gate())
    plan = with_marks(flow.plan)
    engine = engine_in(spark, plan, {}, tmp_path)
    told = []
    strange = [(1, 9, "late", 0), (5, None, "none", 0), (None, 1, "watermark", None)]
    for number, rows in enumerate([marked_rows(plan["s"], STEPS[0]), marked_rows(plan["s"], STEPS[1]), strange]):
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan["s"].schema, rows)})
        engine.step(batch, number)
        told.append(shown(engine.flow["s"].schema, engine.marks["s"].frontier))
    assert told == ["(1, 5)", "(2, any)", "(2, any)"]
    assert (engine.marks["s"].late, engine.marks["s"].rejected) == (1, 2)


@drawn_examples(2, 60)
@given(drawn=lexicographic_flows(max_operators=3), rng=st.randoms(use_true_random=False), restart=st.booleans())
def test_steps_give_what_the_specification_gives(
    spark: SparkSession, drawn: DrawnFlow, rng: random.Random, restart: bool
) -> None:
    """Wherever steps begin and end, with or without restarts."""
    compare(spark, drawn, rng, restart=restart)
