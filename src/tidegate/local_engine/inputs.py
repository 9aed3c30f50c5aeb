"""What a flow is given to run on locally: tables in memory and files, with the columns that were declared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from tidegate.engine.formats import checked_input, data_files
from tidegate.engine.inputs import check_columns
from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name, duckdb_type
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import LocalRelation
from tidegate.local_engine.types import spark_type, zoned_type

__all__ = ["given_as", "rows_in_memory", "rows_of_files"]

_HINT = "an Arrow table, a relation of DuckDB, a frame of pandas or polars, or the path of Parquet, CSV or JSON files"


def given_as(backend: LocalBackend, operator: Source | Table, given: Any) -> LocalRelation:
    """Return an input with the declared columns, in the declared order; or raise."""
    try:
        rows = _files(backend, operator, given) if isinstance(given, str | os.PathLike) else _in_memory(backend, given)
    except duckdb.Error as error:
        what = given if isinstance(given, str | os.PathLike) else type(given).__name__
        raise BadInput(f"DuckDB cannot read {what}: {str(error).splitlines()[0]}", hint=_HINT) from None
    return _declared(backend, operator, rows)


def _declared(backend: LocalBackend, operator: Source | Table, rows: duckdb.DuckDBPyRelation) -> LocalRelation:
    columns = operator.schema.columns
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
    backend.register(view, rows)
    casts = [
        f"CAST({duckdb_name(name)} AS {duckdb_type(column.type or '')}) AS {duckdb_name(column.name)}"
        for name, column in zip(names, columns, strict=True)
    ]
    return LocalRelation(backend, backend.fresh_name(), f"SELECT {', '.join(casts)} FROM {view}", columns)


def rows_in_memory(backend: LocalBackend, source: Source, given: pa.Table) -> LocalRelation:
    """Return the rows of a table with the declared columns, in the declared order; or raise."""
    return given_as(backend, source, given)


def rows_of_files(backend: LocalBackend, source: Source, kind: str, files: Sequence[str]) -> LocalRelation:
    """Return the rows of files of a format with the declared columns, in the declared order; or raise."""
    rows = backend.connection.sql(f"SELECT * FROM read_parquet({_list(files)}, hive_partitioning = false)")
    assert kind == "parquet"
    return _declared(backend, source, rows)


def _declared_if_same(type_: str, name: str, columns: tuple[Column, ...]) -> str:
    """Return the declared type if what was found fits: instants look the same with a zone and without."""
    declared = next((c.type or "" for c in columns if c.name.lower() == name.lower()), "")
    same = declared.replace("TIMESTAMP_NTZ", "TIMESTAMP") == type_
    return declared if same else type_


def _in_memory(backend: LocalBackend, given: Any) -> duckdb.DuckDBPyRelation:
    if isinstance(given, duckdb.DuckDBPyRelation):
        # In its own connection: names in it, transactions and settings mean what they mean there.
        given = given.to_arrow_table()
    elif hasattr(given, "to_arrow"):
        given = given.to_arrow()
    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    if not (isinstance(given, pa.Table) or type(given).__module__.startswith("pandas.")):
        raise BadInput(f"expected rows, got {type(given).__name__}", hint=_HINT)
    name = backend.fresh_name()
    backend.register(name, given)
    return backend.connection.sql(f"SELECT * FROM {name}")


def _files(backend: LocalBackend, operator: Source | Table, path: str | os.PathLike[str]) -> duckdb.DuckDBPyRelation:
    place = os.fspath(path)
    kind = checked_input(operator.id, place)
    files = data_files(place)
    if kind == "parquet":
        return backend.connection.sql(f"SELECT * FROM read_parquet({_list(files)}, hive_partitioning = false)")
    if kind == "csv":
        # As texts: what a value is, is looked at here and not guessed.
        options = "header = true, all_varchar = true, delim = ',', quote = '\"', allow_quoted_nulls = false"
        texts = backend.connection.sql(f"SELECT * FROM read_csv({_list(files)}, {options})")
        given = {name.lower(): duckdb_name(name) for name in texts.columns}
        strange = [name for name in texts.columns if name not in operator.schema]
        missing = [name for name in operator.schema.names if name.lower() not in given]
        if strange or missing:
            raise BadInput(
                f"expected columns {', '.join(operator.schema.names)} in {place}, got {', '.join(texts.columns)}",
                hint="a file is read as a whole: declare what it has",
            )
        found = {c.name: given[c.name.lower()] for c in operator.schema.columns}
    else:
        columns = ", ".join(f"{duckdb_name(c.name)}: 'JSON'" for c in operator.schema.columns)
        texts = backend.connection.sql(f"SELECT * FROM read_json({_list(files)}, columns = {{{columns}}})")
        found = {c.name: duckdb_name(c.name) for c in operator.schema.columns}
    parsed = [
        f"{_parsed(found[c.name], c, place, json=kind == 'json')} AS {duckdb_name(c.name)}"
        for c in operator.schema.columns
    ]
    return texts.project(", ".join(parsed))


def _list(files: Sequence[str]) -> str:
    """Return the names of files as DuckDB takes them."""
    quoted = [file.replace("'", "''") for file in files]
    return "[" + ", ".join(f"'{file}'" for file in quoted) + "]"


def _parsed(sql: str, column: Column, place: str, *, json: bool) -> str:
    """Return a text, or a value of JSON, as what the column is; one that does not parse stops the run."""
    type_ = column.type or ""
    if json and type_.startswith(("STRUCT", "ARRAY", "MAP")):
        return f"CAST({sql} AS {zoned_type(type_)})"
    text = f"({sql} ->> '$')" if json else sql
    if type_ == "STRING":
        return text
    message = f"in {place}, a value of {column} does not parse: ".replace("'", "''")
    failed = f"error('{message}' || {text})"
    value = f"TRY_CAST({text} AS {zoned_type(type_)})"
    # DuckDB would round what has a fraction.
    whole = f" AND regexp_full_match({text}, '\\s*[+-]?\\d+\\s*')" if type_ in sqltypes.INTEGERS else ""
    return f"CASE WHEN {text} IS NULL THEN NULL WHEN {value} IS NOT NULL{whole} THEN {value} ELSE {failed} END"
