"""An output: a place for the results of a sink, and the protocol that every kind of place follows.

The results of a step are written aside and committed; then they are published, in one of two ways. In a `directory`,
the run moves their files to where readers look. To any other output it hands them over: `claim` once at the start,
then `deliver` for each step that has rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.engine.storage.files import Files
from tidegate.spark.streaming.refusals import Refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["Output", "Sender"]


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose rows they are: a sink of a flow with this checkpoint; the first columns are the times."""

    checkpoint: str
    flow: str
    sink: str
    time: tuple[str, ...]


class Output:
    """A place that takes every row and does nothing with it, and what others change of it."""

    __slots__ = ()

    #: Whether rows come to it through Spark's Python workers.
    needs_workers = True

    @property
    def directory(self) -> str | None:
        """The directory in which the run publishes steps, by moving their files; None if rows are handed over."""
        return None

    def check(self, spark: SparkSession, checkpoint: Files, sink: str) -> None:
        """Raise if results cannot be there. Nothing was read or written yet."""

    def claim(self, sender: Sender, schema: StructType) -> None:
        """Make ready for rows of a sender, or raise if they do not fit or the place is someone else's."""

    def refuses(self, schema: StructType) -> Sequence[Refusal]:  # noqa: ARG002
        """Return which values of these columns it cannot take: a step with such rows fails before its commit."""
        return ()

    def deliver(self, sender: Sender, rows: DataFrame, step: int) -> None:
        """Write the rows of a step; nothing if the step is there already. A step may come twice, after a crash."""
