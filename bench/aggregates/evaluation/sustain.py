"""The greatest rate that is sustained, by search: doubling until one is and one is not, then bisection.

A search in a hurry also goes by what was answered of a rate that was too high: of fewer rows, nobody answers more.

The paper's rule: a rate is sustained if for ten minutes, without warm-up, the mean latency of a second exceeds 15 s
no more than three times; results are means over three runs. In a shorter run a rate that is too high need not get
that far: rows that wait grow older by ``rate / capacity - 1`` seconds in each second. So a rate *binds* only if what
was seen, gone on with for ten minutes, keeps the rule as well: latency may not grow faster than 15 s in ten minutes,
beyond what two steps of the engine differ in anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

__all__ = ["Outcome", "Rule", "Sustained", "capacity", "search"]

#: In a hurry: what is so much above what was answered is too high, and so much of it is tried next.
_ABOVE, _BELOW = 1.15, 0.93


@dataclass(frozen=True, slots=True)
class Rule:
    """How long a second's rows may wait on average, in seconds; how often that may be exceeded; and in how long."""

    bound: float = 15.0
    times: int = 3
    seconds: float = 600.0

    def exceeded(self, latencies: Mapping[int, float]) -> int:
        """Return how many seconds had a latency beyond the bound.

        >>> Rule().exceeded({0: 1.0, 1: 15.5, 2: 16.0})
        2
        """
        return sum(latency > self.bound for latency in latencies.values())

    def growth(self, latencies: Mapping[int, float]) -> float:
        """Return by how many seconds latency grows in a second, from the first half of a run to the second.

        Halves of a whole number of windows are alike in what a window does to latency.

        >>> round(Rule().growth({second: 1 + second / 2 for second in range(12)}), 3)
        0.5
        """
        known = sorted(latencies.items())
        half = len(known) // 2
        if not half:
            return 0.0
        return (mean(v for _, v in known[-half:]) - mean(v for _, v in known[:half])) / self._apart(latencies)

    def _apart(self, latencies: Mapping[int, float]) -> float:
        return (max(latencies) - min(latencies) + 1) / 2

    def kept(self, latencies: Mapping[int, float], step: float) -> bool:
        """Whether a run keeps the rule, and would in a long run; ``step`` is how long a step of the engine took.

        >>> quiet = {second: 1.0 for second in range(30)}
        >>> growing = {second: 1.0 + 0.2 * second for second in range(30)}
        >>> Rule().kept(quiet, 0.1), Rule().kept(growing, 0.1), Rule().exceeded(growing)
        (True, False, 0)
        """
        if not latencies or self.exceeded(latencies) > self.times:
            return False
        # A mean of half of a run may be off by half a step: a run is to be much longer than one.
        return self.growth(latencies) <= self.bound / self.seconds + step / 2 / self._apart(latencies)


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
            rate = rate * 2 if high == float("inf") else (low * high) ** 0.5
        else:
            high = rate
            answered = capacity(rate, outcomes[-1].throughput, power)
            # Of far too much, a short run may have answered next to nothing: that says little.
            if hurry and answered > rate / 4 and low < answered * _ABOVE < high:
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
    return min(max(answered * 0.95, high / 16), high / 1.15)


def _rounded(rate: float) -> float:
    """Return a rate with three digits, so that a search meets the same ones again."""
    return float(f"{rate:.3g}")


def seconds_of(latencies: Mapping[int, float], first: float, last: float) -> dict[int, float]:
    """Return what was due in some seconds: without the warm-up, and without the end."""
    return {second: value for second, value in latencies.items() if first <= second < last}


def typical(seconds: Sequence[float]) -> float:
    """Return how long a step takes."""
    return median(seconds) if seconds else 0.0
