"""Input that a test gives by hand: rows, and lines that say which times are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tidegate.engine.inputs import STEP
from tidegate.engine.policies import policy_of
from tidegate.engine.policies.lines import SIGNAL_LINE
from tidegate.flow.plan import Source
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows

__all__ = ["ManualFeed", "ManualInput"]


@dataclass(slots=True)
class ManualInput:
    """What a test has given so far: tables with the declared columns, each with its lines. More can be added."""

    given: list[tuple[pa.Table, tuple[str, ...]]] = field(default_factory=list)

    def add(self, rows: pa.Table, lines: Sequence[str] = ()) -> None:
        """Add a table of rows, and the lines that come with it. Both may be empty."""
        self.given.append((rows, tuple(lines)))


class ManualFeed(Feed):
    """A feed of a `ManualInput`. Its position is the number of tables that were read."""

    kind = "by hand"

    def __init__(self, source: Source, backend: LocalBackend, given: ManualInput) -> None:
        super().__init__(source, backend)
        self._given = given.given
        self._read_count = 0
        self._reads_lines = policy_of(source).reads_lines

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Continue after the tables that were read."""
        self._read_count = position["taken"] if position else 0

    @property
    def position(self) -> dict[str, int]:
        """The number of tables that were read."""
        return {"taken": self._read_count}

    def read_new(self) -> NewRows | None:
        """Return the rows and lines of all new tables."""
        found = self._given[self._read_count :]
        if not found:
            return None
        columns = self.source.schema.columns
        batches = [batch for rows, _ in found for batch in rows.to_batches()]
        rows, count = self.backend.rows(batches, columns), sum(batch.num_rows for batch in batches)
        taken = len(self._given)
        if not self._reads_lines:
            return NewRows(rows, {"taken": taken}, own=taken, count=count)
        lines = [line for _, declared in found for line in declared]
        batch = pa.RecordBatch.from_pydict({SIGNAL_LINE: pa.array(lines, pa.string())})
        whole = rows.with_columns({STEP: "CAST(NULL AS BIGINT)", SIGNAL_LINE: "CAST(NULL AS STRING)"})
        whole = whole.union(self.backend.rows([batch], [Column(SIGNAL_LINE, "STRING")]), fill=True)
        return NewRows(whole, {"taken": taken}, own=taken, count=count)

    def committed(self, new_rows: NewRows) -> None:
        """Continue after the tables that were read."""
        self._read_count = new_rows.own
