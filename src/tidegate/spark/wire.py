"""Arrow data as Spark sends and wants it, and as users see it: instants without a zone, in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.flow.arrow import arrow_type, rows_of
from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["canonical_table", "in_utc", "python_rows", "to_spark"]


def canonical_table(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return rows that came from Spark as users see them, with the types that their columns have."""
    arrays = [_canonical(rows.column(i), column.type) for i, column in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[c.name for c in columns]).combine_chunks()


def _canonical(column: pa.ChunkedArray, type_: str | None) -> pa.ChunkedArray:
    try:
        return column.cast(arrow_type(type_ or ""))
    except NotSupported:
        return _zoneless(column)


def to_spark(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Answer a table of some columns as Spark wants it: its instants have a zone, which is UTC on the wire."""
    arrays = [
        # No column mixes Spark's two kinds of instants: one look at the text of its type tells which it has.
        array.cast(_zoned(array.type, "UTC")) if "TIMESTAMP" in text and "TIMESTAMP_NTZ" not in text else array
        for array, text in ((table.column(c.name), c.type or "") for c in columns)
    ]
    return pa.Table.from_arrays(arrays, names=[c.name for c in columns])


def in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that came from Spark as Spark wants it back: instants that have a zone are in UTC."""
    return column.cast(_rezoned(column.type, "UTC"))


def _zoneless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Answer a column that came from Spark as users see it."""
    return column.cast(_rezoned(column.type, None))


def python_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Answer the rows of a DataFrame in plain Python; instants are without a zone, in UTC, wherever this runs."""
    table = frame.toArrow()
    plain = [_zoneless(column) for column in table.columns]
    return rows_of(pa.Table.from_arrays(plain, names=table.column_names))


def _zoned(type_: pa.DataType, zone: str) -> pa.DataType:
    return _changed(type_, lambda _: pa.timestamp("us", tz=zone))


def _rezoned(type_: pa.DataType, zone: str | None) -> pa.DataType:
    return _changed(type_, lambda instant: pa.timestamp("us", tz=zone if instant.tz else None))


def _changed(type_: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Answer a type with all instants in it changed."""
    if pa.types.is_timestamp(type_):
        return change(type_)
    if pa.types.is_list(type_):
        return pa.list_(_changed(type_.value_type, change))
    if pa.types.is_map(type_):
        return pa.map_(_changed(type_.key_type, change), _changed(type_.item_type, change))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _changed(f.type, change)) for f in type_])
    return type_
