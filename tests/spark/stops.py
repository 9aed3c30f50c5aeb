"""A flow that is stopped eight times in the middle of a step, and started again: ``python -m tests.spark.stops DIR``.

With a second argument, ``interrupt``, it is stopped as Spark does it, without waiting for the step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession
from tests.spark.place import DDL, Place

import tidegate as tg
from tidegate.spark.streaming import start
from tidegate.spark.streaming.batch_runner import BatchRunner

FILES = 12


def flow() -> tg.Flow:
    found = tg.Flow("stops")
    rows = found.source("s", DDL, time="t", watermark=tg.bounded(0))
    found.sink("out", rows.aggregate(by="k", n="count(*)"))
    return found


def main(directory: Path, *, interrupt: bool) -> dict[str, Any]:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if interrupt:
        BatchRunner.__call__ = lambda self, batch, number: self._step(batch, number)  # type: ignore[method-assign]
        BatchRunner.stop = lambda self, query, timeout: query.stop()  # type: ignore[method-assign,assign,func-returns-value]
    place = Place(spark, directory)
    for i in range(FILES):
        place.feed.add((i, "a", i), (i, "b", i))
    print("ready", file=sys.stderr, flush=True)
    ended = []
    for _ in range(8):
        middle = Event()

        def probe(point: str, step: int, middle: Event = middle) -> None:
            if point == "writing":
                middle.set()

        inputs, outputs = {"s": place.feed.stream(spark)}, {"out": tg.parquet(str(directory / "out"))}
        run = start(flow().plan, spark, inputs, outputs, str(directory / "checkpoint"), probe=probe)
        middle.wait()
        ended.append(run.stop(None))
    place.start(flow(), trigger={"processingTime": "0 seconds"}).finish()
    found = {"ended": ended, "rows": place.rows(), "files": FILES}
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), interrupt=sys.argv[2:] == ["interrupt"])))
