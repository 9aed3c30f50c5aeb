"""Random flows on the specification: what comes out depends on the rows alone, and is final."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tidegate.check.flows import OPERATORS, TIMES, DrawnFlow, flows
from tidegate.flow.values import freeze
from tidegate.reference import held
from tidegate.spec import DT, WM, Event, Operator, is_monotone


def by_time(events: list[Event]) -> Counter[Any]:
    """The rows at each time, as a multiset."""
    return Counter((event.t, freeze(event.d)) for event in events if isinstance(event, DT))


def shuffled_without_watermarks(drawn: DrawnFlow, rng: random.Random) -> dict[str, list[Any]]:
    """The same rows in another order, completed by the end of the input alone."""
    given: dict[str, list[Any]] = {}
    for name, events in drawn.inputs.items():
        given[name] = [event for event in events if not isinstance(event, WM)]
        rng.shuffle(given[name])
    return given


def depends_on_watermarks(drawn: DrawnFlow, rng: random.Random) -> bool:
    results = drawn.flow.reference(drawn.inputs)["out"]
    others = drawn.flow.reference(shuffled_without_watermarks(drawn, rng))["out"]
    return by_time(results) != by_time(others)


@given(flows(), st.randoms(use_true_random=False))
def test_answers_depend_on_the_rows_alone(drawn: DrawnFlow, rng: random.Random) -> None:
    """Neither the order of rows nor where watermarks are changes what comes out at any time."""
    assert not depends_on_watermarks(drawn, rng)


@given(flows())
def test_answers_are_final(drawn: DrawnFlow) -> None:
    """No row comes out at a time that a watermark of the output has completed."""
    plan = drawn.flow.plan
    order = plan[plan.sinks[0].input].schema.order
    assert is_monotone(order, drawn.flow.reference(drawn.inputs)["out"])


@given(flows())
def test_rows_have_the_columns_of_the_schema(drawn: DrawnFlow) -> None:
    """The columns of the result come in the order of the schema, and the time of an event is that of its row."""
    plan = drawn.flow.plan
    schema = plan[plan.sinks[0].input].schema
    for event in drawn.flow.reference(drawn.inputs)["out"]:
        if isinstance(event, DT):
            assert tuple(event.d) == schema.names
            assert schema.time_of(event.d) == event.t


@given(flows())
def test_flows_can_be_explained(drawn: DrawnFlow) -> None:
    """Whatever can be built can be explained, drawn and printed."""
    explanation = drawn.flow.explain()
    assert str(explanation)
    assert explanation.svg()
    assert explanation.mermaid()
    assert len(set(drawn.flow.plan.fingerprints())) == len(drawn.flow.plan.operators)


#: Drawing without shrinking: whether there is an example matters, not how small it is.
SEARCH = settings(phases=[Phase.generate], max_examples=300, derandomize=True, database=None)


@pytest.mark.parametrize("verb", OPERATORS)
def test_every_operator_is_drawn(verb: str) -> None:
    """The strategy reaches every operator, on a total and on a product order, with rows in the result."""
    for time in ("INT", "INT, INT"):
        strategy = flows(max_operators=2, only=(verb,), times=(time,))
        found = find(strategy, lambda d: bool(by_time(d.flow.reference(d.inputs)["out"])), settings=SEARCH)
        assert set(found.steps) == {verb}
        assert time in TIMES


class Hasty(Operator[Any, Any]):
    """A mutant of `batch_op` that does not wait for watermarks."""

    def apply(self, event: Any) -> tuple[Hasty, list[Any]]:
        return self, [DT(event.t, [(event.t, event.d)]) if isinstance(event, DT) else event]


def test_an_operator_that_does_not_wait_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: with batches that do not wait for completeness, a counterexample is found."""
    strategy = flows(max_operators=1, only=("deduplicate",), times=("INT",))
    with pytest.raises(NoSuchExample):
        find(strategy, lambda d: depends_on_watermarks(d, random.Random(1)), settings=SEARCH)
    monkeypatch.setattr(held, "batch_op", lambda _: Hasty())
    assert find(strategy, lambda d: depends_on_watermarks(d, random.Random(1)), settings=SEARCH)
