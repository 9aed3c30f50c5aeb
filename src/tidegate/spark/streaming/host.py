"""The host of a run on Spark: schemas, the results of a step, and error messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.engine.error_messages import ErrorMessage
from tidegate.engine.lowering import lower_operator
from tidegate.engine.outputs import Fields
from tidegate.engine.relation import Relation
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan, Source
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.spark.arrow import struct_type
from tidegate.spark.backend import SparkBackend
from tidegate.spark.error_messages import describe_error
from tidegate.spark.jvm import optimized_plan
from tidegate.spark.relation import frame_of
from tidegate.spark.rows import MICROSECONDS, columns_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.batches import arrow_batches
from tidegate.spark.streaming.parts import READ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["SparkHost", "SparkResults", "fields_of"]


class SparkHost:
    """A Spark session that runs a flow. ``tables`` are the tables of the flow."""

    name = "spark"

    def __init__(self, runtime: Runtime, tables: Mapping[str, DataFrame]) -> None:
        self.runtime = runtime
        self.frames = dict(tables)
        self.backend = SparkBackend(runtime)

    @property
    def tables(self) -> dict[str, Relation]:
        """Return the rows of the flow's tables."""
        return {name: self.backend.relation(frame) for name, frame in self.frames.items()}

    def lowering(self, flow: Plan) -> AbstractContextManager[None]:
        """Set the session to the time zone of the flow until the context ends."""
        return self.runtime.settings(spark__sql__session__timeZone=flow.timezone)

    def shape(self, columns: Sequence[Column]) -> StructType:
        """Return the shape of rows with these columns."""
        return struct_type(columns)

    def fields(self, shape: StructType) -> Fields:
        """Return the columns of a shape."""
        return fields_of(shape)

    def results(self, files: Files, path: str) -> SparkResults:
        """Return the rows of a step."""
        return SparkResults(self.runtime.session.read.options(**READ).parquet(files.path(path)))

    def records(self, files: Files) -> list[str]:
        """Return the directories in which Spark records the content of batches, and which batches are done.

        If a source lost such a record, it would give the same rows again. The record that a batch is done must be
        intact, too, when a later batch is committed.
        """
        sources = files.names("spark/sources")
        return ["spark", "spark/offsets", "spark/commits", *(f"spark/sources/{number}" for number in sources)]

    def describe_error(self, error: BaseException) -> ErrorMessage:
        """Return the message of an error, in our form."""
        return describe_error(error)

    def sees_all(
        self,
        flow: Plan,
        name: str,
        sources: Sequence[str],
        shapes: Mapping[str, Any],
        relevant: Callable[[Relation], Relation],
    ) -> bool:
        """Whether Spark reads all rows of the sources. If a condition is never true, it does not read them."""
        from pyspark.sql import Observation

        def lowered(id_: str) -> Relation:
            operator = flow[id_]
            if isinstance(operator, Source):
                rows = frame_of(self.backend.nothing(shapes[id_]))
                seen = rows.observe(Observation(f"of {id_}"), self.runtime.expr("count(*)", "n"))
                return self.backend.relation(seen)
            return lower_operator(operator, *map(lowered, operator.inputs))

        optimized = optimized_plan(frame_of(relevant(lowered(name))))
        return all(f"CollectMetrics of {source}," in optimized for source in sources)


class SparkResults:
    """The results of a step, as a DataFrame."""

    def __init__(self, rows: DataFrame) -> None:
        self.native = rows

    @cached_property
    def fields(self) -> Fields:
        """Return the columns of the rows."""
        return fields_of(self.native.schema)

    def batches(self, *, as_json: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows in batches. The driver holds one partition at a time. Columns in ``as_json`` become texts."""
        from pyspark.sql.functions import col, to_json

        def written(name: str) -> Any:
            column = col(quoted(name))
            return to_json(column, MICROSECONDS | {"timeZone": "UTC"}).alias(name) if name in as_json else column

        return arrow_batches(self.native.select(*map(written, self.native.columns)))

    def shown(self, rows: int) -> str:
        """Return the first rows as a text, as `DataFrame.show` prints them."""
        table: Any = self.native
        return str(table._show_string(rows, False, False))

    def collected(self) -> Any:
        """Return all rows."""
        return self.native.collect()

    def remember(self, name: str, collected: Sequence[Any]) -> None:
        """Make a temporary view of the collected rows."""
        rows = [row for part in collected for row in part]
        self.native.sparkSession.createDataFrame(rows, self.native.schema).createOrReplaceTempView(name)


def fields_of(schema: StructType) -> Fields:
    """Return the columns of a schema, in the form that outputs are given."""
    return Fields(columns_of(schema), schema, schema.json())
