"""Counts for Spark's query listeners: how many rows each source has given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow.clocks import given_schema
from tidegate.flow.plan import Plan
from tidegate.flow.sqltypes import quoted
from tidegate.spark.jvm import listener_names
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["with_listener_counts"]


def with_listener_counts(flow: Plan, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Return the same rows. When they are read, listeners get counts: rows of each source, and rows without a time.

    The counts are in ``observedMetrics`` of a query's progress, under the name of the flow. Late rows are not counted:
    the plan of a query is made once, and which rows are late changes with each step. Rows are counted each time that
    they are read, and a step that sets rows aside may read them twice. Counting takes a tenth of the time of a large
    step, so it is done only if there are listeners.
    """
    # The listener of Spark's web interface does not show these counts.
    if all(name == "StreamingQueryStatusListener" for name in listener_names(runtime.session)):
        return rows
    counts = {}
    for i, source in enumerate(flow.sources):
        # Signals, such as a frontier that the source follows, have no struct.
        whole, prefix = (f"__{i}", f"__{i}.") if f"__{i}" in rows.columns else ("true", "")
        missing = " OR ".join(f"{prefix}{quoted(name)} IS NULL" for name in given_schema(source).time) or "false"
        counts[f"{source.id}_rows"] = f"count({whole})"
        counts[f"{source.id}_untimed"] = f"count_if({whole} IS NOT NULL AND ({missing}))"
    return rows.observe(flow.name, *runtime.exprs(counts))
