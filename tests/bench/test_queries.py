"""The 24 queries: written with Aggregates, and optimised, each has the plan of its dedicated form."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest
from bench.aggregates.queries import QUERIES, SELECTIVITY, draw_scans, draw_texts
from tests.flow.plain import selectivity


@pytest.mark.parametrize("using", ["A", "A+"])
@pytest.mark.parametrize("name", QUERIES)
def test_optimised_forms_have_the_dedicated_plan(name: str, using: str) -> None:
    """Both forms differ from the dedicated one, and optimising takes all of the difference away."""
    flow = QUERIES[name]()
    composed = flow.to_aggregates(using=using)
    fingerprint = flow.plan.fingerprint(flow.plan.sinks[0].input)
    assert composed.plan.fingerprint(composed.plan.sinks[0].input) != fingerprint
    optimised = composed.optimize()
    assert optimised.plan.fingerprint(optimised.plan.sinks[0].input) == fingerprint
    assert [o.verb for o in optimised.plan] == [o.verb for o in flow.plan]


def test_there_are_24() -> None:
    """Two kinds of data, two kinds of operator, two costs, three selectivities."""
    assert len(QUERIES) == 24
    assert len({name.lower() for name in QUERIES}) == 12


@pytest.mark.parametrize("name", QUERIES)
def test_compositions_leave_no_dedicated_operator(name: str) -> None:
    """With A, what is left are Aggregates, what unfolds their answers, and what names columns."""
    verbs = {operator.verb for operator in QUERIES[name]().to_aggregates(using="A").plan}
    assert verbs <= {"source", "aggregate", "window.aggregate", "unfold", "select", "union"}


@pytest.fixture(scope="module")
def data() -> dict[bool, list[Any]]:
    """Texts and scans: enough of them for low selectivities."""
    return {True: list(islice(draw_texts(Random(7)), 20_000)), False: list(islice(draw_scans(Random(7)), 4000))}


@pytest.fixture(scope="module")
def differences() -> dict[tuple[int, int], float]:
    """What scans differ in, by their numbers, as far as it is known."""
    return {}


#: How far off what is drawn may be, where that is more than 15 %: of little, chance gives more or less.
TOLERANCE = {"LLM": 0.3, "LHM": 0.9} | dict.fromkeys(("LLJ", "LHJ", "llj", "alj", "hlj", "lhj", "ahj", "hhj"), 0.3)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in ("lhj", "ahj", "hhj") else []) for n in QUERIES]
)
def test_data_is_as_selective_as_the_paper_says(
    name: str, data: dict[bool, list[Any]], differences: dict[tuple[int, int], float]
) -> None:
    """What is drawn meets Table 1, as well as so few rows can tell."""
    rows = data[name.isupper()]
    if name.isupper() and name[0] != "L":
        rows = rows[:3000]
    elif name.endswith("m"):
        rows = rows[: 400 if name[0] == "l" else 50]
    assert selectivity(name, rows, differences) == pytest.approx(SELECTIVITY[name], rel=TOLERANCE.get(name, 0.15))
