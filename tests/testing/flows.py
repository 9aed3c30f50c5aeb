"""Flows that the tests of the kit try."""

from __future__ import annotations

from typing import Any

import tidegate as tg


def hourly(**how: Any) -> tg.Flow:
    """Edits of each page, by the hour."""
    flow = tg.Flow("edits")
    watermark = how.pop("watermark", tg.bounded("10 minutes"))
    edits = flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts", watermark=watermark, **how)
    flow.sink("hourly", edits.window("1 hour").aggregate(by="page", n="count(*)", kib="sum(bytes) / 1024"))
    return flow


def counts(**how: Any) -> tg.Flow:
    """How many rows each key has, at each time."""
    flow = tg.Flow("counts")
    rows = flow.source("s", "t INT, k STRING", time="t", **how)
    flow.sink("out", rows.aggregate(by="k", n="count(*)"))
    return flow


def joined() -> tg.Flow:
    """Pairs of rows of two sources, with names from a table."""
    flow = tg.Flow("joined")
    left = flow.source("left", "t INT, k STRING, x INT", time="t")
    right = flow.source("right", "t INT, k STRING, y INT", time="t")
    names = flow.table("names", "k STRING, name STRING")
    flow.sink("out", left.join(right, on="k", how="left").join(names, on="k"))
    return flow
