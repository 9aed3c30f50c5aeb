"""Data of the shape that the queries are about: edits of texts, and scans of 761 distances. Randomness is passed in.

It is made so that the queries are as selective as Table 1 of the paper says; a test compares them. For texts that is a
matter of how long they are and which word is the most frequent, for scans of how far the walls are, and of noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from math import pi
from random import Random
from statistics import NormalDist

from bench.aggregates.queries.scans import SAMPLES

__all__ = ["SELECTIVITY", "Scan", "Text", "draw_scans", "draw_texts"]

#: A row: time, and the columns of the source.
Text = tuple[datetime, str, str, str]
Scan = tuple[datetime, int, list[float]]

START = datetime(2026, 1, 1)

#: Table 1: outputs for each input of a Map, and for each comparison of a Join.
SELECTIVITY = {
    "LLM": 5e-3,
    "ALM": 1,
    "HLM": 3,
    "LHM": 3e-4,
    "AHM": 1,
    "HHM": 2.3,
    "LLJ": 1e-4,
    "ALJ": 1e-3,
    "HLJ": 3e-3,
    "LHJ": 1e-4,
    "AHJ": 1e-3,
    "HHJ": 3e-3,
    "llm": 0.2,
    "alm": 1,
    "hlm": 3,
    "lhm": 0.7,
    "ahm": 1,
    "hhm": 3,
    "llj": 8e-5,
    "alj": 8e-4,
    "hlj": 5e-3,
    "lhj": 6e-5,
    "ahj": 7e-4,
    "hhj": 3e-3,
}

_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
#: How long texts are, and how many are: two of one length meet as often as the Joins ask for.
_LENGTHS = {range(40, 101): 0.357, range(101, 151): 0.316, range(151, 211): 0.232, range(211, 301): 0.095}
#: How many words are changed, and how often.
_CHANGES = {1: 0.2, 2: 0.3, 3: 0.2, 4: 0.15, 5: 0.1, 6: 0.05}
#: How often the most frequent word is a long one: of an original, and then of its change too.
_LONG, _BOTH_LONG = 5e-3, 0.06


def draw_texts(rng: Random, *, apart: timedelta = timedelta(milliseconds=10)) -> Iterator[Text]:
    """Draw edits without end: an original, a change, and the original with the change in it.

    >>> ts, orig, change, updated = next(draw_texts(Random(1)))
    >>> len(updated.split()) == len(orig.split()) + len(change.split())
    True
    """
    short = [_word(rng, rng.randint(2, 7)) for _ in range(400)]
    long = [_word(rng, rng.randint(11, 14)) for _ in range(100)]
    spans, shares = list(_LENGTHS), list(_LENGTHS.values())
    for number in count():
        is_long = rng.random() < _LONG
        length = rng.choice(rng.choices(spans, shares)[0])
        original = _original(rng, short, rng.choice(long if is_long else short), length)
        words = rng.choices(list(_CHANGES), list(_CHANGES.values()))[0]
        change = rng.sample(short, words)
        if rng.random() < (_BOTH_LONG if is_long else _LONG):
            change = [rng.choice(long)] * words
        at = rng.randint(0, len(original))
        yield (
            START + number * apart,
            " ".join(original),
            " ".join(change),
            " ".join([*original[:at], *change, *original[at:]]),
        )


def _word(rng: Random, length: int) -> str:
    return "".join(rng.choices(_LETTERS, range(26, 0, -1), k=length))


def _original(rng: Random, words: list[str], frequent: str, length: int) -> list[str]:
    """Draw a text that is so long; one word comes twice more than any other."""
    # With two words more at least: the three most frequent words are three.
    found = [frequent] * 3
    left = length - len(" ".join(found))
    while left > 22:
        word = rng.choice(words)
        if found.count(word) + 2 < found.count(frequent) or word not in found:
            found.append(word)
            left -= len(word) + 1
        if len(found) % 12 == 0 and left > 32:
            found.append(frequent)
            left -= len(frequent) + 1
    first = (left - 2) // 2
    found += [_word(rng, first), _word(rng, left - 2 - first)]
    rng.shuffle(found)
    return found


#: A scan stays in one place for so long; then the sensor is elsewhere.
_STAY = 40
#: Ten places: in most the walls are close or near, in one they are far at 45 degrees only, in two everywhere.
_PLACES = ["close"] * 3 + ["near"] * 4 + ["aside"] + ["far"] * 2
#: The noise of a scan, and the share of it by which it differs from scan to scan.
_NOISE, _SPREAD = 0.00148, 0.273


def draw_scans(rng: Random, *, apart: timedelta = timedelta(milliseconds=40)) -> Iterator[Scan]:
    """Draw scans without end: walls around a sensor that stays in a place for a while, and noise.

    >>> ts, number, dist = next(draw_scans(Random(1)))
    >>> number, len(dist)
    (0, 761)
    """
    places: list[str] = []
    walls: list[float] = []
    ranks: list[int] = []
    noises = NormalDist(_NOISE, _SPREAD * _NOISE)
    for number in count():
        if number % _STAY == 0:
            if not places:
                places = rng.sample(_PLACES, len(_PLACES))
            walls = _walls(places.pop(), rng.uniform(-0.3, 0.3))
            # Every place has quiet and noisy scans alike, so that few of them suffice to meet a selectivity.
            ranks = rng.sample(range(_STAY), _STAY)
        noise = max(0.0, noises.inv_cdf((ranks.pop() + rng.uniform(0.001, 0.999)) / _STAY))
        # Evenly spread noise adds up to the same as normal noise of this deviation, and is cheaper to draw.
        width = 3.4 * noise
        yield START + number * apart, number, [d + width * (rng.random() - 0.5) for d in walls]


def _walls(place: str, nearer: float) -> list[float]:
    """Return the distances of the walls around a place, over 190 degrees."""
    if place == "aside":
        # Far at 45 degrees, and near elsewhere.
        return [1.6 + nearer + 5.0 * (abs((i / SAMPLES - 0.5) * 190 - 45) < 20) for i in range(SAMPLES)]
    distance = {"close": 0.9, "near": 2.0, "far": 4.0}[place] - nearer
    return [distance + 0.2 * _wave(i / SAMPLES) for i in range(SAMPLES)]


def _wave(x: float) -> float:
    """Return a wave without the cost of a sine."""
    x = (x * 2 * pi) % 2 - 1
    return 4 * x * (1 - abs(x))
