"""Measurements of bounded flows in several forms, by processor time and by the clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from tidegate.flow import Flow
from tidegate.flow.arrow import table_of
from tidegate.flow.schema import parse_schema

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FORMS", "Cost", "bounded", "processor", "written"]

#: The forms of a flow: how it is written, and how it is run.
FORMS: dict[str, Callable[[Flow], Flow]] = {
    "dedicated": lambda flow: flow,
    "A+": lambda flow: flow.to_aggregates(using="A+"),
    "A": lambda flow: flow.to_aggregates(using="A", looped=True),
    "optimised": lambda flow: flow.to_aggregates(using="A").optimize(),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What runs of one form cost, in seconds: by the clock, and of processors; medians, and the least and the most."""

    seconds: float
    processor: float
    least: float
    most: float

    @classmethod
    def of(cls, runs: Sequence[tuple[float, float]]) -> Cost:
        """Return the cost of some runs, each by the clock and of processors.

        >>> Cost.of([(1.0, 2.0), (1.5, 3.0), (1.2, 2.5)])
        Cost(seconds=1.2, processor=2.5, least=2.0, most=3.0)
        """
        # Of next to nothing a clock tells nothing, and it is divided by.
        used = [max(processor, 1e-3) for _, processor in runs]
        return cls(median(seconds for seconds, _ in runs), median(used), min(used), max(used))


def processor(spark: SparkSession) -> Callable[[], float]:
    """Return a clock of the processor time that Spark's process has used; that of the wall where there is none."""
    process = getattr(getattr(spark.sparkContext, "_gateway", None), "proc", None)
    stat = Path(f"/proc/{process.pid}/stat") if process is not None else Path()
    if not stat.is_file():
        return time.perf_counter

    def used() -> float:
        fields = stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    return used


def bounded(
    spark: SparkSession,
    tables: Mapping[str, Callable[[], DataFrame]],
    *,
    warm: int,
    repeats: int,
    once: Sequence[str] = ("A",),
) -> dict[str, Cost]:
    """Compute each table some times, in turn, and throw the rows away.

    The first runs of each, which compile, do not count. Forms named in ``once`` take long: they are run twice, and the
    first run is their warm-up.
    """
    clock = processor(spark)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in tables}
    for repeat in range(warm + repeats):
        for name, table in tables.items():
            if name in once and repeat not in (warm - 1, warm):
                continue
            # What one run leaves behind is not to be collected at the cost of the next.
            spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
            started, used = time.perf_counter(), clock()
            table().write.format("noop").mode("overwrite").save()
            cost = (time.perf_counter() - started, clock() - used)
            if repeat >= warm:
                found[name].append(cost)
    return {name: Cost.of(costs) for name, costs in found.items()}


def written(
    spark: SparkSession, draw: Any, schema: str, rows: int, apart: timedelta, path: Path, *, files: int = 2
) -> DataFrame:
    """Write rows that are drawn, in so many files, later ones in later files; return them as a table."""
    columns = parse_schema(schema).columns
    drawn = [
        dict(zip((c.name for c in columns), row, strict=True)) for row in islice(draw(Random(1), apart=apart), rows)
    ]
    path.mkdir()
    for i in range(files):
        part = table_of(drawn[i * rows // files : (i + 1) * rows // files], columns)
        parquet.write_table(part.cast(_zoned(part.schema)), path / f"{i:04}.parquet")
    return spark.read.parquet(str(path))


def _zoned(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose instants say that they are in UTC, so that Spark reads them as such."""
    instant = pa.timestamp("us", tz="UTC")
    return pa.schema([f.with_type(instant) if pa.types.is_timestamp(f.type) else f for f in schema])
