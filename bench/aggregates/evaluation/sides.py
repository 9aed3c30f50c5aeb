"""Three sides that run a query on files: Structured Streaming by hand, Tidegate on Spark, the local engine.

Each is started, says when which rows could be read, and is stopped. All read the same files, as soon as they are
there, and write Parquet files with a checkpoint. A session, a plan and warm code are there before anything counts.

An answer of Tidegate can be read when its step is published: then `tg.read` has it. The instant is taken after that.
One of Spark by hand can be read when the sink has written the batch to its log, by which readers know the files: the
time of that file is taken. Which rows were in the batch is in the logs of its offsets and of the source.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import tidegate as tg
from bench.aggregates.evaluation.asked import Asked
from bench.aggregates.evaluation.by_hand import SETTINGS, by_hand

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.engine.runs import Run

__all__ = ["SIDES", "Session", "Started", "start"]

#: The sides, and what figures call them.
SIDES = {"hand": "Spark by hand", "spark": "Tidegate on Spark", "local": "Tidegate, local"}

#: Logs that say which files were in which batch are read at the end of a run: nothing of them is deleted before.
_KEPT = {
    "spark__sql__streaming__minBatchesToRetain": "100000",
    "spark__sql__streaming__fileSource__log__cleanupDelay": "1d",
    "spark__sql__streaming__fileSink__log__cleanupDelay": "1d",
}


class Session:
    """Spark, started when it is needed first; and the local engine. Both use as many cores."""

    def __init__(self, cores: int = 2, *, spark: SparkSession | None = None) -> None:
        self.cores = cores
        self._spark = spark
        self._own = spark is None

    @property
    def spark(self) -> SparkSession:
        """Return the session of Spark."""
        if self._spark is None:
            from tidegate.spark.session import local_session

            options = {"spark__driver__memory": "4g", "spark__sql__shuffle__partitions": str(self.cores)} | _KEPT
            options |= {name.replace(".", "__"): value for name, value in SETTINGS.items()}
            self._spark = local_session("bench", master=f"local[{self.cores}]", **options)
        return self._spark

    def local(self) -> Any:
        """Return a session of the local engine."""
        return tg.local(threads=self.cores)

    def close(self) -> None:
        """Stop Spark, if it was started here."""
        if self._spark is not None and self._own:
            self._spark.stop()


class Started(Protocol):
    """A side that runs."""

    def steps(self, rows: Mapping[str, int]) -> list[tuple[float, int]]:
        """Return when, by the clock, how many rows could be read; ``rows`` are those of files, by their names."""

    def check(self) -> None:
        """Raise what it failed with, if it did."""

    def stop(self) -> None:
        """Stop."""

    def finish(self) -> None:
        """Take what is there as the end of the input, and wait until all is answered."""


@dataclass
class OfTidegate:
    """A flow that runs, on either engine."""

    run: Run
    seen: list[tuple[float, int]] = field(default_factory=list)

    def steps(self, rows: Mapping[str, int]) -> list[tuple[float, int]]:  # noqa: ARG002
        """Return what steps said when they were published."""
        total, found = 0, []
        for at, taken in list(self.seen):
            total += taken
            found.append((at, total))
        return found

    def check(self) -> None:
        """Raise what the run failed with."""
        if (error := self.run.exception()) is not None:
            raise error

    def stop(self) -> None:
        """Stop after the step that runs; one that takes long is cancelled."""
        self.run.stop(timeout=5)

    def finish(self) -> None:
        """Complete everything."""
        self.run.finish()


@dataclass
class ByHand:
    """A query of Structured Streaming."""

    query: Any
    checkpoint: Path
    output: Path
    #: What was read of logs so far, which never change: the steps; how many batches they are of; and, of each source,
    #: the entry of its log that the last of these batches went up to, and how many rows that is.
    _steps: list[tuple[float, int]] = field(default_factory=list)
    _batches: int = 0
    _upto: list[tuple[int, int]] = field(default_factory=list)

    def steps(self, rows: Mapping[str, int]) -> list[tuple[float, int]]:
        """Return when each batch was in the log of the sink, and how many rows had been read by then.

        It is called often while the query runs, so it opens only what is new.
        """
        while (at := _written(self.output / "_spark_metadata", self._batches)) is not None:
            text = (self.checkpoint / "offsets" / str(self._batches)).read_text(encoding="utf-8")
            entries = [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in text.splitlines()[2:]]
            # A Join reads one source twice; Spark keeps one log of it.
            there = [i for i in range(len(entries)) if (self.checkpoint / "sources" / str(i)).exists()]
            self._upto = self._upto or [(-1, 0)] * len(there)
            self._upto = [self._read(i, entries[i], before, rows) for i, before in zip(there, self._upto, strict=True)]
            self._batches += 1
            total = min((count for _, count in self._upto), default=0)
            if total > (self._steps[-1][1] if self._steps else 0):
                self._steps.append((at, total))
        return list(self._steps)

    def _read(self, source: int, entry: int, before: tuple[int, int], rows: Mapping[str, int]) -> tuple[int, int]:
        """Return up to which entry the log of a source was read, and how many rows that is."""
        last, count = before
        for number in range(last + 1, entry + 1):
            for name in _files_of(self.checkpoint / "sources" / str(source), number):
                count += rows.get(name, 0)
        return max(entry, last), count

    def check(self) -> None:
        """Raise what the query failed with."""
        if (error := self.query.exception()) is not None:
            raise error

    def stop(self) -> None:
        """Stop, in the middle of a batch if need be."""
        self.query.stop()

    def finish(self) -> None:
        """Wait until all that is there was read."""
        self.query.processAllAvailable()
        self.query.stop()


def _files_of(log: Path, entry: int) -> list[str]:
    """Return the names of the files in an entry of the log of a source."""
    for name in (str(entry), f"{entry}.compact"):
        try:
            lines = (log / name).read_text(encoding="utf-8").splitlines()[1:]
        except FileNotFoundError:
            continue
        files = (json.loads(line) for line in lines)
        # What is put together has all files of before again, each with its own number.
        return [file["path"].rsplit("/", 1)[1] for file in files if file["batchId"] == entry]
    raise FileNotFoundError(f"there is no entry {entry} in {log}")


def _written(log: Path, batch: int) -> float | None:
    for name in (str(batch), f"{batch}.compact"):
        try:
            return (log / name).stat().st_mtime_ns / 1e9
        except FileNotFoundError:
            continue
    return None


def start(
    session: Session, side: str, asked: Asked, given: Path, place: Path, *, clock: Callable[[], float] = time.time
) -> Started:
    """Start a side on a directory of files; what it writes is below ``place``."""
    output, checkpoint = place / "out", place / "checkpoint"
    if side == "hand":
        rows = by_hand(asked, _stream(session.spark, asked, given))
        writer = rows.writeStream.format("parquet").outputMode("append").option("checkpointLocation", str(checkpoint))
        return ByHand(writer.trigger(processingTime="0 seconds").start(str(output)), checkpoint, output)
    seen: list[tuple[float, int]] = []
    engine: Any = session.spark if side == "spark" else session.local()
    files: Any = _stream(session.spark, asked, given) if side == "spark" else tg.files(f"{given}/*.parquet")
    run = asked.flow().start(
        engine,
        {asked.source: files},
        {"out": tg.parquet(str(output))},
        str(checkpoint),
        metrics=lambda step: seen.append((clock(), sum(step["rows"].values()))),
    )
    return OfTidegate(run, seen)


def _stream(spark: SparkSession, asked: Asked, given: Path) -> DataFrame:
    return spark.readStream.schema(asked.schema).parquet(str(given))
