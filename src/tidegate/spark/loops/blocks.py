"""What is worked out once and then read: in Spark's blocks or at the driver, with no memory of how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Block", "at_driver", "in_blocks"]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are worked out, what was counted on the way, and whether they are held by executors."""

    frame: DataFrame
    counts: Mapping[str, Any]
    held: bool = True

    def release(self) -> None:
        """Give the memory back at once, rather than when the collector of the JVM finds it; nobody reads it again."""
        if self.held:
            self.frame._jdf.logicalPlan().rdd().unpersist(False)


def in_blocks(runtime: Runtime, rows: DataFrame, counts: Mapping[str, str] = MappingProxyType({})) -> Block:
    """Work out rows where they are, in one job, and count them; they are lost with the executor that holds them."""
    from pyspark.sql import Observation

    seen = Observation()
    kept = rows.observe(seen, *runtime.exprs({"rows": "count(*)", **counts})).localCheckpoint(eager=True)
    return Block(kept, seen.get)


def at_driver(runtime: Runtime, rows: DataFrame, counts: Mapping[str, str] = MappingProxyType({})) -> Block:
    """Work out a few rows, and keep them at the driver: Spark then knows how few they are."""
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import Observation

    seen = Observation()
    observed = rows.observe(seen, *runtime.exprs({"rows": "count(*)", **counts}))._jdf
    # They never become Python objects: the JVM hands them from one plan to the next.
    few = runtime.session._jsparkSession.createDataFrame(observed.collectAsList(), observed.schema())
    return Block(SparkFrame(few, runtime.session), seen.get, held=False)
