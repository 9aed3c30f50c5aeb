"""An output: a place for the results of a sink, and the protocol that every kind of place follows.

The results of a step are written aside and committed; then they are published, in one of two ways. In a `directory`,
the run moves their files to where readers look. To any other output it hands them over: `claim` once at the start,
then `deliver` for each step that has rows.
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
    """Whose rows they are: a sink of a flow with this checkpoint; the first columns are the times."""

    checkpoint: str
    flow: str
    sink: str
    time: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of results: in Tidegate's words, in those of the engine that users see, and as Spark writes them."""

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
        """Their columns."""
        ...

    @property
    def native(self) -> Any:
        """The rows as users are given them: a DataFrame on Spark, an Arrow table locally."""
        ...

    def batches(self, *, as_json: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows in batches that are not all in memory at once; some columns as texts of JSON."""
        ...

    def shown(self, rows: int) -> str:
        """Return the first rows as a table for readers."""
        ...

    def collected(self) -> Any:
        """Return all rows, as `remember` takes them."""
        ...

    def remember(self, name: str, collected: Sequence[Any]) -> None:
        """Let users read what was collected as a table of that name."""
        ...


class Output:
    """A place that takes every row and does nothing with it, and what others change of it."""

    __slots__ = ()

    #: Whether rows come to it through Spark's Python workers.
    needs_workers = True

    @property
    def directory(self) -> str | None:
        """The directory in which the run publishes steps, by moving their files; None if rows are handed over."""
        return None

    def check(self, checkpoint: Files, sink: str) -> None:
        """Raise if results cannot be there. Nothing was read or written yet."""

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Make ready for rows of a sender, or raise if they do not fit or the place is someone else's."""

    def refuses(self, fields: Fields) -> Sequence[Refusal]:  # noqa: ARG002
        """Return which values of these columns it cannot take: a step with such rows fails before its commit."""
        return ()

    def partitions(self, fields: Fields) -> Sequence[str]:  # noqa: ARG002
        """Return the columns whose values have directories of their own, in a `directory`."""
        return ()

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Write the rows of a step; nothing if the step is there already. A step may come twice, after a crash."""
