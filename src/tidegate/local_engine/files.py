"""Results in files, for the command line: a directory with one file, as Spark writes directories of several."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb

from tidegate.engine.formats import checked_output
from tidegate.flow.translate import duckdb_name

__all__ = ["write_rows"]

_COPY = {"parquet": "FORMAT parquet", "csv": "FORMAT csv, HEADER true", "json": "FORMAT json"}


def write_rows(rows: duckdb.DuckDBPyRelation, path: str, *, overwrite: bool = False) -> int:
    """Write rows to a directory; return how many. What is there stays, unless it may be overwritten."""
    kind = checked_output(path, overwrite=overwrite)
    place = Path(path)
    waiting = place.with_name(f".{place.name}.unfinished")
    shutil.rmtree(waiting, ignore_errors=True)
    waiting.mkdir(parents=True)
    target = str(waiting / f"part-0.{kind}").replace("'", "''")
    flat = rows.project(", ".join(_flat(rows))) if kind == "csv" else rows
    with duckdb.connect(":memory:") as writer:
        writer.execute("SET TimeZone = 'UTC'")
        writer.register("rows_", flat.to_arrow_reader())
        written = writer.execute(f"COPY rows_ TO '{target}' ({_COPY[kind]})").fetchone()
    # Only what is whole takes the place of what was there.
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    waiting.rename(place)
    return int(written[0]) if written else 0


def _flat(rows: duckdb.DuckDBPyRelation) -> list[str]:
    """Return columns as CSV can hold them: fields of structs as columns of their own, other nested values as JSON."""
    columns = []
    for name, type_ in zip(rows.columns, rows.types, strict=True):
        quoted = duckdb_name(name)
        if type_.id == "struct":
            parts = [(f"{quoted}.{duckdb_name(field)}", inner, f"{name}_{field}") for field, inner in type_.children]
            columns += [f"{_text(part, inner)} AS {duckdb_name(whole)}" for part, inner, whole in parts]
        elif type_.id in ("list", "map", "array"):
            columns.append(f"to_json({quoted}) AS {quoted}")
        else:
            columns.append(f"{_text(quoted, type_)} AS {quoted}")
    return columns


def _text(sql: str, type_: Any) -> str:
    """Return an instant as the text that Spark writes, and other values as they are."""
    if type_.id not in ("timestamp", "timestamp with time zone"):
        return sql
    zone = "Z" if type_.id != "timestamp" else ""
    return f"strftime(CAST({sql} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%f{zone}')"
