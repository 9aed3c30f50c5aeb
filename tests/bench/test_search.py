"""The rule for a rate that is sustained, and the search for the greatest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bench.aggregates.evaluation.pace import Pace
from bench.aggregates.evaluation.rule import Rule, seconds_of, typical
from bench.aggregates.evaluation.sustain import Outcome, search
from bench.aggregates.evaluation.waits import by_second, of_rows
from tests.bench.simulated import capacity


def simulated(
    known: float,
    *,
    seconds: float = 20,
    warm: float = 5,
    overhead: float = 0.3,
    power: int = 1,
    rule: Rule | None = None,
) -> Callable[[float, int], Outcome]:
    """What runs of an engine with a known capacity come to, as cells do."""

    def measure(rate: float, run: int) -> Outcome:
        pace = Pace(rate, warm + seconds + 1)
        steps = capacity(rate, known, overhead, pace, power)
        of_seconds = seconds_of(by_second(of_rows(pace, steps)), warm, warm + seconds)
        took = [b - a for a, b in zip(steps.at, steps.at[1:], strict=False)]
        kept = (rule or Rule()).kept(of_seconds, typical(took))
        inside = [(at, upto) for at, upto in zip(steps.at, steps.upto, strict=True) if warm <= at < warm + seconds]
        answered = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) if len(inside) > 1 else 0.0
        return Outcome(kept, answered)

    return measure


@pytest.mark.parametrize("guess", [20, 900, 50_000])
@pytest.mark.parametrize("known", [137.0, 1000.0, 23_000.0])
def test_the_search_finds_a_known_capacity(known: float, guess: float) -> None:
    """Wherever it begins, it ends a little below what the engine can do: never above it by more than the tolerance."""
    found = search(simulated(known), guess, tolerance=1.1)
    assert 0.75 * known <= found.rate <= 1.1 * known
    assert found.beyond <= 1.1 * found.rate
    assert len(found.tried) <= 16


@pytest.mark.parametrize("guess", [20, 900, 50_000])
@pytest.mark.parametrize(("known", "power"), [(137.0, 1), (1000.0, 1), (300.0, 2)])
def test_a_search_in_a_hurry_takes_few_runs(known: float, guess: float, power: int) -> None:
    """It goes by what was answered of a rate that was too high: near what is sustained, few runs are enough."""
    tolerance = 1.3
    found = search(simulated(known, power=power), guess, tolerance=tolerance, power=power, hurry=True)
    assert 0.7 * known <= found.rate <= 1.1 * known
    assert found.beyond <= tolerance * found.rate
    assert len(found.tried) <= 12
    for share in (0.8, 1.1, 1.5):
        near = search(simulated(known, power=power), share * known, tolerance=tolerance, power=power, hurry=True)
        assert len(near.tried) <= 4


def test_a_search_in_a_hurry_never_takes_a_bound_for_a_rate() -> None:
    """What is reported as sustained was run, and sustained; only what is too high may be known without a run."""
    ran: dict[float, bool] = {}

    def measure(rate: float, run: int) -> Outcome:
        ran[rate] = rate <= 640
        # What is answered of too much is less than what can be: the bound is wrong, and no rate is reported for it.
        return Outcome(rate <= 640, min(rate, 500.0))

    found = search(measure, 1000, tolerance=1.3, hurry=True)
    assert ran[found.rate]


def test_the_search_finds_a_capacity_in_comparisons() -> None:
    """If the work of a row grows with the rate, so does what is compared: the rate goes with the root of it."""
    found = search(simulated(300.0, power=2), 5000, tolerance=1.1, power=2)
    assert 0.75 * 300 <= found.rate <= 1.1 * 300


def test_a_rate_that_does_not_bind_is_not_accepted() -> None:
    """In 20 s rows of an engine that is a fifth too slow never wait for 15 s; without the growth, they would pass."""

    class NotBinding(Rule):
        """The rule without what makes it bind."""

        def kept(self, latencies: Any, step: float) -> bool:
            return bool(latencies) and self.exceeded(latencies) <= self.times

    accepted = search(simulated(1000.0, rule=NotBinding()), 500, tolerance=1.1).rate
    assert accepted > 1.2 * 1000
    assert search(simulated(1000.0), 500, tolerance=1.1).rate <= 1.1 * 1000


def test_a_rate_has_to_hold_in_all_runs() -> None:
    """One run of three that fails is enough, and the search goes on below."""

    def measure(rate: float, run: int) -> Outcome:
        return Outcome(rate <= (90 if run == 2 else 100), min(rate, 95.0))

    once = search(measure, 50, tolerance=1.02, runs=1)
    often = search(measure, 50, tolerance=1.02, runs=3)
    assert 95 < once.rate <= 100
    assert 85 < often.rate <= 90


def test_what_is_never_sustained_has_no_rate() -> None:
    """The search ends, and says so."""
    found = search(lambda rate, run: Outcome(False, 0.0), 1000)
    assert found.rate == 0
    assert found.beyond <= 1
