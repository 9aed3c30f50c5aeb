"""Bounded runs: a plan and DataFrames in, DataFrames out, lazily; the end of the input completes everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError
from tidegate.flow.plan import Plan
from tidegate.spark.inputs import check_inputs, with_time, without_time
from tidegate.spark.lowering import lower
from tidegate.spark.runtime import Runtime, spark_runtime
from tidegate.spark.tables import Rejected, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["compute"]


def compute(flow: Plan, spark: SparkSession, inputs: Mapping[str, DataFrame]) -> Tables:
    """Answer a DataFrame for each sink; nothing is read before one of them is asked for its rows."""
    try:
        runtime = spark_runtime(spark)
    except TidegateError as error:
        raise error.at(f"flow {flow.name!r}") from None
    given = check_inputs(flow, inputs)
    # Spark fixes the time zone of an expression when it is built.
    with runtime.settings(spark__sql__session__timeZone=flow.timezone):
        return _tables(flow, given, runtime)


def _tables(flow: Plan, given: Mapping[str, DataFrame], runtime: Runtime) -> Tables:
    complete = {source.id: with_time(source, runtime, given[source.id]) for source in flow.sources}
    complete |= {table.id: given[table.id] for table in flow.tables}
    frames = lower(flow, complete, runtime)
    rejected = {source.id: without_time(source, runtime, given[source.id]) for source in flow.sources}
    return Tables({sink.name: frames[sink.input] for sink in flow.sinks}, Rejected(rejected))
