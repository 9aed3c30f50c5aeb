"""An attempt at a step: where its files go, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tidegate.flow.plan import Iterate, Plan
from tidegate.spark.loops.rounds import Least
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.state import Part, read_parts, write_part
from tidegate.spark.streaming.warm import Warm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Attempt"]

#: Called by a loop after each round, with its number and the least time of what is fresh; None: nothing is.
Watch = Callable[[Iterate, int, Least | None], None]


class Attempt:
    """An attempt at a step. The names of all that it writes end with ``suffix``: no other attempt has that."""

    def __init__(
        self,
        number: int,
        suffix: str,
        flow: Plan,
        files: Files,
        runtime: Runtime,
        schemas: Mapping[str, StructType],
        *,
        warm: Warm | None = None,
        watch: Watch = lambda loop, number, least: None,  # noqa: ARG005
    ) -> None:
        self.number = number
        self.suffix = suffix
        self.flow = flow
        self.files = files
        self.runtime = runtime
        #: The columns that Spark gives the output of each operator.
        self.schemas = schemas
        self.watch = watch
        self._warm = warm or Warm()
        #: The directories that it has written; those that its commit does not name can go.
        self.made: set[str] = set()

    def write(self, key: str, port: int, kind: str, rows: DataFrame, times: Sequence[str] = ()) -> Part:
        """Write rows as a part of a state; ``times`` are looked at on the way."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return write_part(self.files, self.runtime, rows, path, times)

    def read(self, parts: Sequence[Part], type_: StructType) -> DataFrame:
        """Return the rows of some parts."""
        return read_parts(self.files, self.runtime, parts, type_)

    def read_cached(self, parts: Sequence[Part], type_: StructType) -> DataFrame:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        return self._warm.read(self.files, self.runtime, parts, type_)
