"""An output: where the results of a sink go, and the protocol that every kind of output follows.

The results of a step are written to a temporary place and committed. Then they are published in one of two ways. If the
output has a `directory`, the run moves their files there. To any other output it hands them over: `claim` is called
once at the start, and then `deliver` for each step that has rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tidegate.engine.outputs.refusals import Refusal
from tidegate.engine.storage.files import Files
from tidegate.flow.schema import Column

__all__ = ["Fields", "Output", "Results", "Sender"]


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends rows to an output: a sink of a flow, with its checkpoint. The ``time`` columns come first in rows."""

    checkpoint: str
    flow: str
    sink: str
    time: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of results: as Tidegate's columns, in the engine's own form, and as Spark's JSON."""

    columns: tuple[Column, ...]
    #: A StructType on Spark, an Arrow schema locally.
    native: Any
    #: The schema in JSON.
    json: str

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


class Results(Protocol):
    """The rows of a step on their way to an output."""

    @property
    def fields(self) -> Fields:
        """The columns of the rows."""
        ...

    @property
    def native(self) -> Any:
        """The rows in the form that users get: a DataFrame on Spark, an Arrow table locally."""
        ...

    def batches(self, *, as_json: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows in batches, which are not all in memory at once; some columns as JSON strings."""
        ...

    def shown(self, rows: int) -> str:
        """Return the first rows as a printable table."""
        ...

    def collected(self) -> Any:
        """Return all rows, in the form that `remember` takes."""
        ...

    def remember(self, name: str, collected: Sequence[Any]) -> None:
        """Make the collected rows readable as a table of that name."""
        ...


class Output:
    """The base of all outputs. As it is, it takes every row and does nothing with it."""

    __slots__ = ()

    #: Whether rows reach it through Spark's Python workers.
    needs_workers = True

    @property
    def directory(self) -> str | None:
        """The directory to which the run moves the files of steps; None if rows are handed over."""
        return None

    def check(self, checkpoint: Files, sink: str) -> None:
        """Raise if results can't be written here. It is called before anything is read or written."""

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Prepare for the rows of a sender; raise if they do not fit, or if the place belongs to another sender."""

    def refuses(self, fields: Fields) -> Sequence[Refusal]:  # noqa: ARG002
        """Return which values of these columns can't be written. A step with such rows fails before its commit."""
        return ()

    def partitions(self, fields: Fields) -> Sequence[str]:  # noqa: ARG002
        """Return the columns by whose values files are partitioned, for an output with a `directory`."""
        return ()

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Write the rows of a step, unless the step is there already. After a crash a step may come twice."""
