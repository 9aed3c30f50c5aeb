"""An attempt at a step on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.engine.attempt import Attempt, Watch
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan
from tidegate.spark.backend import SparkBackend
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.parts import PartCache, SparkParts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkAttempt"]


class SparkAttempt(Attempt):
    """An attempt at a step, in the session of its batch."""

    def __init__(
        self,
        number: int,
        suffix: str,
        flow: Plan,
        files: Files,
        runtime: Runtime,
        shapes: Mapping[str, Any],
        tables: Mapping[str, DataFrame],
        *,
        cache: PartCache | None = None,
        watch: Watch = lambda loop, number, least: None,  # noqa: ARG005
    ) -> None:
        backend = SparkBackend(runtime)
        parts = SparkParts(files, backend, cache)
        # The session of a batch is not the one of the tables, so they become relations of this one.
        own = {name: backend.relation(frame) for name, frame in tables.items()}
        super().__init__(number, suffix, flow, files, backend, shapes, parts, own, watch=watch)
