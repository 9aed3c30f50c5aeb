"""The 24 queries in a few lines of plain Python: rows in, rows out, and how many pairs a Join compares."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from datetime import datetime, timedelta
from math import cos, hypot, radians, sin
from operator import sub
from typing import Any

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
#: How much scans may differ, by the selectivity of a Join.
BOUNDS = {"l": 0.5, "a": 0.6, "h": 0.7}
#: How long texts are, by the selectivity of a Join.
LONG = {"L": 210, "A": 150, "H": 100}
#: The programs that were published for Figure 14.
TUMBLING = ("spark", "uspe")
ANGLES = [radians(-95 + i * 190 / 761) for i in range(761)]


def plain(name: str, rows: list[Any], *, published: str = "") -> list[tuple[Any, ...]]:
    """What a query gives as Table 1 prints it, or in a program of its authors: ``flink``, ``spark`` or ``uspe``."""
    if name[2] in "Mm":
        return [(row[0], *out) for row in rows for out in _mapped(name, row, bool(published))]
    return [
        (end, *out)
        for end, key, members in _windows(name, rows, published)
        for a in members
        for b in members
        if _matches(name, a, b, published)
        for out in [_pair(name, key, a, b)]
    ]


def comparisons(name: str, rows: list[Any]) -> int:
    """How many pairs a Join compares: of each window and key, all."""
    return sum(len(members) ** 2 for _, _, members in _windows(name, rows))


def selectivity(name: str, rows: list[Any], differences: dict[tuple[int, int], float] | None = None) -> float:
    """Outputs for each input of a Map, and for each comparison of a Join; pairs are counted, not made.

    ``differences`` of scans by their numbers are kept there for other queries on the same rows.
    """
    if name[2] in "Mm":
        return len(plain(name, rows)) / len(rows)
    known = {} if differences is None else differences

    def matching(members: list[Any]) -> int:
        if name.isupper():
            lengths = Counter(len(row[1]) for row in members)
            return sum(n * (n - 1) for length, n in lengths.items() if _long_enough(name, length))
        count = 0
        for i, a in enumerate(members):
            for b in members[:i]:
                if (a[1], b[1]) not in known:
                    known[a[1], b[1]] = _difference(a, b, 761)
                count += 0 < known[a[1], b[1]] < BOUNDS[name[0]]
        return 2 * count

    return sum(matching(members) for _, _, members in _windows(name, rows)) / comparisons(name, rows)


def words(text: str, separator: str = r"\s+") -> list[str]:
    """Java's split."""
    parts = re.split(separator, text, flags=re.ASCII)
    while text and parts and not parts[-1]:
        parts.pop()
    return parts


def top(text: str, k: int, least: int) -> list[str]:
    """The most frequent words, without short ones."""
    ranked = sorted(Counter(words(text)).items(), key=lambda item: (-item[1], item[0]))
    return [word for word, _ in ranked[:k] if len(word) >= least]


def _mapped(name: str, row: Any, published: bool) -> Iterator[tuple[Any, ...]]:
    low, chunks = name[0] in "Ll", name[0] in "Hh"
    if name.isupper():
        k, least = 3 if chunks else 1, (10 if published else 11) if low else 0
        columns = row[1:2] if name[1] == "L" else row[1:]
        yield from zip(*(top(c, k, least) for c in columns), strict=False)
        return
    _, number, dist = row
    points = [(d * cos(a), d * sin(a)) for d, a in zip(dist, ANGLES, strict=True)]
    if name[1] == "l":
        mean, bound = sum(dist) / 761, 3
    elif published:
        mean, bound = sum(hypot(x - 10, y - 10) for x, y in points) / 761, 13
    else:
        points = [(x + 2, y) for x, y in points]
        mean, bound = sum(hypot(x, y) for x, y in points) / 761, 3
    out = [{"x": x, "y": y} for x, y in points]
    if not low or mean > bound or (published and mean == bound):
        yield from ((number, part) for part in ([out[:254], out[254:508], out[508:]] if chunks else [out]))


def _windows(name: str, rows: list[Any], published: str = "") -> Iterator[tuple[datetime, Hashable, list[Any]]]:
    """The last unit of each window, and the rows of each key in it."""
    size = {"L": 3, "H": 10, "l": 1, "h": 2}[name[1]] * SECOND
    every = size if published in TUMBLING else SECOND if name.isupper() else SECOND / 2
    found: dict[tuple[datetime, Hashable], list[Any]] = defaultdict(list)
    epoch = datetime(1970, 1, 1)
    for row in rows:
        key = len(_parts(row[2], published)) if name.isupper() else None
        start = epoch + (row[0] - epoch) // every * every
        while start + size > row[0]:
            found[start + size - MICROSECOND, key].append(row)
            start -= every
    yield from ((end, key, members) for (end, key), members in found.items())


def _parts(change: str, published: str) -> list[str]:
    # Python's split keeps what is empty at the end, as Spark's does.
    return change.split(" ") if published == "spark" else words(change, " ")


def _matches(name: str, a: Any, b: Any, published: str) -> bool:
    if published in TUMBLING:
        return a[1] != b[1] and len(a[1]) >= LONG[name[0]] and len(a[1]) - len(b[1]) in (-1, 0, 1)
    if name.isupper():
        lowered = a[1].lower(), b[1].lower()
        length, other = map(len, lowered if published else (a[1], b[1]))
        return length == other and _long_enough(name, length) and lowered[0] != lowered[1]
    difference, bound = _difference(a, b, 76 if published else 761), BOUNDS[name[0]]
    return 0 < difference < bound or (published and difference == bound)


def _difference(a: Any, b: Any, samples: int) -> float:
    return sum(map(abs, map(sub, a[2][:samples], b[2][:samples])))


def _long_enough(name: str, length: int) -> bool:
    return length > LONG[name[0]]


def _pair(name: str, key: Hashable, a: Any, b: Any) -> tuple[Any, ...]:
    return (key, a[1], b[1]) if name.isupper() else (a[1], a[2], b[1], b[2])
