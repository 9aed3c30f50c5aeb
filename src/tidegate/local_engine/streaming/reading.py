"""Reading outputs in this process: what is committed and nothing else, at once or as a stream."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb

from tidegate.engine.steps.published_steps import committed_steps
from tidegate.engine.storage.files import Files
from tidegate.flow.arguments import checked_path
from tidegate.flow.errors import BadArgument
from tidegate.flow.schema_json import columns_of_json
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.session import Local, cursor_of
from tidegate.local_engine.streaming.feeds.published import PublishedStream
from tidegate.local_engine.types import zoned_type

__all__ = ["read", "read_stream"]


def read(session: Local | duckdb.DuckDBPyConnection, path: str | os.PathLike[str]) -> duckdb.DuckDBPyRelation:
    """Return the rows of an output as a relation of DuckDB."""
    files = Files(Path(checked_path(path, "read(…)", hint='tg.read(tg.local(), "out/hourly")')))
    schema, found = committed_steps(files)
    columns = [(duckdb_name(c.name), zoned_type(c.type or "")) for c in columns_of_json(schema)]
    cursor = cursor_of(session)
    nulls = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in columns)
    paths = [file for place in found for file in sorted(Path(place.removeprefix("file:")).glob("[!._]*"))]
    empty = f"SELECT {nulls} WHERE false"
    if not paths:
        return cursor.sql(empty)
    names = ", ".join("'" + str(file).replace("'", "''") + "'" for file in paths)
    picked = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in columns)
    # Columns that no file has are those of no rows.
    files_of_ours = f"read_parquet([{names}], union_by_name = true, hive_partitioning = false)"
    rows = f"{empty} UNION ALL BY NAME SELECT * FROM {files_of_ours}"
    return cursor.sql(f"SELECT {picked} FROM ({rows})")


def read_stream(path: str | os.PathLike[str], **options: Any) -> PublishedStream:
    """Return an output as an input of `start`."""
    if options:
        raise BadArgument(f"expected no options on a local session, got {', '.join(options)}", hint="they are Spark's")
    return PublishedStream(checked_path(path, "read_stream(…)", hint='tg.read_stream(tg.local(), "out/hourly")'))
