"""A few rows of a query as an Arrow table, by way of Python: DuckDB would plan the query twice for Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name

__all__ = ["as_numbers", "table_of_few"]

#: Types whose values are the same in Python as in DuckDB, and their Arrow types.
_SAME: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
}
#: Types of times, which are fetched as numbers, since Python's go only up to the year 9999.
_TIMES: Mapping[str, pa.DataType] = {
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}
_LAST = 2**63 - 1


def as_numbers(columns: Sequence[Column]) -> str | None:
    r"""Return the SELECT list of columns for `table_of_few`; None if a type is not simple enough.

    >>> as_numbers([Column("n", "INT"), Column("d", "DATE")])
    '"n", "d" - DATE \'1970-01-01\''
    """
    picked = []
    for column in columns:
        name = duckdb_name(column.name)
        if column.type == "DATE":
            picked.append(f"{name} - DATE '1970-01-01'")
        elif column.type in _TIMES:
            ends = f"WHEN {name} > '1970-01-01' THEN {_LAST} WHEN {name} < '1970-01-01' THEN {-_LAST}"
            picked.append(f"CASE WHEN isfinite({name}) THEN epoch_us({name}) {ends} END")
        elif column.type in _SAME:
            picked.append(name)
        else:
            return None
    return ", ".join(picked) or None


def table_of_few(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> pa.Table:
    """Return fetched rows as a table, with the types that DuckDB would give it."""
    arrays = []
    for i, column in enumerate(columns):
        values, type_ = [row[i] for row in rows], column.type or ""
        if type_ in _TIMES:
            numbers = pa.array(values, pa.int32() if type_ == "DATE" else pa.int64())
            arrays.append(numbers.cast(_TIMES[type_]))
        else:
            arrays.append(pa.array(values, _SAME[type_]))
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
