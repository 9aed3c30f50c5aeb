"""When a rate is sustained, by what one run of it was like.

The paper's rule: a rate is sustained if for ten minutes, without warm-up, the mean latency of a second exceeds 15 s
no more than three times; results are means over three runs. In a shorter run a rate that is too high need not get
that far: rows that wait grow older by ``rate / capacity - 1`` seconds in each second. So a rate *binds* only if what
was seen, gone on with for ten minutes, keeps the rule as well: latency may not grow faster than 15 s in ten minutes,
beyond what two steps of the engine differ in anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

__all__ = ["Rule", "seconds_of", "typical"]


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


def seconds_of(latencies: Mapping[int, float], first: float, last: float) -> dict[int, float]:
    """Return what was due in some seconds: without the warm-up, and without the end."""
    return {second: value for second, value in latencies.items() if first <= second < last}


def typical(seconds: Sequence[float]) -> float:
    """Return how long a step takes."""
    return median(seconds) if seconds else 0.0
