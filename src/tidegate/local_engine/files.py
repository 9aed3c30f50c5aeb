"""Results in files, for the command line: a directory with one file, where Spark writes several."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from tidegate.engine.formats import checked_output
from tidegate.flow.errors import BadArgument
from tidegate.flow.translate import duckdb_name

__all__ = ["write_rows"]

_COPY = {"parquet": "FORMAT parquet", "csv": "FORMAT csv, HEADER true", "json": "FORMAT json"}


def write_rows(rows: duckdb.DuckDBPyRelation, path: str, *, overwrite: bool = False) -> int:
    """Write rows to a directory; return their number. Existing files are replaced only with ``overwrite``."""
    if "://" in path:
        raise BadArgument(f"expected a path on this machine, got {path}", hint="run it on Spark, which writes there")
    kind = checked_output(path, overwrite=overwrite)
    place = Path(path).absolute()
    # Existing files are replaced only when the new ones are complete.
    waiting, old = (place.with_name(f".{place.name}.{word}-{uuid4().hex}") for word in ("unfinished", "old"))
    try:
        waiting.mkdir(parents=True)
        written = _copied(rows.project(", ".join(_flat(rows))) if kind == "csv" else rows, waiting, kind)
        if place.exists():
            place.rename(old)
        waiting.rename(place)
    finally:
        for left in (waiting, old):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
    return written


def _copied(rows: duckdb.DuckDBPyRelation, directory: Path, kind: str) -> int:
    target = str(directory / f"part-0.{kind}").replace("'", "''")
    with duckdb.connect(":memory:") as writer:
        writer.execute("SET TimeZone = 'UTC'")
        writer.register("rows_", rows.to_arrow_reader())
        written = writer.execute(f"COPY rows_ TO '{target}' ({_COPY[kind]})").fetchone()
    return int(written[0]) if written else 0


def _flat(rows: duckdb.DuckDBPyRelation) -> list[str]:
    """Return columns in a form for CSV: fields of structs as columns, other nested values as JSON."""
    columns = []
    for name, type_ in zip(rows.columns, rows.types, strict=True):
        quoted = duckdb_name(name)
        if type_.id == "struct":
            parts = [(f"{quoted}.{duckdb_name(field)}", inner, f"{name}_{field}") for field, inner in type_.children]
            columns += [f"{_value(part, inner)} AS {duckdb_name(whole)}" for part, inner, whole in parts]
        else:
            columns.append(f"{_value(quoted, type_)} AS {quoted}")
    return columns


def _value(sql: str, type_: Any) -> str:
    """Return SQL for a value in CSV: an instant as text like Spark's, a nested value as JSON, others as they are."""
    if type_.id in ("struct", "list", "map", "array"):
        return f"to_json({sql})"
    if type_.id in ("float", "double"):
        # Some NaN are negative, and DuckDB would show that.
        return f"CASE WHEN isnan({sql}) THEN CAST('nan' AS DOUBLE) ELSE {sql} END"
    if type_.id not in ("timestamp", "timestamp with time zone"):
        return sql
    zone = "Z" if type_.id != "timestamp" else ""
    return f"strftime(CAST({sql} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%f{zone}')"
