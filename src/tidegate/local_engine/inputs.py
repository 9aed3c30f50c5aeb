"""What a flow is given to run on locally: tables in memory and files, with the columns that were declared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tidegate.engine.inputs import check_columns
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name, duckdb_type
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import LocalRelation
from tidegate.local_engine.types import spark_type

__all__ = ["given_as"]

_HINT = "an Arrow table, a relation of DuckDB, a frame of pandas or polars, or the path of Parquet, CSV or JSON files"


def given_as(backend: LocalBackend, operator: Source | Table, given: Any) -> LocalRelation:
    """Return an input with the declared columns, in the declared order; or raise."""
    columns = operator.schema.columns
    try:
        rows = _files(backend, given, columns) if isinstance(given, str | os.PathLike) else _in_memory(backend, given)
    except duckdb.Error as error:
        raise BadInput(f"DuckDB cannot read {given!r}: {str(error).splitlines()[0]}", hint=_HINT) from None
    found = [
        Column(name, _declared_if_same(spark_type(str(type_)), name, columns))
        for name, type_ in zip(rows.columns, rows.types, strict=True)
    ]
    names = check_columns(
        operator,
        found,
        selected=lambda names: f"take {', '.join(names)} alone",
        cast=lambda column: f"cast {column.name} to {column.type}",
    )
    view = backend.fresh_name()
    backend.connection.register(view, rows)
    casts = [
        f"CAST({duckdb_name(name)} AS {duckdb_type(column.type or '')}) AS {duckdb_name(column.name)}"
        for name, column in zip(names, columns, strict=True)
    ]
    return LocalRelation(backend, backend.fresh_name(), f"SELECT {', '.join(casts)} FROM {view}", columns)


def _declared_if_same(type_: str, name: str, columns: tuple[Column, ...]) -> str:
    """Return the declared type if what was found fits: instants look the same with a zone and without."""
    declared = next((c.type or "" for c in columns if c.name.lower() == name.lower()), "")
    same = declared.replace("TIMESTAMP_NTZ", "TIMESTAMP") == type_
    return declared if same else type_


def _in_memory(backend: LocalBackend, given: Any) -> duckdb.DuckDBPyRelation:
    if hasattr(given, "to_arrow") and not isinstance(given, duckdb.DuckDBPyRelation):
        given = given.to_arrow()
    pandas = type(given).__module__.startswith("pandas.")
    if not (isinstance(given, pa.Table | pa.RecordBatch | duckdb.DuckDBPyRelation) or pandas):
        raise BadInput(f"expected rows, got {type(given).__name__}", hint=_HINT)
    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    try:
        return _registered(backend, given)
    except duckdb.InvalidInputException:
        if not isinstance(given, duckdb.DuckDBPyRelation):
            raise
        # Of another DuckDB: its rows have to come over.
        return _registered(backend, given.to_arrow_table())


def _registered(backend: LocalBackend, rows: Any) -> duckdb.DuckDBPyRelation:
    name = backend.fresh_name()
    backend.connection.register(name, rows)
    return backend.connection.sql(f"SELECT * FROM {name}")


def _files(backend: LocalBackend, path: str | os.PathLike[str], columns: tuple[Column, ...]) -> duckdb.DuckDBPyRelation:
    place = os.fspath(path)
    pattern = f"{place}/**/*.parquet" if Path(place).is_dir() else place
    types = {c.name: duckdb_type(c.type or "") for c in columns}
    if pattern.endswith((".csv", ".csv.gz")):
        return backend.connection.read_csv(pattern, header=True, dtype=types)
    if pattern.endswith((".json", ".jsonl", ".ndjson", ".json.gz")):
        return backend.connection.read_json(pattern, columns=types)
    return backend.connection.read_parquet(pattern)
