"""Inputs of flows on the local engine: tables in memory and files, with the declared columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.formats import checked_input, data_files
from tidegate.engine.inputs import check_columns
from tidegate.engine.relation import united
from tidegate.errors import TidegateError
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.csv_files import csv_rows
from tidegate.local_engine.lines import InputRows, json_rows
from tidegate.local_engine.paths import parquet_files
from tidegate.local_engine.relation import LocalRelation, local
from tidegate.local_engine.types import spark_type, unzoned

__all__ = ["given_as", "rows_in_memory", "rows_of_files"]

_HINT = "an Arrow table, a relation of DuckDB, a frame of pandas or polars, or the path of Parquet, CSV or JSON files"


def given_as(backend: LocalBackend, operator: Source | Table, given: Any) -> InputRows:
    """Return an input with the declared columns in the declared order, or raise."""
    try:
        if isinstance(given, str | os.PathLike):
            return _files(backend, operator, os.fspath(given))
        name, rows = backend.fresh_name(), _in_memory(given)
        backend.register(name, rows)
        types = backend.once(("arrow", rows.schema.remove_metadata()), lambda: _types(backend, name))
        return InputRows(_declared(backend, operator, name, types))
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        what = given if isinstance(given, str | os.PathLike) else type(given).__name__
        raise BadInput(f"DuckDB cannot read {what}: {str(error).splitlines()[0]}", hint=_HINT) from None


def _files(backend: LocalBackend, operator: Source | Table, place: str) -> InputRows:
    kind = checked_input(operator.id, place)
    files = data_files(place)
    return _of_kind(backend, operator, kind, place, files)


def _of_kind(backend: LocalBackend, operator: Source | Table, kind: str, place: str, files: Sequence[str]) -> InputRows:
    if kind == "csv":
        return csv_rows(backend, operator, place, files)
    if kind == "json":
        return json_rows(backend, operator, files)
    # DuckDB would cast the columns of all files to the types of the first.
    alike: dict[str, list[str]] = {}
    for file in files:
        alike.setdefault(_schema_of(file), []).append(file)
    parts = [_parquet(backend, operator, found) for found in alike.values()]
    return InputRows(local(united(parts)) if parts else backend.nothing(operator.schema.columns))


def _schema_of(file: str) -> str:
    try:
        return str(pq.read_schema(file).remove_metadata())
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"expected a Parquet file, got {file}, which cannot be read: {error}", hint=_HINT) from None


def _parquet(backend: LocalBackend, operator: Source | Table, files: Sequence[str]) -> LocalRelation:
    try:
        table = parquet_files(files)
        return _declared(backend, operator, table, _types(backend, table))
    except TidegateError as error:
        raise error.at(files[0]) from None


def rows_in_memory(backend: LocalBackend, source: Source, given: pa.Table) -> LocalRelation:
    """Return the rows of a table with the declared columns in the declared order, or raise."""
    return given_as(backend, source, given).rows


def rows_of_files(backend: LocalBackend, source: Source, kind: str, files: Sequence[str]) -> LocalRelation:
    """Return the rows of files with the declared columns. Rows that do not parse have their text in one more column."""
    try:
        found = _of_kind(backend, source, kind, os.path.dirname(files[0]), files)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        names = ", ".join(files[:3])
        raise BadInput(f"DuckDB cannot read {names}: {str(error).splitlines()[0]}", hint=_HINT) from None
    return found.every or found.rows


def _types(backend: LocalBackend, table: str) -> dict[str, str]:
    """Return the types that DuckDB finds for the columns of a table or a table function."""
    rows = backend.run(f"SELECT * FROM {table}")
    return dict(zip(rows.columns, map(str, rows.types), strict=True))


def _declared(backend: LocalBackend, operator: Source | Table, table: str, types: Mapping[str, str]) -> LocalRelation:
    """Return the declared columns of a table or a table function."""
    columns = operator.schema.columns
    found = [Column(name, _declared_if_same(spark_type(type_), name, columns)) for name, type_ in types.items()]
    names = check_columns(
        operator,
        found,
        selected=lambda names: f"take {', '.join(names)} alone",
        cast=lambda column: f"cast {column.name} to {column.type}",
    )
    casts = [
        f"{unzoned(*_micros(duckdb_name(name), types[name]), column.type or '')} AS {duckdb_name(column.name)}"
        for name, column in zip(names, columns, strict=True)
    ]
    return LocalRelation(backend, backend.fresh_name(), f"SELECT {', '.join(casts)} FROM {table}", columns)


def _declared_if_same(type_: str, name: str, columns: tuple[Column, ...]) -> str:
    """Return the declared type if the found one fits. Instants look the same with a zone and without."""
    declared = next((c.type or "" for c in columns if c.name.lower() == name.lower()), "")
    same = declared.replace("TIMESTAMP_NTZ", "TIMESTAMP") == type_
    return declared if same else type_


def _micros(sql: str, type_: str) -> tuple[str, str]:
    """Return a column and its type, in microseconds if it has nanoseconds and a zone, as DuckDB can't cast those."""
    zoned = "TIMESTAMP WITH TIME ZONE"
    return (f"CAST({sql} AS TIMESTAMPTZ)", zoned) if type_ == "TIMESTAMPTZ_NS" else (sql, type_)


def _in_memory(given: Any) -> pa.Table:
    """Return rows in memory as a table, which can be read more than once."""
    if isinstance(given, duckdb.DuckDBPyRelation):
        # It is read in its own connection, whose names, transactions and settings it depends on.
        return given.to_arrow_table()
    try:
        if type(given).__module__.startswith("pandas."):
            # The Arrow stream of pandas would have the index as a column.
            return pa.Table.from_pandas(given, preserve_index=False)
        if hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise BadInput(f"Arrow cannot read {type(given).__name__}: {error}", hint=_HINT) from None
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    raise BadInput(f"expected rows, got {type(given).__name__}", hint=_HINT)
