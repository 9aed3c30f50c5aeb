"""Random flows on times of a lexicographic order: the local engine gives what the specification gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows, rows_given
from tests.local_engine.engine import by_local
from tests.local_engine.test_random_streams import HOW, compare
from tests.spark.test_streaming_flows import FORMS
from tidegate.check.flows import DrawnFlow
from tidegate.check.ordered_flows import lexicographic_flows
from tidegate.flow.orders import LexicographicCoordinates
from tidegate.spec import DT
from tidegate.time import Int, Lexicographic


@drawn_examples(6, 60)
@given(drawn=lexicographic_flows(watermarks=False))
def test_bounded_runs_give_what_the_specification_gives(drawn: DrawnFlow) -> None:
    """On numbers that compare as times do, of either width."""
    bounded(drawn)


def bounded(drawn: DrawnFlow) -> None:
    """Compare a bounded run with the specification."""
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    assert_same_rows(by_local(drawn.flow, rows_given(drawn)), expected)


@drawn_examples(6, 60)
@given(drawn=lexicographic_flows(max_operators=3), rng=st.randoms(use_true_random=False), how=HOW, form=FORMS)
def test_steps_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str, form: str) -> None:
    """Wherever steps begin and end, with watermarks that complete all that begins alike, and restarts."""
    compare(drawn, rng, how=how, form=form)


def mixed_up(self: LexicographicCoordinates) -> list[int]:
    """The steps of the columns, from the wrong end."""
    return [1, self._sizes[0]]


def unsigned(self: LexicographicCoordinates, counts: list[str]) -> str:
    """Numbers whose digits are those of the values as if they had no sign."""
    digits = [f"pmod({count}, {size}L)" for count, size in zip(counts, self._sizes, strict=True)]
    return f"{digits[0]} * {self._steps[0]}L + {digits[1]}"


@pytest.mark.parametrize(
    ("name", "mutant"), [("_steps", property(mixed_up)), ("_packed", unsigned)], ids=["mixed up", "unsigned"]
)
def test_numbers_of_another_order_are_found_out(name: str, mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with columns mixed up, or negative numbers after all others, another row is first."""
    flow = tg.Flow("mutant")
    time = tg.ordered(("t", "u"), Lexicographic(Int(), Int()))
    flow.sink("out", flow.source("s0", "t INT, u SMALLINT, k STRING, x INT", time=time).deduplicate("k"))
    times = [(2, 0), (-1, 1), (0, -1)]
    drawn = DrawnFlow(flow, {"s0": [DT(t, dict(zip("tukx", (*t, "a", 0), strict=True))) for t in times]}, ())
    bounded(drawn)
    compare(drawn, random.Random(3))
    monkeypatch.setattr(LexicographicCoordinates, name, mutant)
    for check in (bounded, lambda d: compare(d, random.Random(3))):
        with pytest.raises(AssertionError, match=r"expected \(-1, 1, 'a', 0\), got \(0, -1, 'a', 0\)"):
            check(drawn)
