"""Helpers for rows of Spark: their columns and types, and the order in which all engines sort rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadSchema
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

__all__ = ["MICROSECONDS", "as_json", "columns_of", "row_order", "sort_columns"]

#: Options for writing instants as text: by default, Spark writes only milliseconds.
MICROSECONDS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def as_json(sql: str, **options: str) -> str:
    """Return SQL for a nested value as JSON, with microseconds in instants."""
    given = (MICROSECONDS | options).items()
    return f"to_json({sql}, map({', '.join(f'{literal(key)}, {literal(value)}' for key, value in given)}))"


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """Return the columns of a DataFrame, with their types in Spark."""
    return tuple(Column(field.name, settled(field.dataType)) for field in schema.fields)


def settled(type_: DataType) -> str:
    """Return the canonical form of a Spark type. A type that flows do not know stays as it is."""
    simple = type_.simpleString()
    try:
        return "VOID" if simple == "void" else sqltypes.canonical(sqltypes.of_spark(type_))
    except BadSchema:
        return simple.upper()


def sort_columns(rows: DataFrame) -> list[str]:
    """Return the expressions that sort rows by all columns in turn, NULL first, as Spark sorts.

    Time columns come first, so this extends the order of times. Maps have no order, so their text is used.
    """
    found = []
    for field in rows.schema.fields:
        name = quoted(field.name)
        found.append(name if _orderable(field.dataType) else as_json(f"struct({name})"))
    return found


def _orderable(type_: Any) -> bool:
    if hasattr(type_, "fields"):
        return all(_orderable(field.dataType) for field in type_.fields)
    if hasattr(type_, "elementType"):
        return _orderable(type_.elementType)
    return not any(word in type_.simpleString() for word in ("map<", "variant", "interval"))


def row_order(rows: DataFrame) -> str:
    """Return SQL for one value that sorts rows by all columns."""
    return f"struct({', '.join(sort_columns(rows))})"
