"""Data of the shape that the queries are about: edits of texts, and scans of 761 distances. Randomness is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import sin
from random import Random

from tidegate.queries.scans import SAMPLES

__all__ = ["Scan", "Text", "draw_scans", "draw_texts"]

#: A row: time, and the columns of the source.
Text = tuple[datetime, str, str, str]
Scan = tuple[datetime, int, list[float]]

START = datetime(2026, 1, 1)
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def draw_texts(rng: Random, *, apart: timedelta = timedelta(milliseconds=10)) -> Iterator[Text]:
    """Draw edits without end: an original, a change, and the original with the change in it.

    >>> ts, orig, change, updated = next(draw_texts(Random(1)))
    >>> len(updated.split()) == len(orig.split()) + len(change.split())
    True
    """
    vocabulary = ["".join(rng.choices(_LETTERS, range(26, 0, -1), k=rng.randint(1, 12))) for _ in range(500)]
    # Few words are frequent, most are rare.
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    ts = START
    while True:
        original = rng.choices(vocabulary, weights, k=rng.randint(3, 60))
        change = rng.choices(vocabulary, weights, k=rng.randint(1, 8))
        at = rng.randint(0, len(original))
        yield ts, " ".join(original), " ".join(change), " ".join([*original[:at], *change, *original[at:]])
        ts += apart


def draw_scans(rng: Random, *, apart: timedelta = timedelta(milliseconds=40)) -> Iterator[Scan]:
    """Draw scans without end: walls around a sensor that moves slowly, and some noise.

    >>> ts, number, dist = next(draw_scans(Random(1)))
    >>> number, len(dist)
    (0, 761)
    """
    ts, number, nearness = START, 0, rng.uniform(2, 4)
    while True:
        nearness = min(6.0, max(1.0, nearness + rng.gauss(0, 0.005)))
        yield ts, number, [nearness + sin(i / 90) + rng.gauss(0, 0.005) for i in range(SAMPLES)]
        ts, number = ts + apart, number + 1
