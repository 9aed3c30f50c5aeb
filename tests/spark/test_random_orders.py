"""Random flows on times of a `Poset` or a `Sum`: Spark gives what the specification gives, bounded and on streams."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.cases.ordered import PAPER
from tests.spark.test_random_flows import compare as compare_bounded
from tests.spark.test_streaming_flows import FORMS, compare

import tidegate as tg
from tidegate.check.flows import DrawnFlow
from tidegate.check.ordered_flows import ordered_flows
from tidegate.flow.orders import PosetCoordinates
from tidegate.spec import DT, WM, Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def sums(*, watermarks: bool) -> DrawnFlow:
    """A flow whose sums are others if two elements compare that do not: few drawn ones may have no such elements."""
    flow = tg.Flow("sums")
    source = flow.source("s0", "t STRING, k STRING, x INT", time=tg.ordered("t", PAPER))
    flow.sink("out", source.accumulate(n="sum(x)"))
    events: list[Event] = []
    for i, t in enumerate(PAPER.elements):
        events += [DT(t, {"t": t, "k": "a", "x": 1 << i}), *([WM(t)] if watermarks else [])]
    return DrawnFlow(flow, {"s0": events}, ("accumulate",))


@drawn_examples(4, 60)
@example(drawn=sums(watermarks=False))
@given(drawn=ordered_flows(watermarks=False))
def test_bounded_runs_give_what_the_specification_gives(spark: SparkSession, drawn: DrawnFlow) -> None:
    """On points, whatever the order is."""
    compare_bounded(spark, drawn)


@drawn_examples(2, 60)
@example(drawn=sums(watermarks=True), rng=random.Random(1), restart=True, form="dedicated")
@given(drawn=ordered_flows(max_operators=3), rng=st.randoms(use_true_random=False), restart=st.booleans(), form=FORMS)
def test_steps_give_what_the_specification_gives(
    spark: SparkSession, drawn: DrawnFlow, rng: random.Random, restart: bool, form: str
) -> None:
    """Wherever steps begin and end, with watermarks in the order's own times, and with or without restarts."""
    compare(spark, drawn, rng, restart=restart, form=form)


def along_a_line(self: PosetCoordinates) -> tuple[str, ...]:
    """Points whose numbers are the same on all axes, as if any two elements would compare."""
    whens = " ".join(f"WHEN t = '{x}' THEN {point[0]}L" for x, point in self.points)
    return (f"CASE {whens} END",) * len(self.columns)


@pytest.mark.slow
def test_points_along_a_line_are_found_out(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparisons can fail: with numbers of the first axis only, elements see rows of unrelated ones.

    On streams, the frontier then has a point that no element has.
    """
    monkeypatch.setattr(PosetCoordinates, "encode_sql", property(along_a_line))
    with pytest.raises(AssertionError, match=r"expected \('t"):
        compare_bounded(spark, sums(watermarks=False))
    with pytest.raises(tg.errors.RunFailed, match="KeyError"):
        compare(spark, sums(watermarks=True), random.Random(1), restart=True)
