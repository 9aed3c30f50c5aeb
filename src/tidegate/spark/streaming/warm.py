"""Large parts of state that are read many times in a step: kept in Spark's cache from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.state import Part, read_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Warm"]

# Reading fewer rows from a file costs less than keeping them.
_MANY = 20_000


class Warm:
    """The cached parts, by path. A cache is lost without harm: Spark then reads the files again."""

    def __init__(self) -> None:
        self._frames: dict[str, DataFrame] = {}

    def read(self, files: Files, runtime: Runtime, parts: Sequence[Part], schema: StructType) -> DataFrame:
        """Answer the rows of some parts; the large ones are cached when they are first read."""
        small = [part for part in parts if part.rows < _MANY]
        frames = [self._cached(files, runtime, part, schema) for part in parts if part.rows >= _MANY]
        if small or not frames:
            frames.append(read_parts(files, runtime, small, schema))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def forget(self, paths: Iterable[str] = ()) -> None:
        """Give back what is cached, except of these paths."""
        kept = set(paths)
        for path in [path for path in self._frames if path not in kept]:
            self._frames.pop(path).unpersist()

    def _cached(self, files: Files, runtime: Runtime, part: Part, schema: StructType) -> DataFrame:
        # Spark finds what is cached by the plan: each step reads anew, in its own session, and finds it.
        frame = read_parts(files, runtime, [part], schema)
        if part.path not in self._frames:
            self._frames[part.path] = frame.persist()
        return frame
