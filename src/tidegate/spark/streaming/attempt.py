"""An attempt at a step on Spark: it has the session of its batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.engine.attempt import Attempt, Watch
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan
from tidegate.spark.backend import SparkBackend
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.parts import SparkParts, Warm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.spark.relation import SparkRelation

__all__ = ["SparkAttempt"]


class SparkAttempt(Attempt):
    """An attempt at a step on Spark."""

    def __init__(
        self,
        number: int,
        suffix: str,
        flow: Plan,
        files: Files,
        runtime: Runtime,
        shapes: Mapping[str, Any],
        *,
        warm: Warm | None = None,
        watch: Watch = lambda loop, number, least: None,  # noqa: ARG005
    ) -> None:
        backend = SparkBackend(runtime)
        super().__init__(number, suffix, flow, files, backend, shapes, SparkParts(files, backend, warm), watch=watch)
        self.runtime = runtime
        self._spark = backend

    def relation(self, frame: DataFrame) -> SparkRelation:
        """Return the rows of a DataFrame in the session of this step."""
        return self._spark.relation(frame)
