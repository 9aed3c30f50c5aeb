"""Converts Arrow data between Spark, where instants have a zone, and users, for whom they are in UTC without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot.errors import SqlglotError

from tidegate.flow import sqltypes
from tidegate.flow.arrow import arrow_type, rows_of
from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["canonical_table", "in_utc", "python_rows", "to_spark"]


def canonical_table(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return rows from Spark as users see them, with the types of their columns."""
    return _as_types(rows, columns, None).combine_chunks()


def to_spark(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return rows as Spark expects them: its instants have a zone, which is UTC."""
    return _as_types(rows, columns, "UTC")


def _as_types(rows: pa.Table, columns: Sequence[Column], zone: str | None) -> pa.Table:
    wanted = [_type_on_wire(column.type or "", zone) for column in columns]
    arrays = [
        array if type_ is None or array.type == type_ else array.cast(type_)
        for array, type_ in zip(rows.columns, wanted, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


@lru_cache(maxsize=1024)
def _type_on_wire(type_: str, zone: str | None) -> pa.DataType | None:
    """Return the Arrow type of a column, with a zone for Spark's TIMESTAMP; None if Arrow has no such type."""
    if type_ == "TIMESTAMP":
        return pa.timestamp("us", tz=zone)
    if type_.startswith("STRUCT"):
        inner = {name: _type_on_wire(field, zone) for name, field in sqltypes.fields(type_).items()}
        whole = [pa.field(name, field) for name, field in inner.items() if field is not None]
        return pa.struct(whole) if len(whole) == len(inner) else None
    if type_.startswith("ARRAY"):
        element = _type_on_wire(sqltypes.element(type_) or "VOID", zone)
        return None if element is None else pa.list_(element)
    if type_.startswith("MAP"):
        key, value = (_type_on_wire(part, zone) for part in sqltypes.entry(type_))
        return None if key is None or value is None else pa.map_(key, value)
    if type_ == "VOID":
        return pa.null()
    try:
        return arrow_type(type_)
    except (NotSupported, SqlglotError):
        return None


def in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column from Spark with all instants in the zone UTC, as Spark expects them back."""
    return column.cast(_rezoned(column.type, "UTC"))


def _zoneless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column from Spark as users see it."""
    return column.cast(_rezoned(column.type, None))


def python_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as dicts. Instants are in UTC without a zone, in whatever zone the machine is."""
    table = frame.toArrow()
    plain = [_zoneless(column) for column in table.columns]
    return rows_of(pa.Table.from_arrays(plain, names=table.column_names))


def _rezoned(type_: pa.DataType, zone: str | None) -> pa.DataType:
    return _changed(type_, lambda instant: pa.timestamp("us", tz=zone if instant.tz else None))


def _changed(type_: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type in which ``change`` was applied to the type of all instants, nested ones too."""
    if pa.types.is_timestamp(type_):
        return change(type_)
    if pa.types.is_list(type_):
        return pa.list_(_changed(type_.value_type, change))
    if pa.types.is_map(type_):
        return pa.map_(_changed(type_.key_type, change), _changed(type_.item_type, change))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _changed(f.type, change)) for f in type_])
    return type_
