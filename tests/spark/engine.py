"""The bounded Spark engine, for cases and for comparisons: rows in, rows out, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import tidegate as tg
from tidegate.flow.schema import Column, Schema
from tidegate.spark.arrow import struct_type
from tidegate.spark.wire import python_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = dict[str, list[tuple[Any, ...]]]


def by_spark(spark: SparkSession, flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """Run a flow with one sink on bounded inputs, and return the rows of the sink."""
    (sink,) = flow.plan.sinks
    return all_by_spark(spark, flow, inputs)[sink.name]


def all_by_spark(spark: SparkSession, flow: tg.Flow, inputs: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """Run a flow on bounded inputs, and return the rows of each sink."""
    plan = flow.plan
    frames = {o.id: frame(spark, o.schema, inputs[o.id]) for o in (*plan.sources, *plan.tables)}
    tables = flow.compute(spark, frames)
    for sink in plan.sinks:
        _same_columns(plan[sink.input].schema, tables[sink.name])
    return {sink: rows(table) for sink, table in tables.items()}


def frame(spark: SparkSession, schema: Schema, values: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Return rows as a DataFrame in one partition: cases are small."""
    data = [tuple(map(_zoned, row, schema.columns)) for row in values]
    return spark.createDataFrame(data, struct_type(schema.columns), verifySchema=False).coalesce(1)


def rows(table: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a DataFrame; instants are without a zone, in UTC."""
    return [tuple(row.values()) for row in python_rows(table)]


def _zoned(value: Any, column: Column) -> Any:
    """Return an instant with its zone: PySpark reads one without a zone in that of the machine."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and column.type == "TIMESTAMP" else value


def _same_columns(schema: Schema, table: DataFrame) -> None:
    """Hold what was derived when the flow was built against what Spark says."""
    from tidegate.spark.rows import columns_of

    found = columns_of(table.schema)
    assert [c.name for c in found] == list(schema.names)
    for derived, settled in zip(schema.columns, found, strict=True):
        assert derived.type in (None, settled.type), f"{derived} was derived, {settled} came out"
