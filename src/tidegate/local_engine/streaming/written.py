"""How rows are written to Parquet files: few of them by Arrow, many by DuckDB; and apart, by the values of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.storage.partitions import directory_of_value
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation
from tidegate.local_engine.types import zoned

__all__ = ["FILE", "copy_rows", "picked", "write_apart", "write_few"]

FILE = "part-0.parquet"
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def picked(columns: Sequence[Column]) -> str:
    """Return columns in the form that is written."""
    names = [(duckdb_name(c.name), c.type or "") for c in columns]
    return ", ".join(f"{zoned(name, type_)} AS {name}" for name, type_ in names) or NO_COLUMN


def copy_rows(backend: LocalBackend, rows: LocalRelation, to: Path) -> int:
    """Write rows to a file; return how many there are."""
    return backend.copied(rows, picked(rows.columns), str(to).replace("'", "''"))


def write_few(rows: pa.Table, to: Path) -> None:
    """Write few rows: DuckDB waits until its file is on the disk, and a step should wait for all files at a time."""
    # Readers that go by what Arrow writes of the values of a column would overlook NaN.
    numbers = any(re.search("float|double", str(type_)) for type_ in rows.schema.types)
    # Numbers are seldom the same: to look whether they are takes longer than to write them.
    texts = [field.name for field in rows.schema if field.type in _TEXTS]
    pq.write_table(rows, to, store_schema=False, write_statistics=not numbers, use_dictionary=texts)


def write_apart(
    backend: LocalBackend, rows: LocalRelation, few: pa.Table | None, place: Path, by: Mapping[str, str]
) -> int:
    """Write rows to a directory for each value of some columns, without the texts of these; return how many there are.

    ``by`` maps a column of texts to the one that it is of. ``few`` are the rows in memory, if they are few.
    """
    if few is None:
        return _write_many(backend, rows, place, by)
    found: dict[tuple[str | None, ...], list[int]] = {}
    for i, texts in enumerate(zip(*(few.column(name).to_pylist() for name in by), strict=True)):
        found.setdefault(texts, []).append(i)
    kept = few.drop_columns(list(by))
    for i, (texts, numbers) in enumerate(found.items()):
        write_few(kept.take(numbers), _made(place, by, texts, i))
    return int(few.num_rows)


def _write_many(backend: LocalBackend, rows: LocalRelation, place: Path, by: Mapping[str, str]) -> int:
    table = backend.held(rows)
    try:
        names = ", ".join(map(duckdb_name, by))
        count = 0
        columns = tuple(column for column in rows.columns if column.name not in by)
        for i, texts in enumerate(backend.run(f"SELECT DISTINCT {names} FROM {table}").fetchall()):
            same = [f"{duckdb_name(n)} IS NOT DISTINCT FROM {_text(t)}" for n, t in zip(by, texts, strict=True)]
            body = f"SELECT * FROM {table} WHERE {' AND '.join(same)}"
            part = LocalRelation(backend, backend.fresh_name(), body, columns)
            count += copy_rows(backend, part, _made(place, by, texts, i))
        return count
    finally:
        backend.drop(table)


def _made(place: Path, by: Mapping[str, str], texts: Sequence[str | None], number: int) -> Path:
    """Return the file of rows with some values, whose directory is there then.

    To a file system, names that differ in their case may be one. So each file has a number of its own.
    """
    found = place.joinpath(*(directory_of_value(column, text) for column, text in zip(by.values(), texts, strict=True)))
    found.mkdir(parents=True, exist_ok=True)
    return found / f"part-{number}.parquet"


def _text(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
