"""A place to run flows in: a directory that files are added to, a checkpoint and outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import tidegate as tg

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DDL", "Feed", "Place", "counts"]

SCHEMA = pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.int32())])
DDL = "t INT, k STRING, x INT"


class Feed:
    """A directory that a file source reads, one file a step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.mkdir()
        self.files = 0

    def add(self, *rows: tuple[Any, ...]) -> None:
        """Add a file of rows; files are read in the order in which they were added."""
        name = self.path / f"{self.files:04}.parquet"
        columns = [[row[i] for row in rows] for i in range(len(SCHEMA))]
        table = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
        pq.write_table(table, self.path / f".{self.files:04}")
        os.utime(self.path / f".{self.files:04}", (1_000_000 + self.files, 1_000_000 + self.files))
        os.replace(self.path / f".{self.files:04}", name)
        self.files += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(self.path))


class Place:
    """A feed, a checkpoint and outputs in one directory."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = path
        self.feed = Feed(path / "in")

    def start(self, flow: tg.Flow, **options: Any) -> tg.Run:
        outputs = {s.name: tg.parquet(str(self.path / s.name)) for s in flow.plan.sinks} | options.pop("outputs", {})
        inputs = {"s": self.feed.stream(self.spark)} | options.pop("inputs", {})
        options.setdefault("trigger", {"availableNow": True})
        return flow.start(self.spark, inputs, outputs, str(self.path / "checkpoint"), **options)

    def run(self, flow: tg.Flow, **options: Any) -> tg.Run:
        run = self.start(flow, **options)
        run.await_termination(120)
        return run

    def rows(self, sink: str = "out") -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in tg.read(self.spark, str(self.path / sink)).collect())


def counts(delay: int = 2, late: str = "divert") -> tg.Flow:
    flow = tg.Flow("counts")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(delay), late=late)
    flow.sink("out", rows.aggregate(by="k", n="count(*)"))
    return flow
