"""Twelve queries on scans of a laser: points from distances, and pairs of scans that hardly differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidegate.flow import Flow, Stream
from tidegate.flow.watermarks import Watermark

__all__ = ["PUBLISHED_SCANS", "SAMPLES", "SCANS", "SCHEMA", "alike"]

SCHEMA = "ts TIMESTAMP, id INT, dist ARRAY<DOUBLE>"
#: The distances of a scan, over 190 degrees.
SAMPLES = 761
#: The points of the first two of three chunks; the last has the rest.
CHUNK = 254
#: The reference point, in metres from the sensor. The paper names none; from this one, the scans that are drawn are as
#: selective as it says.
REFERENCE = (-2, 0)
#: What the authors' program has: a reference point, and how many samples its Joins compare.
PUBLISHED_REFERENCE, PUBLISHED_SAMPLES = (10, 10), SAMPLES // 10

#: Where the three chunks of a scan begin.
_STARTS = f"array(0, {CHUNK}, {2 * CHUNK})"


def _angle(i: str) -> str:
    return f"radians(-95 + ({i}) * 190 / {SAMPLES})"


def _point(d: str, i: str) -> str:
    return f"struct({d} * cos({_angle(i)}) AS x, {d} * sin({_angle(i)}) AS y)"


def _from(reference: tuple[int, int], d: str, i: str) -> tuple[str, str]:
    """How far a point is from a reference point, in each coordinate."""
    x, y = reference
    return f"({d} * cos({_angle(i)}) - {x})", f"({d} * sin({_angle(i)}) - {y})"


def _point_from_reference(d: str, i: str) -> str:
    x, y = _from(REFERENCE, d, i)
    return f"struct({x} AS x, {y} AS y)"


def _far(reference: tuple[int, int], d: str, i: str) -> str:
    """The distance of a point to a reference point."""
    x, y = _from(reference, d, i)
    return f"sqrt({x} * {x} + {y} * {y})"


def _each(what: Callable[[str, str], str]) -> str:
    return f"transform(dist, (d, i) -> {what('d', 'i')})"


def _in_chunks(what: Callable[[str, str], str]) -> str:
    length = f"IF(start = {2 * CHUNK}, {SAMPLES - 2 * CHUNK}, {CHUNK})"
    chunk = f"slice(dist, start + 1, {length})"
    return f"transform({_STARTS}, start -> transform({chunk}, (d, i) -> {what('d', 'start + i')}))"


def _mean(values: str) -> str:
    return f"{_sum(values)} / size(dist)"


def _sum(values: str) -> str:
    return f"reduce({values}, CAST(0 AS DOUBLE), (total, v) -> total + v)"


def _source(name: str, watermark: Watermark | None) -> tuple[Flow, Stream]:
    flow = Flow(name)
    return flow, flow.source("scans", SCHEMA, time="ts", watermark=watermark)


def _points(
    name: str,
    *,
    point: Callable[[str, str], str] = _point,
    mean: str = "",
    chunks: bool = False,
    watermark: Watermark | None = None,
) -> Flow:
    """The points of each scan whose mean satisfies a condition, in one list or in three."""
    flow, scans = _source(name, watermark)
    if mean:
        scans = scans.where(mean)
    points = scans.select("id", f"{_in_chunks(point) if chunks else _each(point)} AS points")
    flow.sink("out", points.explode("points") if chunks else points)
    return flow


def _alike(
    name: str,
    bound: str,
    size: str,
    *,
    samples: int | None = None,
    every: str = "500 milliseconds",
    early: bool = False,
    watermark: Watermark | None = None,
) -> Flow:
    flow, scans = _source(name, watermark)
    others = scans.select("id AS other_id", "dist AS other")
    where = alike("left.dist", "right.other", bound, samples)
    flow.sink("out", scans.window_join(others, on=(), size=size, every=every, where=where, early=early))
    return flow


def alike(dist: str, other: str, bound: str, samples: int | None = None) -> str:
    """Return the condition of a Join: two scans differ, and their differences add up to no more than a bound.

    >>> alike("a", "b", "< 0.5").startswith("reduce(zip_with(a, b, ")
    True
    """
    if samples is not None:
        dist, other = f"slice({dist}, 1, {samples})", f"slice({other}, 1, {samples})"
    difference = _sum(f"zip_with({dist}, {other}, (a, b) -> abs(a - b))")
    return f"{difference} > 0 AND {difference} {bound}"


_DISTANCE = _mean("dist")
_FROM_REFERENCE = _mean(_each(partial(_far, REFERENCE)))
_FROM_PUBLISHED_REFERENCE = _mean(_each(partial(_far, PUBLISHED_REFERENCE)))

#: How to build each query on scans, by name, as Table 1 prints it. Each takes a ``watermark``, and a Join
#: ``every`` and ``early``.
SCANS: dict[str, Callable[..., Flow]] = {
    "llm": partial(_points, "llm", mean=f"{_DISTANCE} > 3"),
    "alm": partial(_points, "alm"),
    "hlm": partial(_points, "hlm", chunks=True),
    "lhm": partial(_points, "lhm", point=_point_from_reference, mean=f"{_FROM_REFERENCE} > 3"),
    "ahm": partial(_points, "ahm", point=_point_from_reference),
    "hhm": partial(_points, "hhm", point=_point_from_reference, chunks=True),
    "llj": partial(_alike, "llj", "< 0.5", "1 second"),
    "alj": partial(_alike, "alj", "< 0.6", "1 second"),
    "hlj": partial(_alike, "hlj", "< 0.7", "1 second"),
    "lhj": partial(_alike, "lhj", "< 0.5", "2 seconds"),
    "ahj": partial(_alike, "ahj", "< 0.6", "2 seconds"),
    "hhj": partial(_alike, "hhj", "< 0.7", "2 seconds"),
}

_published_join = partial(_alike, samples=PUBLISHED_SAMPLES)

#: Those that the published program, which is for Flink, has otherwise than they are printed. Its points are always seen
#: from the sensor; what it adds up from the reference point decides only what ``lhm`` forwards.
PUBLISHED_SCANS: dict[str, Callable[..., Flow]] = {
    "llm": partial(_points, "llm", mean=f"{_DISTANCE} >= 3"),
    "lhm": partial(_points, "lhm", mean=f"{_FROM_PUBLISHED_REFERENCE} >= 13"),
    "ahm": partial(_points, "ahm", mean=f"{_FROM_PUBLISHED_REFERENCE} >= 0"),
    "hhm": partial(_points, "hhm", mean=f"{_FROM_PUBLISHED_REFERENCE} >= 0", chunks=True),
    "llj": partial(_published_join, "llj", "<= 0.5", "1 second"),
    "alj": partial(_published_join, "alj", "<= 0.6", "1 second"),
    "hlj": partial(_published_join, "hlj", "<= 0.7", "1 second"),
    "lhj": partial(_published_join, "lhj", "<= 0.5", "2 seconds"),
    "ahj": partial(_published_join, "ahj", "<= 0.6", "2 seconds"),
    "hhj": partial(_published_join, "hhj", "<= 0.7", "2 seconds"),
}
