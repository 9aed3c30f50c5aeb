"""Objects with the methods of PySpark's Python stream readers: one connector serves both engines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature
from typing import Any

import pyarrow as pa

from tidegate.engine.relation import united
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

    kind = "reader"

    def __init__(self, source: Source, backend: LocalBackend, given: Any) -> None:
        super().__init__(source, backend)
        self._reader = given
        self._at: Any = None
        #: Where it ends, if what there is now is all there is.
        self._last: Any = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Go on at an offset; the first is the reader's own."""
        self._at = position["offset"] if position else self._plain(self._reader.initialOffset())

    @property
    def position(self) -> dict[str, Any]:
        """The offset behind what was read."""
        return {"offset": self._at}

    def bound(self) -> None:
        """Read up to the offset that is the latest now; a reader that can tell by itself what is there is told to."""
        if hasattr(self._reader, "prepareForTriggerAvailableNow"):
            self._reader.prepareForTriggerAvailableNow()
        else:
            # Whatever it gives at a time: what it leaves out now would be behind the end.
            self._last = self._latest(_everything())

    def take(self) -> Taking | None:
        """Return the rows up to the latest offset."""
        end = self._latest(_limit(self._reader)) if self._last is None else self._last
        if end == self._at:
            return None
        if _goes_back(self._at, end):
            raise BadInput(f"expected offsets that grow, got {end} after {self._at}", hint="a reader never goes back")
        read = (self._reader.read(partition) for partition in self._reader.partitions(self._at, end))
        tables = [table for rows in read for table in self._tables(rows)]
        whole = [rows_in_memory(self.backend, self.source, table) for table in tables]
        rows = united(whole) if whole else self.backend.nothing(self.source.schema.columns)
        return Taking(rows, {"offset": end}, own=end)

    def committed(self, taking: Taking) -> None:
        """Go on behind the offset, and let the reader know that nobody will ask for what is before it."""
        self._at = taking.own
        if hasattr(self._reader, "commit"):
            self._reader.commit(taking.own)

    def _latest(self, limit: Any) -> Any:
        # PySpark 4.2 tells readers where they are, and how much is wanted.
        wanted = len(signature(self._reader.latestOffset).parameters)
        return self._plain(self._reader.latestOffset(*(self._at, limit)[:wanted]))

    def _plain(self, offset: Any) -> Any:
        """Return an offset as it is after a restart."""
        try:
            return json.loads(json.dumps(offset))
        except (TypeError, ValueError):
            raise BadInput(
                f"expected an offset that JSON can hold from {type(self._reader).__name__}, got {offset!r}",
                hint="a dict of texts and numbers",
            ) from None

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
            given = {name.lower(): value for name, value in item.asDict().items()}
            if given.keys() == {name.lower() for name in self.source.schema.names}:
                return [given[name.lower()] for name in self.source.schema.names]
        elif isinstance(item, tuple | list) and len(item) == len(self.source.schema.names):
            return item
        raise BadInput(
            f"expected rows of {len(self.source.schema.names)} values from {type(self._reader).__name__}.read, "
            f"got {item!r}",
            hint=f"tuples of {', '.join(self.source.schema.names)}, or batches of Arrow data",
        ).at(f"source {self.source.id!r}")


def _limit(reader: Any) -> Any:
    """Return how much a reader gives at a time, if it says so; everything, if it does not."""
    return reader.getDefaultReadLimit() if hasattr(reader, "getDefaultReadLimit") else _everything()


def _everything() -> Any:
    """Return what readers take for no limit: PySpark's word for it, or nothing."""
    try:
        from pyspark.sql.streaming.datasource import ReadAllAvailable
    except ImportError:
        return None
    return ReadAllAvailable()


def _goes_back(before: Any, after: Any) -> bool:
    """Whether one of the numbers of an offset is smaller than it was.

    >>> _goes_back({"a": 3, "b": "x"}, {"a": 2, "b": "y"}), _goes_back({"a": 3}, {"a": 3, "b": 0})
    (True, False)
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return any(_goes_back(before[key], after[key]) for key in before.keys() & after.keys())
    numbers = isinstance(before, int | float) and isinstance(after, int | float)
    return bool(numbers and after < before)
