"""The local engine on streams, for cases and comparisons: rows cut into steps in, rows of committed steps out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidegate as tg
from tests.local_engine.engine import arrow_rows, rows_of, shared_session
from tests.spark.steps import Cuts, Rows
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Schema
from tidegate.local_engine.session import Local
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.start import prepare


class Cut:
    """A stream reader, as PySpark has them, of rows that come when they are released: an offset counts the cuts."""

    def __init__(self, schema: Schema, cuts: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        self._tables = [arrow_rows(schema, rows) for rows in cuts]
        self.released = 0
        self.committed: list[Any] = []

    def initialOffset(self) -> dict[str, int]:
        return {"cut": 0}

    def latestOffset(self) -> dict[str, int]:
        return {"cut": self.released}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[int]:
        return range(start["cut"], end["cut"])

    def read(self, partition: int) -> Iterator[pa.RecordBatch]:
        yield from self._tables[partition].to_batches()

    def commit(self, end: dict[str, int]) -> None:
        self.committed.append(end)


def run_locally(
    plan: Plan,
    cuts: Cuts,
    tables: Rows,
    directory: Path,
    *,
    restart: bool = False,
    cold: bool = False,
    fold: bool = True,
    **options: Any,
) -> dict[str, list[tuple[Any, ...]]]:
    """Run the engine in steps, and to the end; return the rows of each sink.

    With ``restart``, each step is run by an engine that knows nothing but the checkpoint; with ``cold``, by one that
    has lost the tables that it holds. With ``fold``, state is folded in every step.
    """
    if fold:
        options["fold_from"] = lambda parts: 0
    readers = {s.id: Cut(s.schema, [cut[s.id] for cut in cuts]) for s in plan.sources}
    engine = engine_in(plan, readers, tables, directory, session=shared_session(), **options)
    for number in range(len(cuts)):
        if restart and number:
            engine = engine_in(plan, readers, tables, directory, **options)
        if cold:
            engine.forget()
        for reader in readers.values():
            reader.released = number + 1
        engine.step()
    if cold:
        engine.forget()
    engine.finish()
    read = {sink.name: tg.read(shared_session(), str(directory / sink.name)) for sink in plan.sinks}
    return {sink.name: rows_of(plan[sink.input].schema, read[sink.name]) for sink in plan.sinks}


def engine_in(
    plan: Plan,
    readers: dict[str, Cut],
    tables: Rows,
    directory: Path,
    *,
    session: Local | None = None,
    **options: Any,
) -> LocalEngine:
    """An engine whose checkpoint and outputs are in a directory; in a session of its own, unless one is given."""
    given = {t.id: arrow_rows(t.schema, tables[t.id]) for t in plan.tables}
    outputs = {sink.name: tg.parquet(str(directory / sink.name)) for sink in plan.sinks}
    return prepare(
        plan, session or tg.local(), {**readers, **given}, outputs, Files(directory / "checkpoint"), **options
    )
