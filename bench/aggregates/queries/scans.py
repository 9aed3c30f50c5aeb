"""Twelve queries on scans of a laser: points from distances, and pairs of scans that hardly differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidegate.flow import Flow, Stream
from tidegate.flow.watermarks import Watermark

__all__ = ["SAMPLES", "SCANS", "SCHEMA"]

SCHEMA = "ts TIMESTAMP, id INT, dist ARRAY<DOUBLE>"
#: The distances of a scan, over 190 degrees.
SAMPLES = 761
#: The points of the first two of three chunks; the last has the rest.
CHUNK = 254
#: The samples that a Join compares.
COMPARED = 76

#: Where the three chunks of a scan begin.
_STARTS = f"array(0, {CHUNK}, {2 * CHUNK})"


def _angle(i: str) -> str:
    return f"radians(-95 + ({i}) * 190 / {SAMPLES})"


def _point(d: str, i: str) -> str:
    return f"struct({d} * cos({_angle(i)}) AS x, {d} * sin({_angle(i)}) AS y)"


def _far(d: str, i: str) -> str:
    """The distance of a point to (10, 10)."""
    x, y = f"({d} * cos({_angle(i)}) - 10)", f"({d} * sin({_angle(i)}) - 10)"
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


def _points(name: str, *, least: int = 0, chunks: bool = False, watermark: Watermark | None = None) -> Flow:
    flow, scans = _source(name, watermark)
    if least:
        scans = scans.where(f"{_mean('dist')} >= {least}")
    points = scans.select("id", f"{_in_chunks(_point) if chunks else _each(_point)} AS points")
    flow.sink("out", points.explode("points") if chunks else points)
    return flow


def _from_reference(name: str, *, least: int = 0, chunks: bool = False, watermark: Watermark | None = None) -> Flow:
    flow, scans = _source(name, watermark)
    if least:
        scans = scans.where(f"{_mean(_each(_far))} >= {least}")
    seen = scans.select("id", f"{_in_chunks(_far) if chunks else _each(_far)} AS dist")
    flow.sink("out", seen.explode("dist") if chunks else seen)
    return flow


def _alike(
    name: str, bound: float, size: str, *, every: str = "500 milliseconds", watermark: Watermark | None = None
) -> Flow:
    flow, scans = _source(name, watermark)
    others = scans.select("id AS other_id", "dist AS other")
    first = f"slice(left.dist, 1, {COMPARED}), slice(right.other, 1, {COMPARED})"
    difference = _sum(f"zip_with({first}, (a, b) -> abs(a - b))")
    where = f"{difference} > 0 AND {difference} <= {bound}"
    flow.sink("out", scans.window_join(others, on=(), size=size, every=every, where=where))
    return flow


#: How to build each query on scans, by name; each takes a ``watermark``, and a Join takes ``every``.
SCANS: dict[str, Callable[..., Flow]] = {
    "llm": partial(_points, "llm", least=3),
    "alm": partial(_points, "alm"),
    "hlm": partial(_points, "hlm", chunks=True),
    "lhm": partial(_from_reference, "lhm", least=13),
    "ahm": partial(_from_reference, "ahm"),
    "hhm": partial(_from_reference, "hhm", chunks=True),
    "llj": partial(_alike, "llj", 0.5, "1 second"),
    "alj": partial(_alike, "alj", 0.6, "1 second"),
    "hlj": partial(_alike, "hlj", 0.7, "1 second"),
    "lhj": partial(_alike, "lhj", 0.5, "2 seconds"),
    "ahj": partial(_alike, "ahj", 0.6, "2 seconds"),
    "hhj": partial(_alike, "hhj", 0.7, "2 seconds"),
}
