"""Reading outputs in this process: only what is committed, at once or as a stream."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import duckdb

from tidegate.engine.commits.by_step import PENDING
from tidegate.engine.steps.published_steps import committed_steps
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.flow.arguments import checked_path
from tidegate.flow.errors import BadArgument
from tidegate.flow.schema_json import columns_of_json
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.paths import parquet_files, place_of
from tidegate.local_engine.session import Local, cursor_of
from tidegate.local_engine.streaming.feeds.published import PublishedStream
from tidegate.local_engine.types import zoned_type

__all__ = ["data_files", "read", "read_stream"]

_TRIES = 5


def read(session: Local | duckdb.DuckDBPyConnection, path: str | os.PathLike[str]) -> duckdb.DuckDBPyRelation:
    """Return the rows of an output as a relation of DuckDB."""
    files = Files(place_of(checked_path(path, "read(…)", hint='tg.read(tg.local(), "out/hourly")')))
    schema, paths = committed_files(files)
    columns = [(duckdb_name(c.name), zoned_type(c.type or "")) for c in columns_of_json(schema)]
    cursor = cursor_of(session)
    nulls = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in columns)
    empty = f"SELECT {nulls} WHERE false"
    if not paths:
        return cursor.sql(empty)
    picked = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in columns)
    # Columns that no file has are taken from an empty relation.
    found = parquet_files(paths, by_name=True)
    return cursor.sql(f"SELECT {picked} FROM ({empty} UNION ALL BY NAME SELECT * FROM {found})")


def committed_files(files: Files) -> tuple[str, list[Path]]:
    """Return the schema of an output as JSON, and the files with its rows."""
    for number in range(_TRIES):
        schema, found = committed_steps(files)
        moving = any(PENDING in Path(path).parts for path in found) and number < _TRIES - 1
        if not moving and (paths := data_files(found)) is not None:
            return schema, paths
        # A committed step that is not published yet is being moved to its place, unless its run has died.
        time.sleep(0.01 * 2**number)
    raise BadCheckpoint(f"{files.root} changes while it is read", hint="read it again")


def data_files(found: list[str]) -> list[Path] | None:
    """Return the files of some paths, which are files or directories; None if one does not exist."""
    paths: list[Path] = []
    for name in found:
        place = place_of(name)
        inside = [place] if place.is_file() else _inside(place)
        if not inside:
            return None
        paths += inside
    return paths


def _inside(place: Path) -> list[Path]:
    """Return the files in a directory and in its partition directories."""
    found = sorted(place.glob("[!._]*"))
    return [file for path in found for file in (_inside(path) if path.is_dir() else [path])]


def read_stream(path: str | os.PathLike[str], **options: Any) -> PublishedStream:
    """Return an output as an input of `start`."""
    if options:
        raise BadArgument(f"expected no options on a local session, got {', '.join(options)}", hint="they are Spark's")
    return PublishedStream(checked_path(path, "read_stream(…)", hint='tg.read_stream(tg.local(), "out/hourly")'))
