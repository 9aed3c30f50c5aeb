"""Reading what flows have written, on the engine that a session belongs to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from tidegate.extras import require

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

    from tidegate.local_engine.session import Local

__all__ = ["read", "read_stream"]


def read(session: SparkSession | Local | DuckDBPyConnection, path: str | os.PathLike[str]) -> Any:
    """Return the rows under a path that a flow wrote to with `parquet`: those of committed steps, each once.

    The result is a DataFrame on Spark, and a relation of DuckDB on a `local` session, whichever engine wrote the rows.
    It follows the commits: a step that is committed but not moved to its place yet is read where it is. Before anything
    is read, all files are checked: if one is missing or has changed, that is an error. If the sink had a column in some
    steps and not in others, it is NULL in the rows of those others.
    """
    from tidegate.local_engine.session import is_local

    if is_local(session):
        from tidegate.local_engine.streaming.reading import read as read_locally

        return read_locally(cast("Local | DuckDBPyConnection", session), path)
    require("spark", "tg.read")
    from tidegate.spark.streaming.reading import read as read_on_spark

    return read_on_spark(cast("SparkSession", session), path)


def read_stream(
    session: SparkSession | Local | DuckDBPyConnection, path: str | os.PathLike[str], **options: Any
) -> Any:
    """Return the rows that a flow writes to ``path`` with `parquet` as a stream, each once, as steps are published.

    It is an input of `start` on the same engine, for sources that are declared with ``watermark=tg.published(path)``.
    The other flow may run on either engine. On Spark it is a streaming DataFrame with the columns that the output has
    when this is called, and one more, ``__step``; ``options`` are those of Spark's file source, such as
    ``maxFilesPerTrigger``.
    """
    from tidegate.local_engine.session import is_local

    if is_local(session):
        from tidegate.local_engine.streaming.reading import read_stream as read_locally

        return read_locally(path, **options)
    require("spark", "tg.read_stream")
    from tidegate.spark.streaming.reading import read_stream as read_on_spark

    return read_on_spark(cast("SparkSession", session), path, **options)
