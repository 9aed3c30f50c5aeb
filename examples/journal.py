"""A connector of your own that serves both engines: lines of JSON that a program appends to a file. A file to copy.

    python examples/journal.py
    python examples/journal.py --spark

`Journal` has the methods of PySpark's stream readers, and needs no PySpark. The local engine takes it as it is. For
Spark, `stream_on_spark` wraps it in a data source.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.json as pj

import tidegate as tg

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EDITS = "ts TIMESTAMP, page STRING, bytes INT"
COLUMNS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("page", pa.string()), ("bytes", pa.int32())])

flow = tg.Flow("journal")
edits = flow.source("edits", EDITS, time="ts", watermark=tg.bounded("10 minutes"))
flow.sink("hourly", edits.window("1 hour").aggregate(by="page", edits="count(*)", bytes="sum(bytes)"))


class Journal:
    """The lines of a file that grows. An offset is how many bytes were read; between two offsets are whole lines."""

    def __init__(self, path: str) -> None:
        self.path = path

    def initialOffset(self) -> dict[str, int]:
        """Return where the first line begins."""
        return {"bytes": 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: ARG002
        """Return where the last whole line ends; PySpark before 4.2 does not say where it is."""
        first = start["bytes"] if start else 0
        return {"bytes": first + self._text(first).rfind(b"\n") + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[tuple[int, int]]:
        """Return what can be read side by side: here, one piece; none between an offset and itself."""
        return [(start["bytes"], end["bytes"])] if start != end else []

    def read(self, partition: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece: always the same ones, however often it is asked for."""
        first, last = partition
        options = pj.ParseOptions(explicit_schema=COLUMNS, unexpected_field_behavior="ignore")
        lines = io.BytesIO(self._text(first, last))
        yield from pj.read_json(lines, parse_options=options).select(COLUMNS.names).to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Do nothing: what is before ``end`` will not be asked for again, and could be deleted."""

    def _text(self, first: int, last: int | None = None) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(first)
            return file.read() if last is None else file.read(last - first)


def stream_on_spark(spark: SparkSession, path: str) -> DataFrame:
    """Return the same as a streaming DataFrame."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Reader(DataSourceStreamReader):
        def __init__(self, journal: Journal) -> None:
            self.journal = journal

        def initialOffset(self) -> dict[str, int]:
            return self.journal.initialOffset()

        def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
            return self.journal.latestOffset(start, limit)

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition(piece) for piece in self.journal.partitions(start, end)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            return self.journal.read(partition.value)

        def commit(self, end: dict[str, int]) -> None:
            self.journal.commit(end)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "journal"

        def schema(self) -> str:
            return EDITS

        def streamReader(self, schema: Any) -> Reader:  # noqa: ARG002
            return Reader(Journal(self.options["path"]))

    spark.dataSource.register(Source)
    return spark.readStream.format("journal").load(path)


def session_and_stream(path: str, *, on_spark: bool) -> tuple[Any, Any]:
    """Return where the flow runs, and what its source is read from there."""
    if not on_spark:
        return tg.local(), Journal(path)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    return spark, stream_on_spark(spark, path)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "edits.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"ts": "2026-01-01T00:10:00Z", "page": "home", "bytes": 120}\n')
            file.write('{"ts": "2026-01-01T00:40:00Z", "page": "home", "bytes": 30}\n')
            file.write('{"ts": "2026-01-01T01:20:00Z", "page": "news", "bytes": 7}\n')
            file.write('{"ts": "2026-01-01T01:30')  # A line that is not whole yet is not read.
        session, stream = session_and_stream(path, on_spark="--spark" in sys.argv)
        run = flow.start(session, {"edits": stream}, {"hourly": tg.console()}, f"{place}/checkpoint")
        run.finish()
        print(run.status())
