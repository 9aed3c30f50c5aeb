"""The 24 queries in a few lines of plain Python: rows in, rows out, and how many pairs a Join compares."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from datetime import datetime, timedelta
from math import cos, hypot, radians, sin
from typing import Any

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
ANGLES = [radians(-95 + i * 190 / 761) for i in range(761)]


def plain(name: str, rows: list[Any]) -> list[tuple[Any, ...]]:
    """What a query gives."""
    if name[2] in "Mm":
        return [(row[0], *out) for row in rows for out in _mapped(name, row)]
    return [
        (end, *out)
        for end, key, members in _windows(name, rows)
        for a in members
        for b in members
        if _matches(name, a, b)
        for out in [_pair(name, key, a, b)]
    ]


def comparisons(name: str, rows: list[Any]) -> int:
    """How many pairs a Join compares: of each window and key, all."""
    return sum(len(members) ** 2 for _, _, members in _windows(name, rows))


def selectivity(name: str, rows: list[Any]) -> float:
    """Outputs for each input of a Map, and for each comparison of a Join; pairs are counted, not made."""
    if name[2] in "Mm":
        return len(plain(name, rows)) / len(rows)
    alike: dict[tuple[int, int], bool] = {}

    def matching(members: list[Any]) -> int:
        if name.isupper():
            lengths = Counter(len(row[1]) for row in members)
            return sum(n * (n - 1) for length, n in lengths.items() if _long_enough(name, length))
        pairs = [(a, b) for i, a in enumerate(members) for b in members[:i]]
        for a, b in pairs:
            if (a[1], b[1]) not in alike:
                alike[a[1], b[1]] = _matches(name, a, b)
        return 2 * sum(alike[a[1], b[1]] for a, b in pairs)

    return sum(matching(members) for _, _, members in _windows(name, rows)) / comparisons(name, rows)


def words(text: str) -> list[str]:
    """Java's split on white space."""
    parts = re.split(r"\s+", text, flags=re.ASCII)
    while text and parts and not parts[-1]:
        parts.pop()
    return parts


def top(text: str, k: int, least: int) -> list[str]:
    """The most frequent words, without short ones."""
    ranked = sorted(Counter(words(text)).items(), key=lambda item: (-item[1], item[0]))
    return [word for word, _ in ranked[:k] if len(word) >= least]


def _mapped(name: str, row: Any) -> Iterator[tuple[Any, ...]]:
    low, chunks = name[0] in "Ll", name[0] in "Hh"
    if name.isupper():
        k, least = 3 if chunks else 1, 10 if low else 0
        columns = row[1:2] if name[1] == "L" else row[1:]
        yield from zip(*(top(c, k, least) for c in columns), strict=False)
        return
    _, number, dist = row
    points = [(d * cos(a), d * sin(a)) for d, a in zip(dist, ANGLES, strict=True)]
    far = [hypot(x - 10, y - 10) for x, y in points]
    out: list[Any] = [{"x": x, "y": y} for x, y in points] if name[1] == "l" else far
    mean, bound = (sum(dist) / 761, 3) if name[1] == "l" else (sum(far) / 761, 13)
    if not low or mean >= bound:
        yield from ((number, part) for part in ([out[:254], out[254:508], out[508:]] if chunks else [out]))


def _windows(name: str, rows: list[Any]) -> Iterator[tuple[datetime, Hashable, list[Any]]]:
    """The last unit of each window, and the rows of each key in it."""
    size = {"L": 3, "H": 10, "l": 1, "h": 2}[name[1]] * SECOND
    every = SECOND if name.isupper() else SECOND / 2
    found: dict[tuple[datetime, Hashable], list[Any]] = defaultdict(list)
    epoch = datetime(1970, 1, 1)
    for row in rows:
        key = len(row[2].split(" ")) if name.isupper() else None
        start = epoch + (row[0] - epoch) // every * every
        while start + size > row[0]:
            found[start + size - MICROSECOND, key].append(row)
            start -= every
    yield from ((end, key, members) for (end, key), members in found.items())


def _matches(name: str, a: Any, b: Any) -> bool:
    if name.isupper():
        return len(a[1]) == len(b[1]) and _long_enough(name, len(a[1])) and a[1].lower() != b[1].lower()
    difference = sum(abs(x - y) for x, y in zip(a[2][:76], b[2][:76], strict=True))
    return 0 < difference <= {"l": 0.5, "a": 0.6, "h": 0.7}[name[0]]


def _long_enough(name: str, length: int) -> bool:
    return length > {"L": 210, "A": 150, "H": 100}[name[0]]


def _pair(name: str, key: Hashable, a: Any, b: Any) -> tuple[Any, ...]:
    return (key, a[1], b[1]) if name.isupper() else (a[1], a[2], b[1], b[2])
