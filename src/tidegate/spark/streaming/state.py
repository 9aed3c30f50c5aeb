"""State: the rows that an operator has been given and may still need, as a base and deltas in Parquet.

A step adds what is new as a delta, and does not touch the rest. When the deltas have grown beyond a quarter of the
base, or are many, a new base is written of what is still needed. A commit names the files. Rows that are needed no more
give no answers that were not given before: the frontiers before and after a step cut those off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from tidegate.spark.streaming.files import Files

__all__ = ["Part", "State", "empty_rows", "read_parts", "write_part"]

# A base is not written for each small step, and not so seldom that reading opens many files.
_FEWEST_DELTAS = 4
_MOST_DELTAS = 12


@dataclass(frozen=True, slots=True)
class Part:
    """A directory of Parquet files below the checkpoint, and how many rows are in it."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class State:
    """The parts that hold the state of one input of an operator."""

    base: Part | None = None
    deltas: tuple[Part, ...] = field(default=())

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        return (self.base, *self.deltas) if self.base else self.deltas

    @property
    def rows(self) -> int:
        """How many rows there are, those included that are needed no more."""
        return sum(part.rows for part in self.parts)

    def grown(self, part: Part) -> State:
        """Answer the state with a delta added; an empty one is left out."""
        return State(self.base, (*self.deltas, part)) if part.rows else self

    @property
    def wants_folding(self) -> bool:
        """Whether the deltas have grown so much that a new base should be written.

        >>> [State(Part("a", 100), (Part("b", n),) * 4).wants_folding for n in (6, 7)]
        [False, True]
        """
        added = sum(part.rows for part in self.deltas)
        base = self.base.rows if self.base else 0
        many = len(self.deltas)
        return (many >= _FEWEST_DELTAS and added > base / 4) or many > _MOST_DELTAS

    def coded(self) -> list[list[Any]]:
        """Answer the state for a commit: the base first, which may be missing."""
        return [[part.path, part.rows] if part else [] for part in (self.base, *self.deltas)]

    @classmethod
    def decode(cls, found: Sequence[Sequence[Any]]) -> State:
        """Answer the state that a commit names."""
        base, *deltas = found
        return cls(Part(*base) if base else None, tuple(Part(*delta) for delta in deltas))


def empty_rows(runtime: Runtime, schema: StructType) -> DataFrame:
    """Answer no rows, of a schema."""
    columns = [runtime.F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
    return runtime.session.range(0).select(*columns)


def read_parts(files: Files, runtime: Runtime, parts: Sequence[Part], schema: StructType) -> DataFrame:
    """Answer the rows of some parts; the schema is given, so that Spark need not look for it."""
    if not parts:
        return empty_rows(runtime, schema)
    return runtime.session.read.schema(schema).parquet(*(files.path(part.path) for part in parts))


def write_part(files: Files, runtime: Runtime, rows: DataFrame, path: str) -> Part:
    """Write rows under a path that nobody else writes to, and count them on the way."""
    from pyspark.sql import Observation

    counted = Observation()
    rows.observe(counted, runtime.expr("count(*)", "rows")).write.mode("overwrite").parquet(files.path(path))
    part = Part(path, int(counted.get["rows"]))
    if not part.rows:
        # No commit names an empty part, and so nobody would clean it away.
        files.delete(path)
    return part
