"""Batches of Arrow data from an iterator, or from a function that is given the number of batches already read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Condition, Thread
from typing import Any

import pyarrow as pa

from tidegate.engine.relation import united
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.flow.arrow import arrow_type
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.inputs import rows_in_memory
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows

__all__ = ["BatchFeed"]

#: How many batches may wait. A faster producer is blocked.
_AHEAD = 64
_INSTANT = pa.timestamp("us", "UTC")


class BatchFeed(Feed):
    """A feed of Arrow batches or tables. A thread fetches them, so that a step never waits for one."""

    kind = "batches"

    def __init__(self, source: Source, backend: LocalBackend, given: Iterable[Any] | Callable[[int], Any]) -> None:
        super().__init__(source, backend)
        self._given = given
        self._changed = Condition()
        self._waiting: deque[Any] = deque()
        self._read_count = 0
        self._begun = False
        self._over = False
        self._closed = False
        self._failure: BaseException | None = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Start after the batches that were read. Only a function can do that."""
        self._read_count = position["batches"] if position else 0
        if position is not None and self._read_count and not callable(self._given):
            raise BadCheckpoint(
                f"expected a function of the number of batches already read, to continue after {self._read_count} of "
                "them, got an iterator, which has no position",
                hint="def batches(read): … that yields the batches from that number on",
            ).at(f"source {self.source.id!r}")

    @property
    def position(self) -> dict[str, int]:
        """How many batches were read."""
        return {"batches": self._read_count}

    def _begin(self) -> None:
        """Start fetching. This is done in the first step, and not before: the run may still be refused."""
        self._begun = True
        batches = iter(self._given(self._read_count) if callable(self._given) else self._given)
        Thread(target=self._fetch, args=(batches,), name=f"tidegate {self.source.id}", daemon=True).start()

    def read_new(self) -> NewRows | None:
        """Return the rows of all batches fetched so far."""
        if not self._begun:
            self._begin()
        with self._changed:
            found = list(self._waiting)
            # Batches that came before the failure are read first.
            if self._failure is not None and not found:
                raise self._failure
        if not found:
            return None
        alike: dict[str, list[pa.Table]] = {}
        for table in map(_table, found):
            alike.setdefault(str(table.schema.remove_metadata()), []).append(table)
        tables = [pa.concat_tables(some) for some in alike.values()]
        rows = united([rows_in_memory(self.backend, self.source, table) for table in tables])
        count = sum(table.num_rows for table in tables) if all(map(self._as_declared, tables)) else None
        return NewRows(rows, {"batches": self._read_count + len(found)}, own=len(found), count=count)

    def _as_declared(self, table: pa.Table) -> bool:
        """Whether a table has the declared types, and needs no cast."""
        types = {column.name: arrow_type(column.type or "") for column in self.source.schema.columns}
        instants = {column.name for column in self.source.schema.columns if column.type == "TIMESTAMP"}
        return all(
            field.type == types.get(field.name) or (field.name in instants and field.type == _INSTANT)
            for field in table.schema
        )

    def committed(self, new_rows: NewRows) -> None:
        """Release the batches, to make room for others."""
        with self._changed:
            for _ in range(new_rows.own):
                self._waiting.popleft()
            self._read_count += new_rows.own
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """Whether the iterator has ended and all of its batches were read."""
        with self._changed:
            return self._over and not self._waiting and self._failure is None

    @property
    def caught_up(self) -> bool:
        """Whether the iterator has ended."""
        return self.ended

    def wait(self, seconds: float) -> None:
        """Wait for the next batch."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._over or self._failure, seconds)

    def close(self) -> None:
        """Stop fetching."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fetch(self, batches: Iterator[Any]) -> None:
        try:
            for batch in batches:
                with self._changed:
                    self._changed.wait_for(lambda: len(self._waiting) < _AHEAD or self._closed)
                    if self._closed:
                        return
                    self._waiting.append(batch)
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._failure = error
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()


def _table(batch: Any) -> pa.Table:
    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if isinstance(batch, pa.Table):
        return batch
    if hasattr(batch, "__arrow_c_stream__"):
        return pa.table(batch)
    raise BadInput(
        f"expected batches of Arrow data, got {type(batch).__name__}", hint="pyarrow.RecordBatch or pyarrow.Table"
    )
