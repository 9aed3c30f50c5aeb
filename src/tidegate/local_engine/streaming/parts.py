"""Parts of state as Parquet files; tables in memory cache them from step to step.

A step reads the parts that the last commit names, whether they are cached or not, so losing a cache does no harm.
DuckDB keeps as much of it in memory as it may, and the rest in its own temporary files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.attempt import NOTHING
from tidegate.engine.calls import call
from tidegate.engine.relation import Relation, united
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import measured
from tidegate.engine.storage.state import Part, check_part, fold_from
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import WIDE
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.few import as_numbers, table_of_few
from tidegate.local_engine.paths import parquet_files
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation, local
from tidegate.local_engine.streaming.written import (
    FILE,
    copy_rows,
    picked,
    write_apart,
    write_few,
    write_pieces,
)
from tidegate.local_engine.types import unzoned

__all__ = ["FEW", "LocalParts", "file_rows", "fold_few"]

#: Up to this many rows, Arrow writes faster than DuckDB, which waits for the disk.
FEW = 50_000
#: Up to this many new rows, answers are made into a table by Python faster than DuckDB plans another query.
VERY_FEW = 500
#: If writing the rows of a sink took longer than this, in seconds, they are divided between cores in the next step.
LONG = 0.05
#: The size in bytes up to which a part stays in memory outside of DuckDB, which then can't move it to disk.
LIGHT = 4 << 20
#: Parts that have `LARGE` rows together are merged only when there are `MANY` of them: to merge them takes longer than
#: to read them.
LARGE, MANY = 10_000, 16


def fold_few(parts: Sequence[Part]) -> int:
    """Return the index of the first part to merge with all later ones; the number of parts if none should be merged.

    >>> small, large = Part("a", 100), Part("b", 9000)
    >>> fold_few([small] * 5), fold_few([large] * 15), fold_few([large] * 17)
    (0, 15, 0)
    """
    first = fold_from(parts)
    return first if len(parts) - first > MANY or sum(part.rows for part in parts[first:]) <= LARGE else len(parts)


class LocalParts:
    """The parts of a checkpoint, and their caches: tables of DuckDB, or of Arrow if they are small."""

    def __init__(self, files: Files, backend: LocalBackend, written: MutableMapping[str, pa.Table]) -> None:
        self._files = files
        self._backend = backend
        #: The names of DuckDB tables, by path of the part.
        self._tables: dict[str, str] = {}
        #: Small parts, by path: Arrow concatenates them faster than DuckDB plans a query.
        self._small: dict[str, pa.Table] = {}
        #: The names in DuckDB of the small parts that were concatenated in this step, by their paths.
        self._named: dict[tuple[str, ...], str] = {}
        #: Rows that were staged to be published, if they are few, by path.
        self._written = written
        #: The number of new rows of the step. If it is small, there are usually few answers.
        self._new = FEW + 1
        #: How many seconds the rows of each sink took when they were written last, on all cores together.
        self._seconds: dict[tuple[str, str], float] = {}
        #: The number of rows that were read last, from which parts are merged; and the most that were read in the step,
        #: from which answers are computed.
        self._read_rows = self._most_read = 0

    @property
    def new(self) -> int:
        """The number of new rows of the step."""
        return self._new

    @new.setter
    def new(self, rows: int) -> None:
        self._new, self._most_read = rows, 0

    def read(self, parts: Sequence[Part], shape: tuple[Column, ...], *, coalesced: bool = False) -> Relation:  # noqa: ARG002
        """Return the rows of some parts."""
        self._read_rows = sum(part.rows for part in parts)
        self._most_read = max(self._most_read, self._read_rows)
        if not parts:
            return self._backend.nothing(shape)
        alike: dict[pa.Schema, list[str]] = {}
        for path in (part.path for part in parts if part.path in self._small):
            alike.setdefault(self._small[path].schema, []).append(path)
        small = [self._concatenated(tuple(paths), shape) for paths in alike.values()]
        return united([*(self._read(part, shape) for part in parts if part.path not in self._small), *small])

    def read_cached(self, parts: Sequence[Part], shape: tuple[Column, ...]) -> Relation:
        """Return the rows of some parts. All stay in memory if there is enough of it."""
        return self.read(parts, shape)

    def write(
        self, files: Files, path: str, rows: Relation, times: Sequence[str] = (), by: Mapping[str, str] = NOTHING
    ) -> Part:
        """Write rows to a path that nothing else writes to, and return the part. Rows of state stay in memory."""
        place = files.here / path
        # An earlier attempt at the same step may have left something.
        files.delete(path)
        place.mkdir(parents=True)
        state = files is self._files and path.startswith("state/")
        if state or by:
            return self._write(files, path, local(rows), times, by, state=state)
        sink, began = (files.root, path.rpartition("/")[0]), monotonic()
        pieces = local(rows).pieces or (local(rows),)
        lookups = any(piece.lookup is not None for piece in pieces)
        divided = self._seconds.get(sink, 0.0) > LONG and (self._many or not lookups)
        found = None
        if divided or (lookups and self._many):
            found = write_pieces(self._backend, pieces, place, divided=divided)
        if found is None:
            part = self._write(files, path, local(rows))
            # What cannot be divided now is not tried again in the next step.
            self._seconds[sink] = 0.0 if divided else monotonic() - began
            return part
        count, shares = found
        self._seconds[sink] = 0.0 if divided and shares == 1 else (monotonic() - began) * shares
        return self._done(files, path, count)

    @property
    def _many(self) -> bool:
        """Whether there are so many new rows, or rows that were read, that there may be many answers."""
        return max(self.new, self._most_read) > VERY_FEW

    def _write(
        self,
        files: Files,
        path: str,
        rows: LocalRelation,
        times: Sequence[str] = (),
        by: Mapping[str, str] = NOTHING,
        *,
        state: bool = False,
    ) -> Part:
        """Write rows that are computed all at once."""
        place = files.here / path
        # Many rows give many results. Trying first whether they are few would compute them twice.
        many = self.new > FEW or (
            path.rpartition("/")[2].partition("-")[2].startswith("fold") and self._read_rows > FEW
        )
        few = None if many else _few_rows(self._backend, rows, times, new=self.new)
        if by:
            few_rows = None if few is None else few[0]
            return self._done(files, path, write_apart(self._backend, rows, few_rows, place, by))
        if few is not None:
            return self._write_few(files, path, *few, rows.columns if state else None)
        if not state:
            return self._done(files, path, copy_rows(self._backend, rows, place / FILE))
        table = self._backend.held(rows)
        held = self._backend.table_rows(table, rows.columns)
        calls = {"rows": call("count", "*")}
        for i, sql in enumerate(times):
            calls |= {f"last{i}": call("max", sql), f"first{i}": call("min", sql)}
        seen = held.group({}, calls).few()
        if not seen:
            self._backend.drop(table)
            return self._done(files, path, 0)
        copy_rows(self._backend, held, place / FILE)
        self._tables[path] = table
        last, first = (tuple(seen[0][f"{end}{i}"] for i in range(len(times))) for end in ("last", "first"))
        return self._done(files, path, seen[0]["rows"], last, first)

    def _write_few(
        self, files: Files, path: str, rows: pa.Table, seen: pa.Table, state: tuple[Column, ...] | None
    ) -> Part:
        """Write a few rows; return the part. If they are state, with the columns ``state``, they stay in memory."""
        if rows.num_rows:
            write_few(rows, files.here / path / FILE)
        if rows.num_rows and state is not None:
            if rows.nbytes <= LIGHT:
                self._small[path] = rows
            else:
                name = self._backend.hold(rows)
                self._tables[path] = self._backend.held(_as_written(self._backend, name, state))
                self._backend.release(name)
        elif rows.num_rows:
            self._written[files.path(path)] = rows
        ends = [pc.min_max(column) for column in seen.columns]
        last, first = (tuple(end[name].as_py() for end in ends) for name in ("max", "min"))
        return self._done(files, path, rows.num_rows, last, first)

    def forget(self, kept: Collection[str] = ()) -> None:
        """Release the caches of all parts except some."""
        for path in [path for path in self._tables if path not in kept]:
            self._backend.drop(self._tables.pop(path))
        for path in [path for path in self._small if path not in kept]:
            del self._small[path]
        for name in self._named.values():
            self._backend.release(name)
        self._named.clear()

    def _read(self, part: Part, shape: tuple[Column, ...]) -> Relation:
        if part.path not in self._tables:
            check_part(self._files, part)
            paths = [self._files.here / part.path / entry.name for entry in part.files]
            self._tables[part.path] = self._backend.held(file_rows(self._backend, paths, shape))
        return self._backend.table_rows(self._tables[part.path], shape)

    def _concatenated(self, paths: tuple[str, ...], shape: tuple[Column, ...]) -> Relation:
        """Return the rows of small parts with one schema."""
        if paths not in self._named:
            self._named[paths] = self._backend.hold(pa.concat_tables([self._small[path] for path in paths]))
        return _as_written(self._backend, self._named[paths], shape)

    def _done(
        self,
        files: Files,
        path: str,
        count: int,
        last: tuple[int | None, ...] = (),
        first: tuple[int | None, ...] = (),
    ) -> Part:
        if not count:
            # No commit names an empty part, so it would never be deleted.
            files.delete(path)
            return Part(path, 0)
        return Part(path, count, _known(last), _known(first), measured(files, path, count))


def _known(times: tuple[int | None, ...]) -> tuple[int, ...] | None:
    """Return the times if all are known; else None."""
    # Decimals here are always whole numbers.
    found = tuple(int(time) for time in times if time is not None)
    return found if found and len(found) == len(times) else None


def _few_rows(
    backend: LocalBackend, rows: LocalRelation, times: Sequence[str], *, new: int
) -> tuple[pa.Table, pa.Table] | None:
    """Return rows in their written form, and the values of ``times`` separately; None if there are many rows.

    ``new`` is the number of new rows that they are computed from.
    """
    seen = [f"__seen{i}" for i in range(len(times))]
    whole = rows.with_columns(dict(zip(seen, times, strict=True)))
    wide = {column.name for column in whole.columns if column.type == WIDE}
    columns = [*rows.columns, *(Column(name, WIDE if name in wide else "BIGINT") for name in seen)]
    numbers = as_numbers(columns) if new <= VERY_FEW else None
    found = (
        backend.picked(whole, ", ".join([picked(rows.columns), *seen]), most=FEW + 1).to_arrow_table()
        if numbers is None
        else table_of_few(backend.fetched(whole, numbers, most=FEW + 1), columns)
    )
    return (found.drop_columns(seen), found.select(seen)) if found.num_rows <= FEW else None


def file_rows(backend: LocalBackend, paths: Sequence[Path], shape: Sequence[Column]) -> LocalRelation:
    """Return the rows of Parquet files that we have written."""
    return _as_written(backend, parquet_files(paths), shape)


def _as_written(backend: LocalBackend, table: str, shape: Sequence[Column]) -> LocalRelation:
    """Return rows from their written form."""
    written = {"TIMESTAMP": "TIMESTAMP WITH TIME ZONE"}
    columns = [
        f"{unzoned(name, written.get(type_, ''), type_)} AS {name}"
        for name, type_ in ((duckdb_name(c.name), c.type or "") for c in shape)
    ]
    body = f"SELECT {', '.join(columns) or NO_COLUMN} FROM {table}"
    return LocalRelation(backend, backend.fresh_name(), body, tuple(shape))
