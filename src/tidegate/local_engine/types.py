"""DuckDB's types as Spark's. Columns have Spark's types everywhere in this package."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from tidegate.flow import sqltypes
from tidegate.flow.translate import duckdb_name, duckdb_type

__all__ = ["of_arrow", "spark_type", "unzoned", "zoned", "zoned_type"]

_NAMES = {"HUGEINT": "DECIMAL(38,0)", '"NULL"': "VOID", "NULL": "VOID"}
#: Instants of all units: they become microseconds, as in Spark.
_INSTANTS = {getattr(exp.DataType.Type, f"TIMESTAMP{end}") for end in ("", "NTZ", "TZ", "_S", "_MS", "_NS")}


@lru_cache(maxsize=4096)
def spark_type(type_: str) -> str:
    """Return Spark's type for one of DuckDB. Instants become those with a zone, in UTC.

    >>> spark_type("INTEGER[]"), spark_type("STRUCT(a VARCHAR, b TIMESTAMP)"), spark_type("MAP(VARCHAR, BIGINT)")
    ('ARRAY<INT>', 'STRUCT<a: STRING, b: TIMESTAMP>', 'MAP<STRING, BIGINT>')
    """
    if type_ in _NAMES:
        return _NAMES[type_]
    # The parser does not know this type.
    return _of(exp.DataType.build(type_.replace("TIMESTAMPTZ_NS", "TIMESTAMPTZ"), dialect="duckdb"))


@lru_cache(maxsize=4096)
def zoned_type(type_: str) -> str:
    """Return DuckDB's type for results that users get, in which Spark's instants have a zone.

    >>> zoned_type("STRUCT<start: TIMESTAMP, n: INT>"), zoned_type("TIMESTAMP_NTZ")
    ('STRUCT("start" TIMESTAMPTZ, "n" INT)', 'TIMESTAMP')
    """
    if type_ == "TIMESTAMP":
        return "TIMESTAMPTZ"
    if fields := sqltypes.fields(type_) if type_.startswith("STRUCT") else {}:
        return f"STRUCT({', '.join(f'{duckdb_name(name)} {zoned_type(field)}' for name, field in fields.items())})"
    if type_.startswith("ARRAY"):
        return f"{zoned_type(sqltypes.element(type_) or 'VOID')}[]"
    if type_.startswith("MAP"):
        key, value = map(zoned_type, sqltypes.entry(type_))
        return f"MAP({key}, {value})"
    return duckdb_type(type_)


def zoned(sql: str, type_: str) -> str:
    """Return SQL for a value of results that users get, in which Spark's instants have a zone.

    >>> zoned("t", "TIMESTAMP")
    'CASE WHEN isfinite(t) THEN make_timestamptz(epoch_us(t)) ELSE CAST(t AS TIMESTAMPTZ) END'
    >>> zoned("n", "INT")
    'n'
    """
    if duckdb_type(type_) == zoned_type(type_):
        return sql
    if type_ == "TIMESTAMP":
        return _at_same_instant(sql, "TIMESTAMPTZ")
    fields = sqltypes.fields(type_) if type_.startswith("STRUCT") else {}
    if fields:
        own = ((name, zoned(f"({sql})[{_literal(name)}]", field)) for name, field in fields.items())
        packed = ", ".join(f"{_literal(name)}: {value}" for name, value in own)
        return f"CASE WHEN ({sql}) IS NOT NULL THEN {{{packed}}} END"
    return f"CAST({sql} AS {zoned_type(type_)})"


def unzoned(sql: str, given: str, type_: str) -> str:
    """Return SQL that converts a value of a DuckDB type to Spark's type as it is kept here: instants are in UTC.

    >>> unzoned("t", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP")
    'CASE WHEN isfinite(t) THEN make_timestamp(epoch_us(t)) ELSE CAST(t AS TIMESTAMP) END'
    >>> unzoned("n", "BIGINT", "INT")
    'CAST(n AS INT)'
    """
    if given == "TIMESTAMP WITH TIME ZONE" and duckdb_type(type_) == "TIMESTAMP":
        return _at_same_instant(sql, "TIMESTAMP")
    return f"CAST({sql} AS {duckdb_type(type_)})"


def _at_same_instant(sql: str, type_: str) -> str:
    """Return SQL for the same instant with a zone removed or added. The zone of the session is UTC.

    A cast would use a calendar for every value, which takes longer than a join. In UTC, the number inside is the same.
    """
    return f"CASE WHEN isfinite({sql}) THEN make_{type_.lower()}(epoch_us({sql})) ELSE CAST({sql} AS {type_}) END"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _of(tree: exp.DataType) -> str:
    kinds = exp.DataType.Type
    if tree.this in (kinds.ARRAY, kinds.LIST):
        return f"ARRAY<{_of(tree.expressions[0])}>"
    if tree.this == kinds.STRUCT:
        return sqltypes.struct(**{part.name: _of(part.args["kind"]) for part in tree.expressions})
    if tree.this == kinds.MAP:
        return f"MAP<{_of(tree.expressions[0])}, {_of(tree.expressions[1])}>"
    if tree.this in _INSTANTS:
        return "TIMESTAMP"
    return sqltypes.of_tree(tree)


_OF_ARROW = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.null(): "VOID",
}


def of_arrow(type_: pa.DataType) -> str:
    """Return Spark's type for one of Arrow. Instants with a zone are Spark's TIMESTAMP.

    >>> of_arrow(pa.list_(pa.timestamp("us", "UTC"))), of_arrow(pa.struct({"a": pa.int32()}))
    ('ARRAY<TIMESTAMP>', 'STRUCT<a: INT>')
    """
    if type_ in _OF_ARROW:
        return _OF_ARROW[type_]
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if pa.types.is_struct(type_):
        return sqltypes.struct(**{field.name: of_arrow(field.type) for field in type_})
    if pa.types.is_map(type_):
        return f"MAP<{of_arrow(type_.key_type)}, {of_arrow(type_.item_type)}>"
    return f"ARRAY<{of_arrow(type_.value_type)}>"
