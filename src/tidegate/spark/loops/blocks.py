"""What is worked out once and then read: in Spark's blocks or at the driver, with no memory of how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tidegate.spark.jvm import classes, collected, frame_of, release_checkpoint
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Block", "at_driver", "in_blocks", "laid_on"]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are worked out, and what was counted on the way.

    ``few`` is the JVM's list of them, if they are held by the driver; else they are held by executors.
    """

    frame: DataFrame
    counts: Mapping[str, Any]
    few: Any = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts["rows"])

    def release(self) -> None:
        """Give the memory back at once, rather than when the collector of the JVM finds it; nobody reads it again."""
        if self.few is None:
            release_checkpoint(self.frame)


def in_blocks(runtime: Runtime, rows: DataFrame, counts: Mapping[str, str] = MappingProxyType({})) -> Block:
    """Work out rows where they are, in one job, and count them; they are lost with the executor that holds them."""
    from pyspark.sql import Observation

    seen = Observation()
    kept = rows.observe(seen, *runtime.exprs({"rows": "count(*)", **counts})).localCheckpoint(eager=True)
    return Block(kept, seen.get)


def at_driver(
    runtime: Runtime, rows: DataFrame, counts: Mapping[str, str] = MappingProxyType({}), *, at_most: int
) -> Block | None:
    """Work out a few rows, and keep them at the driver: Spark then knows how few they are. None if there are more."""
    from pyspark.sql import Observation

    seen = Observation()
    observed = rows.observe(seen, *runtime.exprs({"rows": "count(*)", **counts}))
    # All parts at once: Spark would look at one, and then at more of them, for as long as there are too few rows.
    with runtime.settings(spark__sql__limit__initialNumPartitions=str(2**20)):
        # They never become Python objects: the JVM hands them from one plan to the next.
        few = collected(observed.limit(at_most + 1))
    if few.size() > at_most:
        return None
    return Block(frame_of(runtime.session, few, observed), seen.get, few)


def laid_on(runtime: Runtime, below: Block | None, top: Block) -> Block:
    """Answer the rows of two blocks at the driver as one; this runs no job."""
    if below is None:
        return top
    both = classes(runtime.session).java.util.ArrayList(below.few)
    both.addAll(top.few)
    return Block(frame_of(runtime.session, both, top.frame), {"rows": below.rows + top.rows}, both)
