"""Fetches rows from Spark as Arrow batches, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from tidegate.spark.arrow import map_in_arrow
from tidegate.spark.wire import in_utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["arrow_batches"]


def arrow_batches(rows: DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a DataFrame as Arrow batches. The driver holds one partition at a time.

    Spark's `toArrow` collects everything, and `toLocalIterator` makes a Python object for each row. Here we use the
    latter, on rows of which each contains a whole Arrow batch. Instants with a zone are in UTC.
    """
    from pyspark.sql.types import BinaryType, StructField, StructType

    packed = map_in_arrow(rows, _packed, StructType([StructField("batch", BinaryType())]))
    for row in packed.toLocalIterator(prefetchPartitions=True):
        for batch in pa.ipc.open_stream(row["batch"]):
            if batch.num_rows:
                columns = [in_utc(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["batch"])
