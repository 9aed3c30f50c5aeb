"""Objects with the methods of PySpark's Python stream readers, so that one connector works on both engines."""

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
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows

__all__ = ["METHODS", "ReaderFeed"]

#: The methods that a reader must have. `commit` and `stop` are optional.
METHODS = ("initialOffset", "latestOffset", "partitions", "read")


class ReaderFeed(Feed):
    """A feed of rows between two offsets. For the same offsets, a reader always gives the same rows."""

    kind = "reader"

    def __init__(self, source: Source, backend: LocalBackend, given: Any) -> None:
        super().__init__(source, backend)
        self._reader = given
        self._at: Any = None
        #: The last offset, if the feed is limited to what is available now.
        self._last: Any = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Continue at an offset. The first one is given by the reader."""
        self._at = position["offset"] if position else self._plain(self._reader.initialOffset())

    @property
    def position(self) -> dict[str, Any]:
        """The offset after what was read."""
        return {"offset": self._at}

    def bound(self) -> None:
        """Limit the feed to the latest offset. If the reader can do that by itself, it is told to."""
        if hasattr(self._reader, "prepareForTriggerAvailableNow"):
            self._reader.prepareForTriggerAvailableNow()
        else:
            # The reader's own limit is not used here: what it leaves out now would come after the end.
            self._last = self._latest(_everything())

    def read_new(self) -> NewRows | None:
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
        return NewRows(rows, {"offset": end}, own=end)

    def committed(self, new_rows: NewRows) -> None:
        """Continue after the offset, and tell the reader that nothing before it will be read again."""
        self._at = new_rows.own
        if hasattr(self._reader, "commit"):
            self._reader.commit(new_rows.own)

    def _latest(self, limit: Any) -> Any:
        # PySpark 4.2 passes the current offset and the limit to readers.
        wanted = len(signature(self._reader.latestOffset).parameters)
        return self._plain(self._reader.latestOffset(*(self._at, limit)[:wanted]))

    def _plain(self, offset: Any) -> Any:
        """Return an offset as it would be after a restart."""
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
        """Yield the rows of a reader as tables; it returns Arrow batches, or rows as tuples."""
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
    """Return the read limit of a reader; the one that means everything if it has none."""
    return reader.getDefaultReadLimit() if hasattr(reader, "getDefaultReadLimit") else _everything()


def _everything() -> Any:
    """Return the read limit that means everything: PySpark's object for it, or None."""
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
