"""Types of DuckDB as those of Spark, which columns have everywhere here."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from tidegate.flow import sqltypes
from tidegate.flow.translate import duckdb_name, duckdb_type

__all__ = ["spark_type", "zoned_type"]

_NAMES = {"HUGEINT": "DECIMAL(38,0)", '"NULL"': "VOID", "NULL": "VOID"}
#: Those of other units too: they become microseconds, as in Spark.
_INSTANTS = {getattr(exp.DataType.Type, f"TIMESTAMP{end}") for end in ("", "NTZ", "TZ", "_S", "_MS", "_NS")}


@lru_cache(maxsize=4096)
def spark_type(type_: str) -> str:
    """Return the type of Spark for one of DuckDB; instants are those with a zone, in UTC.

    >>> spark_type("INTEGER[]"), spark_type("STRUCT(a VARCHAR, b TIMESTAMP)"), spark_type("MAP(VARCHAR, BIGINT)")
    ('ARRAY<INT>', 'STRUCT<a: STRING, b: TIMESTAMP>', 'MAP<STRING, BIGINT>')
    """
    if type_ in _NAMES:
        return _NAMES[type_]
    # The parser does not know this one.
    return _of(exp.DataType.build(type_.replace("TIMESTAMPTZ_NS", "TIMESTAMPTZ"), dialect="duckdb"))


@lru_cache(maxsize=4096)
def zoned_type(type_: str) -> str:
    """Return DuckDB's name of a type for what users are given: Spark's instants have a zone.

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
