"""Rows that are handed over step by step, with lines that make times complete: the input of a test."""

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
    """What was handed over so far: tables of the declared columns, each with its lines. More can be added any time."""

    given: list[tuple[pa.Table, tuple[str, ...]]] = field(default_factory=list)

    def add(self, rows: pa.Table, lines: Sequence[str] = ()) -> None:
        """Hand over lines, and rows, of which there may be none."""
        self.given.append((rows, tuple(lines)))


class ManualFeed(Feed):
    """A feed of what was handed over and not taken yet. Its position is the number of hand-overs taken."""

    kind = "by hand"

    def __init__(self, source: Source, backend: LocalBackend, given: ManualInput) -> None:
        super().__init__(source, backend)
        self._given = given.given
        self._taken = 0
        self._reads_lines = policy_of(source).reads_lines

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Continue after what was taken."""
        self._taken = position["taken"] if position else 0

    @property
    def position(self) -> dict[str, int]:
        """The number of hand-overs taken."""
        return {"taken": self._taken}

    def read_new(self) -> NewRows | None:
        """Return everything that is new."""
        found = self._given[self._taken :]
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
        """Continue after what was taken."""
        self._taken = new_rows.own
