"""Rows as Arrow: types, tables of rows, and the check of what a Python function returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput, BadResult, NotSupported
from tidegate.flow.parser import exp
from tidegate.flow.schema import Column

__all__ = ["arrow_type", "checked_result", "rows_of", "table_of"]

_SIMPLE = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


@lru_cache(maxsize=1024)
def arrow_type(type_: str) -> pa.DataType:
    """Return the Arrow type of a column; instants are naive, in UTC.

    >>> arrow_type("ARRAY<INT>"), arrow_type("TIMESTAMP")
    (ListType(list<item: int32>), TimestampType(timestamp[us]))
    """
    if type_ in _SIMPLE:
        return _SIMPLE[type_]
    tree = sqltypes.tree_of(type_)
    inner = [sqltypes.of_tree(part.args.get("kind") or part) for part in tree.expressions if tree.args.get("nested")]
    if tree.this == exp.DataType.Type.DECIMAL:
        return pa.decimal128(*(int(part.name) for part in tree.expressions))
    if tree.this == exp.DataType.Type.STRUCT:
        names = [part.name for part in tree.expressions]
        return pa.struct([pa.field(name, arrow_type(t)) for name, t in zip(names, inner, strict=True)])
    if tree.this == exp.DataType.Type.ARRAY:
        return pa.list_(arrow_type(inner[0]))
    if tree.this == exp.DataType.Type.MAP:
        return pa.map_(arrow_type(inner[0]), arrow_type(inner[1]))
    if type_.startswith(("VARCHAR", "CHAR")):
        return pa.string()
    raise NotSupported(f"there is no Arrow type for {type_}", hint="cast the column to another type first")


def table_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[Column]) -> pa.Table:
    """Return rows as a table; where a type is open, Arrow finds one that holds the values."""
    arrays, fields = [], []
    for column in columns:
        values = [row[column.name] for row in rows]
        try:
            array = pa.array(values, arrow_type(column.type)) if column.type else pa.array(values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"expected values of {column}, got {_culprit(values, column)}") from error
        arrays.append(array)
        fields.append(pa.field(column.name, array.type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _culprit(values: list[Any], column: Column) -> str:
    for i, value in enumerate(values):
        try:
            pa.array([value], arrow_type(column.type) if column.type else None)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return f"{value!r} ({type(value).__name__}) in row {i}"
    return "values of several types"


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return a table as rows."""
    maps = [field.name for field in table.schema if pa.types.is_map(field.type)]
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows if maps else ():
        row.update({name: None if row[name] is None else dict(row[name]) for name in maps})
    return rows


def checked_result(returned: Any, columns: Sequence[Column], function: Any) -> pa.Table:
    """Return what a function returned as a table of exactly ``columns``, or raise with what differs."""
    name = getattr(function, "__qualname__", repr(function))
    if isinstance(returned, pa.RecordBatch):
        returned = pa.Table.from_batches([returned])
    if not isinstance(returned, pa.Table):
        raise BadResult(
            f"expected a pyarrow.RecordBatch or pyarrow.Table from {name}, got {type(returned).__name__}",
            hint="return the batch that you made",
        )
    expected, got = [c.name for c in columns], returned.column_names
    if sorted(expected) != sorted(got):
        raise BadResult(
            f"expected columns {', '.join(expected)} from {name}, got {', '.join(got) or 'none'}",
            hint=f"return what the schema says, or declare {', '.join(f'{f.name} {f.type}' for f in returned.schema)}",
        )
    arrays = []
    for column in columns:
        array = returned.column(column.name)
        wanted = arrow_type(column.type) if column.type else array.type
        if array.type != wanted and not _same(array.type, wanted):
            raise BadResult(
                f"expected {column} ({wanted}) from {name}, got {array.type}",
                hint=f"cast it: column.cast({str(wanted)!r}), or declare another type",
            )
        arrays.append(array.cast(wanted))
    return pa.Table.from_arrays(arrays, names=expected)


def _same(got: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types differ in their representation only: long strings, instants in UTC."""
    if pa.types.is_large_string(got) or pa.types.is_string_view(got):
        return bool(wanted == pa.string())
    if pa.types.is_timestamp(got) and pa.types.is_timestamp(wanted):
        return got.unit == wanted.unit and got.tz in ("UTC", None, "+00:00")
    if pa.types.is_null(got):
        return True
    if pa.types.is_list(got) and pa.types.is_list(wanted):
        return got.value_type == wanted.value_type or _same(got.value_type, wanted.value_type)
    return False
