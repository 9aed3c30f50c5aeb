"""The flows that crash tests kill, and what they read: every kind of state is in one of them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidegate as tg
from tidegate.spec import DT, WM

__all__ = ["DDL", "FLOWS", "STEPS", "STORED", "write_input"]

STEPS = 9
DDL = "t INT, u INT, k STRING, x INT"


def _total(flow: tg.Flow, name: str = "s") -> tg.Stream:
    return flow.source(name, DDL, time="t", watermark=tg.bounded(3))


def _pairs(flow: tg.Flow) -> tg.Stream:
    return flow.source("s", DDL, time=("t", "u"), watermark=tg.bounded(3, 5))


def _deduplicated(flow: tg.Flow) -> tg.Stream:
    rows = _total(flow)
    latest = rows.where("x % 3 = 0").select("k", "x AS y")
    return rows.deduplicate(["k", "x % 4 AS rest"], within=4).join_asof(latest, on="k", how="left")


def _growing(flow: tg.Flow) -> tg.Stream:
    """Edges of which those of every step lead to new nodes, so that every step has rounds."""
    return _total(flow).select("t * 4 + x AS src", "t * 4 + (x * 3 + u) % 10 AS dst")


def _joined(flow: tg.Flow) -> tg.Stream:
    others = _total(flow, "r").aggregate(by="k", least="min(x)")
    return _total(flow).accumulate(by="k", total="sum(x)").join(others, on="k", how="full")


@dataclass(frozen=True)
class Balance:
    """An operator of one's own: what the rows of a key come to, at each time."""

    total: int = 0

    def apply(self, event: Any) -> tuple[Balance, list[Any]]:
        if isinstance(event, WM):
            return self, [DT(event.t, {"total": self.total})]
        return Balance(self.total + event.d["x"]), []

    def exit(self) -> list[Any]:
        return []


#: The flows that are killed: every kind of state is in one of them. Those in ``STORED`` also write to PostgreSQL.
FLOWS: dict[str, Callable[[tg.Flow], tg.Stream]] = {
    "windows": lambda f: _total(f).window(6, every=3).aggregate(by="k", n="count(*)", total="sum(x)"),
    "revised": lambda f: _total(f).where("x > 2").window(6, every=3, lateness=20).aggregate(by="k", total="sum(x)"),
    "sessions": lambda f: _total(f).where("x % 5 > 1").session(2).aggregate(by="k", n="count(*)"),
    "pairs": lambda f: _pairs(f).aggregate(by="k", total="sum(x)").accumulate(most="max(total)"),
    "deduplicated": _deduplicated,
    "joined": _joined,
    "loops": lambda f: tg.graph.components(_growing(f), "src", "dst"),
    "processed": lambda f: _total(f).process(Balance(), by="k", schema="total INT"),
    "stored": lambda f: _total(f).accumulate(by="k", total="sum(x)"),
}
STORED = {"stored"}


def write_input(directory: Path, rng: random.Random, steps: int) -> None:
    """Write files of rows, one for each step; some rows are late, some have no time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory.mkdir()
    types = [pa.int32(), pa.int32(), pa.string(), pa.int32()]
    for step in range(steps):
        rows = [
            (step * 2 + rng.randint(-3, 2), rng.randint(0, 5), rng.choice(["a", "b", None]), rng.randint(0, 9))
            for _ in range(20)
        ]
        rows += [(0, 0, "late", step), (None, 0, "null", step)]
        arrays = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
        path = directory / f"{step}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, names=["t", "u", "k", "x"]), path)
        os.utime(path, (1_000_000 + step, 1_000_000 + step))
