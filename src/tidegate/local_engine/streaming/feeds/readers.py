"""Objects with the methods of PySpark's Python stream readers: one connector serves both engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tidegate.flow.arrow import table_of
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.inputs import rows_in_memory
from tidegate.local_engine.streaming.feeds.feed import Feed, Taking

__all__ = ["METHODS", "ReaderFeed"]

#: What a reader has; `commit` and `stop` it may have.
METHODS = ("initialOffset", "latestOffset", "partitions", "read")


class ReaderFeed(Feed):
    """A feed of rows between offsets. A reader gives the same rows for the same offsets."""

    def __init__(self, source: Source, backend: LocalBackend, given: Any) -> None:
        super().__init__(source, backend)
        self._reader = given
        self._at: Any = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Go on at an offset; the first is the reader's own."""
        self._at = position["offset"] if position else self._reader.initialOffset()

    def take(self) -> Taking | None:
        """Return the rows up to the latest offset."""
        end = self._reader.latestOffset()
        if end == self._at:
            return None
        read = (self._reader.read(partition) for partition in self._reader.partitions(self._at, end))
        tables = [table for rows in read for table in self._tables(rows)]
        whole = pa.concat_tables(tables) if tables else table_of([], self.source.schema.columns)
        return Taking(rows_in_memory(self.backend, self.source, whole), {"offset": end}, own=end)

    def committed(self, taking: Taking) -> None:
        """Go on behind the offset, and let the reader know that nobody will ask for what is before it."""
        self._at = taking.own
        if hasattr(self._reader, "commit"):
            self._reader.commit(taking.own)

    def close(self) -> None:
        """Stop the reader."""
        if hasattr(self._reader, "stop"):
            self._reader.stop()

    def _tables(self, given: Iterable[Any]) -> Iterator[pa.Table]:
        """Yield what a reader gives as tables: it gives batches of Arrow data, or rows as tuples."""
        rows: list[dict[str, Any]] = []
        names = self.source.schema.names
        for item in given:
            if isinstance(item, pa.RecordBatch):
                yield pa.Table.from_batches([item])
            else:
                rows.append(dict(zip(names, self._row(item), strict=True)))
        if rows:
            yield table_of(rows, self.source.schema.columns)

    def _row(self, item: Any) -> Sequence[Any]:
        if hasattr(item, "asDict"):
            given = item.asDict()
            return [given.get(name) for name in self.source.schema.names]
        if isinstance(item, tuple | list) and len(item) == len(self.source.schema.names):
            return item
        raise BadInput(
            f"expected rows of {len(self.source.schema.names)} values from {type(self._reader).__name__}.read, "
            f"got {item!r}",
            hint=f"tuples of {', '.join(self.source.schema.names)}, or batches of Arrow data",
        ).at(f"source {self.source.id!r}")
