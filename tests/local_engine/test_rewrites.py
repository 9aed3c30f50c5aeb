"""Flows written with Aggregates alone, on the local engine, with their loops run as rounds."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.flow.case import assert_same_rows
from tests.flow.test_rewrites import OPERATORS, ROWS, flow_of, given_rows, zeros
from tests.local_engine.engine import by_local
from tests.local_engine.steps import run_locally
from tests.spark.steps import cut_by_time


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


def test_a_loop_keeps_the_sign_of_zero_in_steps(tmp_path: Path) -> None:
    """Also if rows that differ in the sign alone come in two steps, before their time is complete."""
    flow, rows = zeros()
    looped = flow.to_aggregates(using="A", looped=True)
    plan, cuts = cut_by_time(looped, rows, random.Random(1))
    assert all(cut["s"] for cut in cuts)
    found = run_locally(plan, cuts, {}, tmp_path, restart=True)["out"]
    assert Counter(map(str, found)) == Counter(map(str, by_local(flow, rows)))
    assert Counter(map(str, found))["(1, -0.0, -0.0)"] == 2
