"""Flows written with Aggregates alone, on the local engine, with their loops run as rounds."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.flow.case import assert_same_rows
from tests.flow.test_rewrites import OPERATORS, ROWS, flow_of, given_rows, zeros
from tests.local_engine.engine import by_local


@pytest.mark.parametrize("name", ["explode", "where", "join where"])
def test_a_loop_gives_the_same_rows(name: str) -> None:
    """Unfolding as a loop, a round for each element, gives what unfolding in one go gives."""
    flow = flow_of(OPERATORS[name][0])
    expected = [tuple(row.values()) for row in flow.reference(given_rows(flow)).rows("out")]
    assert_same_rows(by_local(flow.to_aggregates(using="A", looped=True), ROWS), expected)


def test_a_loop_keeps_the_sign_of_zero() -> None:
    """As a key, -0.0 is 0.0; what a loop gives out is not made of a key."""
    flow, rows = zeros()
    found = by_local(flow.to_aggregates(using="A", looped=True), rows)
    assert sorted(map(str, found)) == sorted(map(str, by_local(flow, rows)))
    assert Counter(map(str, found))["(1, -0.0, -0.0)"] == 2
