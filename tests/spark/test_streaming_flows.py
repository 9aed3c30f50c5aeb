"""Random flows on streams: whatever the steps, the specification's answers, row for row."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.spark.steps import in_steps, marked_rows, run_steps, with_marks

from tidegate.check.flows import DrawnFlow, flows
from tidegate.flow import Flow
from tidegate.spec import WM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FORMS = st.sampled_from(["dedicated", "dedicated", "A", "A+", "A optimised", "A+ optimised"])


def shuffled(events: list[Any], rng: random.Random) -> list[Any]:
    """The same events, with the rows between two watermarks in another order."""
    found: list[Any] = []
    for _, group in groupby(events, key=lambda event: isinstance(event, WM)):
        part = list(group)
        rng.shuffle(part)
        found += part
    return found


@drawn_examples(2, 60)
@given(drawn=flows(max_operators=3), rng=st.randoms(use_true_random=False), restart=st.booleans(), form=FORMS)
def test_steps_give_what_the_specification_gives(
    spark: SparkSession, drawn: DrawnFlow, rng: random.Random, restart: bool, form: str
) -> None:
    """Wherever steps begin and end, in whatever order and partitions rows come, with or without restarts.

    A share of the flows is composed of Aggregates, and some of those are optimised again.
    """
    compare(spark, drawn, rng, restart=restart, form=form)


def rewritten(flow: Flow, form: str) -> Flow:
    """The flow in one of its forms."""
    if form == "dedicated":
        return flow
    composed = flow.to_aggregates(using=form.split()[0])
    return composed.optimize() if form.endswith("optimised") else composed


def compare(
    spark: SparkSession, drawn: DrawnFlow, rng: random.Random, *, restart: bool, form: str = "dedicated"
) -> None:
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    plan = with_marks(rewritten(drawn.flow, form).plan)
    rows = {s.id: marked_rows(s, shuffled(drawn.inputs[s.id], rng)) for s in plan.sources}
    tables = {t.id: [tuple(row[name] for name in t.schema.names) for row in drawn.inputs[t.id]] for t in plan.tables}
    # Many small steps, where state is put together by the engine's own rule; or few, where it always is.
    fold = rng.random() < 0.7
    cuts = in_steps(rows, rng, steps=rng.choice([1, 2, 3]) if fold else 8)
    with TemporaryDirectory() as directory:
        got = run_steps(
            spark,
            plan,
            cuts,
            tables,
            Path(directory),
            restart=restart,
            partitions=lambda: rng.choice([1, 2, 3]),
            fold=fold,
        )
    assert_same_rows(got["out"], expected)


def test_a_stream_may_be_united_with_itself(spark: SparkSession) -> None:
    """Rows that come by two ways count twice in the answer, and once as rows of their source."""
    flow = Flow("twice")
    rows = flow.source("s", "t INT, k STRING", time="t")
    flow.sink("out", rows.select("k").union(rows.select("upper(k) AS k")).aggregate(by="k", n="count(*)"))
    with TemporaryDirectory() as directory:
        got = run_steps(spark, flow.plan, [{"s": [(1, "a"), (1, "A")]}], {}, Path(directory))
    assert_same_rows(got["out"], [(1, "a", 1), (1, "A", 3)])
