"""How long answers take: values that count so often each, and what half of them, 95 and 99 of a hundred are below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

__all__ = ["percentile", "percentiles"]


def percentile(weighted: Sequence[tuple[float, float]], percent: float) -> float:
    """Return the least value that so many percent of all weight are at or below; the values are sorted.

    >>> percentile([(0.1, 98), (0.5, 1), (9.0, 1)], 50), percentile([(0.1, 98), (0.5, 1), (9.0, 1)], 99)
    (0.1, 0.5)
    """
    if not weighted:
        raise ValueError("expected values to take a percentile of, got none")
    so_far = list(accumulate(weight for _, weight in weighted))
    wanted = so_far[-1] * percent / 100
    # Sums of fractions differ in the last digits.
    return next(value for (value, _), sum_ in zip(weighted, so_far, strict=True) if sum_ >= wanted * (1 - 1e-12))


def percentiles(values: Iterable[tuple[float, float]], percents: Sequence[float] = (50, 95, 99)) -> list[float]:
    """Return several percentiles of values and their weights, in any order.

    >>> percentiles([(3.0, 1), (1.0, 1), (2.0, 1)])
    [2.0, 3.0, 3.0]
    """
    weighted = sorted((value, weight) for value, weight in values if weight > 0)
    return [percentile(weighted, percent) for percent in percents]
