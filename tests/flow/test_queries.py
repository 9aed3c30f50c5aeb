"""The 24 queries: written with Aggregates, and optimised, each has the plan of its dedicated form."""

from __future__ import annotations

import pytest

from tidegate.queries import QUERIES


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
