"""The 24 queries on bounded Spark give what a few lines of plain Python give; in A form too."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import islice
from math import cos, isclose, radians, sin
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.case import assert_same_rows
from tests.spark.engine import by_spark

from tidegate.queries import QUERIES, draw_scans, draw_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 1)
AWKWARD = [(START, " leading and  double ", "", "   "), (START, "b a B a b", "x", "x x y"), (START, "", " ", "a")]


def words(text: str) -> list[str]:
    """Java's split on white space."""
    parts = re.split(r"\s+", text, flags=re.ASCII)
    while text and parts and not parts[-1]:
        parts.pop()
    return parts


def top(text: str, k: int, least: int) -> list[str]:
    ranked = sorted(Counter(words(text)).items(), key=lambda item: (-item[1], item[0]))
    return [word for word, _ in ranked[:k] if len(word) >= least]


def test_frequent_words(spark: SparkSession) -> None:
    """HLM: the three most frequent words of each text, each in a row."""
    rows = [*AWKWARD, *islice(draw_texts(Random(1)), 30)]
    expected = [(ts, word) for ts, orig, _, _ in rows for word in top(orig, 3, 0)]
    assert_same_rows(by_spark(spark, QUERIES["HLM"](), {"texts": rows}), expected)


@pytest.mark.parametrize(("name", "k", "least"), [("LHM", 1, 10), ("HHM", 3, 0)])
def test_frequent_words_of_all_columns(spark: SparkSession, name: str, k: int, least: int) -> None:
    """LHM, HHM: the words of three columns beside each other, as many as the shortest has."""
    long = (START, "aaaaaaaaaaaa", "bbbbbbbbbb c bbbbbbbbbb", "cccccccccc")
    rows = [*AWKWARD, long, *islice(draw_texts(Random(2)), 30)]
    expected = [
        (ts, *found) for ts, *columns in rows for found in zip(*(top(c, k, least) for c in columns), strict=False)
    ]
    assert expected
    assert_same_rows(by_spark(spark, QUERIES[name](), {"texts": rows}), expected)


def shared_windows(a: datetime, b: datetime, size: timedelta, every: timedelta) -> list[datetime]:
    """The last microsecond of each window that both are in."""
    first = max(a, b)
    start = START - size
    ends = []
    while start <= min(a, b):
        if start + size > first:
            ends.append(start + size - timedelta(microseconds=1))
        start += every
    return ends


@pytest.mark.parametrize("using", ["", "A"])
def test_texts_of_equal_length(spark: SparkSession, using: str) -> None:
    """HLJ, dedicated and of Aggregates: pairs of equally long texts with as many changed words, once a window."""
    rows = list(islice(draw_texts(Random(3), apart=timedelta(milliseconds=150)), 60))
    rows += [(ts, orig.upper(), change, updated) for ts, orig, change, updated in rows[:3]]
    rows += [(ts, orig[::-1], change, updated) for ts, orig, change, updated in rows[:20]]
    expected: list[Any] = []
    for ts, orig, change, _ in rows:
        for other_ts, other, other_change, _ in rows:
            key = len(change.split(" "))
            alike = key == len(other_change.split(" ")) and len(orig) == len(other) > 100
            if alike and orig.lower() != other.lower():
                ends = shared_windows(ts, other_ts, timedelta(seconds=3), timedelta(seconds=1))
                expected += [(end, key, orig, other) for end in ends]
    assert expected
    flow = QUERIES["HLJ"]()
    assert_same_rows(by_spark(spark, flow.to_aggregates(using=using) if using else flow, {"texts": rows}), expected)


def points(dist: list[float]) -> list[tuple[float, float]]:
    angles = [radians(-95 + i * 190 / 761) for i in range(len(dist))]
    return [(d * cos(angle), d * sin(angle)) for d, angle in zip(dist, angles, strict=True)]


def test_chunks_of_points(spark: SparkSession) -> None:
    """hlm: the points of a scan, in three rows."""
    rows = list(islice(draw_scans(Random(4)), 3))
    found = by_spark(spark, QUERIES["hlm"](), {"scans": rows})
    assert sorted(len(chunk) for _, _, chunk in found) == [253] * 3 + [254] * 6
    for _, number, dist in rows:
        chunks = [chunk for _, id_, chunk in found if id_ == number]
        flat = sorted((p["x"], p["y"]) for chunk in chunks for p in chunk)
        assert all(
            isclose(a, b, abs_tol=1e-9)
            for p, q in zip(flat, sorted(points(dist)), strict=True)
            for a, b in zip(p, q, strict=True)
        )


def test_scans_that_are_far_from_the_reference_point(spark: SparkSession) -> None:
    """lhm: the distances to (10, 10), of scans whose mean distance to it is at least 13."""
    rows = [(ts, n, [d + 3 * (n % 4) for d in dist]) for ts, n, dist in islice(draw_scans(Random(5)), 8)]
    expected = []
    for ts, number, dist in rows:
        far = [((x - 10) ** 2 + (y - 10) ** 2) ** 0.5 for x, y in points(dist)]
        if sum(far) / len(far) >= 13:
            expected.append((ts, number, far))
    assert 0 < len(expected) < len(rows)
    assert_same_rows(by_spark(spark, QUERIES["lhm"](), {"scans": rows}), expected)


def test_scans_that_hardly_differ(spark: SparkSession) -> None:
    """hlj: pairs of scans whose first 76 samples differ by at most 0.7 in sum, but differ."""
    rows = list(islice(draw_scans(Random(6), apart=timedelta(milliseconds=100)), 15))
    expected: list[Any] = []
    for ts, number, dist in rows:
        for other_ts, other, dists in rows:
            if 0 < sum(abs(a - b) for a, b in zip(dist[:76], dists[:76], strict=True)) <= 0.7:
                ends = shared_windows(ts, other_ts, timedelta(seconds=1), timedelta(milliseconds=500))
                expected += [(end, number, dist, other, dists) for end in ends]
    assert expected
    assert_same_rows(by_spark(spark, QUERIES["hlj"](), {"scans": rows}), expected)
