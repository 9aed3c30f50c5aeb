"""Random flows on times of partial orders: the local engine gives what the specification gives."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows, rows_given
from tests.local_engine.engine import by_local
from tests.local_engine.test_random_streams import HOW, compare
from tests.spark.test_streaming_flows import FORMS
from tidegate.check.flows import DrawnFlow
from tidegate.check.ordered_flows import ordered_flows


@drawn_examples(7, 60)
@given(drawn=ordered_flows(watermarks=False))
def test_bounded_runs_give_what_the_specification_gives(drawn: DrawnFlow) -> None:
    """On points, whatever the order is."""
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    assert_same_rows(by_local(drawn.flow, rows_given(drawn)), expected)


@drawn_examples(6, 60)
@given(drawn=ordered_flows(max_operators=3), rng=st.randoms(use_true_random=False), how=HOW, form=FORMS)
def test_steps_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str, form: str) -> None:
    """Wherever steps begin and end, with watermarks in the order's own times, and restarts."""
    compare(drawn, rng, how=how, form=form)
