"""Python functions on Arrow data inside Spark: how they are called, what they are given, what they may return.

Spark's own `mapInArrow` and `applyInArrow` want pandas to be there, though they do not use it; these do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError
from tidegate.flow.errors import BadResult
from tidegate.flow.plan import MapBatches, WindowApply
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.spark.jvm import batches_mapped, groups_mapped, rows_of_groups
from tidegate.spark.wire import from_spark, in_utc, to_spark, zoneless

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, GroupedData
    from pyspark.sql.types import StructField, StructType

__all__ = ["applied", "apply_in_arrow", "beside", "map_in_arrow", "mapped", "pa_table", "running", "struct_type"]

Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def struct_type(columns: Sequence[Column], first: Sequence[StructField] = ()) -> StructType:
    """Answer Spark's form of some columns, after fields that Spark knows already."""
    from pyspark.sql.types import StructType

    declared: Any = StructType.fromDDL(", ".join(f"{quoted(c.name)} {c.type}" for c in columns))
    return StructType([*first, *declared.fields])


def map_in_arrow(rows: DataFrame, function: Batches, schema: StructType) -> DataFrame:
    """Answer what a function on an iterator of batches makes of rows."""
    from pyspark.util import PythonEvalType

    return batches_mapped(rows, _function(rows, function, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF))


def apply_in_arrow(groups: GroupedData, function: Callable[..., pa.Table], schema: StructType) -> DataFrame:
    """Answer what a function on ``(key, table)`` makes of each group."""
    from pyspark.util import PythonEvalType

    rows = rows_of_groups(groups)
    return groups_mapped(groups, _function(rows, function, schema, PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF))


def _function(rows: DataFrame, function: Callable[..., Any], schema: StructType, kind: int) -> Any:
    from pyspark.sql.udf import UserDefinedFunction

    udf: Any = UserDefinedFunction(function, returnType=schema, evalType=kind)
    return udf(*(rows[quoted(name)] for name in rows.columns))


@contextmanager
def running(place: str) -> Iterator[None]:
    """Name the operator in whatever error comes out of a user's function: Spark shows the text of it to the user."""
    try:
        yield
    except TidegateError as error:
        raise error.at(place) from None
    except Exception as error:
        error.add_note(f"  at: {place}")
        raise


def mapped(operator: MapBatches, given: Sequence[Column]) -> Batches:
    """Answer a user's function on batches as Spark calls it, with its results checked."""
    function, declared, time = operator.function, operator.schema.columns, operator.schema.time
    place = f"{operator.verb}(…), {operator.id}"

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidegate.flow.arrow import checked_result

        for batch in iterator:
            if not batch.num_rows:
                continue
            with running(place):
                table = from_spark(batch, given)
                returned = checked_result(function(table.to_batches()[0]), declared, function)
                _same_times(table, returned, time, function)
                answer = to_spark(returned, declared)
            yield from answer.to_batches()

    return batches


def _same_times(given: pa.Table, returned: pa.Table, time: Sequence[str], function: Any) -> None:
    """Raise unless every time that was returned was given."""
    if not time or not returned.num_rows:
        return
    strange = returned.select(time).join(given.select(time), keys=list(time), join_type="left anti")
    if strange.num_rows:
        first = tuple(strange.slice(0, 1).to_pylist()[0].values())
        name = getattr(function, "__qualname__", repr(function))
        raise BadResult(
            f"expected from {name} only times that are in its batch, got {first[0] if len(first) == 1 else first!r}",
            hint="a function may drop, change and multiply rows, but a row keeps its time",
        )


def applied(
    operator: WindowApply, given: Sequence[Column], key: dict[str, str]
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Answer a user's function on the rows of a window as Spark calls it.

    ``key`` maps the names that a function of two parameters gets to columns of the table.
    """
    function = operator.function
    declared = [operator.schema[name] for name in operator.columns]
    data = [column.name for column in given]

    def apply(_: tuple[Any, ...], table: pa.Table) -> pa.Table:
        from tidegate.flow.arrow import checked_result, rows_of

        groups = [name for name in table.column_names if name not in (*data, "__order")]
        rows = from_spark(table.sort_by("__order"), given)
        with running(f"{operator.verb}(…), {operator.id}"):
            if operator.keyed:
                first = table.slice(0, 1)
                inner = pa_table({name: zoneless(first.column(column)) for name, column in key.items()})
                returned = function(rows_of(inner)[0], rows)
            else:
                returned = function(rows)
            result = to_spark(checked_result(returned, declared, function), declared)
        return beside({name: table.column(name) for name in groups}, result)

    return apply


def beside(key: dict[str, pa.ChunkedArray], result: pa.Table) -> pa.Table:
    """Answer a table with the columns of a group, which are the same in all rows, put before its own."""
    import pyarrow as pa

    nth = pa.array([0] * result.num_rows, pa.int64())
    before = {name: in_utc(column).take(nth) for name, column in key.items()}
    return pa_table(before | dict(zip(result.column_names, result.columns, strict=True)))


def pa_table(columns: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Answer a table of some columns; unlike `pyarrow.table` it keeps them as they are."""
    import pyarrow as pa

    return pa.Table.from_arrays(list(columns.values()), names=list(columns))
