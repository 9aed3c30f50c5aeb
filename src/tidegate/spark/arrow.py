"""Python functions on Arrow data inside Spark.

Spark's own `mapInArrow` and `applyInArrow` require pandas, though they do not use it. These do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.engine.relation import Batches
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.spark.jvm import batches_mapped, groups_mapped, rows_of_groups

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, GroupedData
    from pyspark.sql.types import StructField, StructType

__all__ = ["apply_in_arrow", "map_in_arrow", "struct_type"]


def struct_type(columns: Sequence[Column], first: Sequence[StructField] = ()) -> StructType:
    """Return columns as a StructType. The fields in ``first`` come before them."""
    from pyspark.sql.types import StructType

    declared: Any = StructType.fromDDL(", ".join(f"{quoted(c.name)} {c.type}" for c in columns))
    return StructType([*first, *declared.fields])


def map_in_arrow(rows: DataFrame, function: Batches, schema: StructType) -> DataFrame:
    """Return the rows of a function that maps an iterator of Arrow batches to another one."""
    from pyspark.util import PythonEvalType

    return batches_mapped(rows, _function(rows, function, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF))


def apply_in_arrow(groups: GroupedData, function: Callable[..., pa.Table], schema: StructType) -> DataFrame:
    """Return the rows of a function that is called with ``(key, table)`` for each group."""
    from pyspark.util import PythonEvalType

    rows = rows_of_groups(groups)
    return groups_mapped(groups, _function(rows, function, schema, PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF))


def _function(rows: DataFrame, function: Callable[..., Any], schema: StructType, kind: int) -> Any:
    from pyspark.sql.udf import UserDefinedFunction

    udf: Any = UserDefinedFunction(function, returnType=schema, evalType=kind)
    return udf(*(rows[quoted(name)] for name in rows.columns))
