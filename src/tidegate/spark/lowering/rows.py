"""What is asked of rows everywhere: their columns, settled types, and the order that all engines sort them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadSchema
from tidegate.flow.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["columns_of", "quoted", "row_order", "sort_columns"]

quoted = sqltypes.quoted


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """Answer the columns of a DataFrame, with the types that Spark gave them."""
    return tuple(Column(field.name, settled(field.dataType.simpleString())) for field in schema.fields)


def settled(simple: str) -> str:
    """Answer the canonical form of a type as Spark prints it; one that flows do not know stays as it is."""
    try:
        return "VOID" if simple == "void" else sqltypes.canonical(simple)
    except BadSchema:
        return simple.upper()


def sort_columns(rows: DataFrame) -> list[str]:
    """Answer what to sort rows by, all columns in turn: nulls first, as Spark sorts.

    Time columns come first, so that this extends the order of times. Maps have no order: their text stands for them.
    """
    found = []
    for field in rows.schema.fields:
        name = quoted(field.name)
        orderable = not any(word in field.dataType.simpleString() for word in ("map<", "variant", "interval"))
        found.append(name if orderable else f"to_json(struct({name}))")
    return found


def row_order(rows: DataFrame) -> str:
    """Answer one value that orders rows by all columns."""
    return f"struct({', '.join(sort_columns(rows))})"
