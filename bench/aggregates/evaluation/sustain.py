"""The greatest rate that is sustained, by search: doubling until one is and one is not, then bisection.

A search in a hurry also goes by what was answered of a rate that was too high: of fewer rows, nobody answers more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Outcome", "Sustained", "capacity", "search"]

#: In a hurry: what is so much above what was answered is too high, and so much of it is tried next.
_ABOVE, _BELOW = 1.15, 0.93


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a rate: whether it is sustained, and the rows a second that were answered."""

    sustained: bool
    throughput: float


@dataclass(frozen=True, slots=True)
class Sustained:
    """The greatest rate that was sustained, and the least that was not; 0 and infinity if there was none."""

    rate: float
    beyond: float
    tried: tuple[float, ...]


def search(
    measure: Callable[[float, int], Outcome],
    guess: float,
    *,
    tolerance: float = 1.1,
    runs: int = 1,
    power: int = 1,
    least: float = 1.0,
    most: float = 1e7,
    hurry: bool = False,
) -> Sustained:
    """Find the greatest rate that is sustained in all of some runs, within a factor.

    ``measure`` tries a rate; it is given the number of the run. The work of a row grows with the rate to the
    ``power - 1``: so the throughput of a rate that was too high says about where to look next. In a ``hurry``, rates
    that are well above it count as not sustained without a run.
    """
    low, high, rate = 0.0, float("inf"), guess
    tried: list[float] = []
    while not _found(low, high, tolerance, least, most):
        rate = _rounded(min(max(rate, least), most))
        if rate in tried:
            break
        tried.append(rate)
        outcomes: list[Outcome] = []
        for run in range(runs):
            outcomes.append(measure(rate, run))
            if not outcomes[-1].sustained:
                break
        if all(outcome.sustained for outcome in outcomes):
            low = rate
            # In a hurry, it begins near what is sustained: a little more is enough at first.
            up = 1.4 if hurry and len(tried) <= 2 else 2.0
            rate = rate * up if high == float("inf") else (low * high) ** 0.5
        else:
            high = rate
            answered = capacity(rate, outcomes[-1].throughput, power)
            # Of far too much, a short run may have answered next to nothing: that says little.
            if hurry and answered > rate / 2 and low < answered * _ABOVE < high:
                high, rate = answered * _ABOVE, answered * _BELOW
                # Noise may put what was answered next to a rate that was tried.
                rate = rate if rate > low * 1.05 else (low * high) ** 0.5
            else:
                rate = _next(low, high, answered)
    return Sustained(low, high, tuple(tried))


def _found(low: float, high: float, tolerance: float, least: float, most: float) -> bool:
    return low >= most or high <= least or (low > 0 and high <= low * tolerance)


def capacity(rate: float, throughput: float, power: int) -> float:
    """Return the rate at which all would have been answered, if a row of that rate is as much work as it should be."""
    found: float = (max(throughput, 1e-9) * rate ** (power - 1)) ** (1 / power)
    return found


def _next(low: float, high: float, answered: float) -> float:
    """Return where to look below a rate that is too high: half of it, or what was answered of it, if that says more."""
    if low:
        # Between the two, not at either.
        return float(min(max(answered * 0.95, low ** (2 / 3) * high ** (1 / 3)), low ** (1 / 3) * high ** (2 / 3)))
    # Where no step ended in time, nothing is known of what could be answered.
    return min(max(answered * 0.95, high / 16), high / 1.15) if answered > 1e-3 else high / 2


def _rounded(rate: float) -> float:
    """Return a rate with three digits, so that a search meets the same ones again."""
    return float(f"{rate:.3g}")
