"""Random flows on times of a `Poset` or a `Sum`: Spark gives what the specification gives, bounded and on streams."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.spark.test_random_flows import compare as compare_bounded
from tests.spark.test_streaming_flows import FORMS, compare

from tidegate.check.flows import DrawnFlow
from tidegate.check.ordered_flows import ordered_flows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@drawn_examples(4, 60)
@given(drawn=ordered_flows(watermarks=False))
def test_bounded_runs_give_what_the_specification_gives(spark: SparkSession, drawn: DrawnFlow) -> None:
    """On points, whatever the order is."""
    compare_bounded(spark, drawn)


@drawn_examples(2, 60)
@given(drawn=ordered_flows(max_operators=3), rng=st.randoms(use_true_random=False), restart=st.booleans(), form=FORMS)
def test_steps_give_what_the_specification_gives(
    spark: SparkSession, drawn: DrawnFlow, rng: random.Random, restart: bool, form: str
) -> None:
    """Wherever steps begin and end, with watermarks in the order's own times, and with or without restarts."""
    compare(spark, drawn, rng, restart=restart, form=form)
