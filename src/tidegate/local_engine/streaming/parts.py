"""Parts of state as Parquet files; tables of DuckDB are a cache of them, from step to step.

What a step reads is in the parts that the last commit names, whether a table has it or not: a cache is lost without
harm. DuckDB holds as much of it in memory as it may, and the rest in files of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation, united
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import measured
from tidegate.engine.storage.state import Part, check_part
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.paths import parquet_files
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation, local
from tidegate.local_engine.types import unzoned, zoned

__all__ = ["FEW", "LocalParts", "file_rows", "write_file"]

_FILE = "part-0.parquet"
#: How many rows Arrow writes faster than DuckDB does, and waits for the disk.
FEW = 50_000


class LocalParts:
    """The parts of a checkpoint, and the tables that hold some of them."""

    def __init__(self, files: Files, backend: LocalBackend) -> None:
        self._files = files
        self._backend = backend
        self._tables: dict[str, str] = {}
        #: Whether a step has few new rows, and so few answers, as a rule.
        self.few = False

    def read(self, parts: Sequence[Part], shape: tuple[Column, ...], *, coalesced: bool = False) -> Relation:  # noqa: ARG002
        """Return the rows of some parts."""
        if not parts:
            return self._backend.nothing(shape)
        return united([self._read(part, shape) for part in parts])

    def read_cached(self, parts: Sequence[Part], shape: tuple[Column, ...]) -> Relation:
        """Return the rows of some parts: all stay in memory, as far as there is some."""
        return self.read(parts, shape)

    def write(self, files: Files, path: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows under a path that nobody else writes to; those of state stay in a table."""
        place = files.here / path
        # What an attempt at the same step has left.
        files.delete(path)
        place.mkdir(parents=True)
        if files is not self._files or not path.startswith("state/"):
            return self._done(files, path, write_file(self._backend, local(rows), place / _FILE, few=self.few))
        self._tables[path] = self._backend.held(rows)
        calls = {"rows": call("count", "*")}
        for i, sql in enumerate(times):
            calls |= {f"last{i}": call("max", sql), f"first{i}": call("min", sql)}
        held = self._backend.table_rows(self._tables[path], local(rows).columns)
        seen = held.group({}, calls).few()
        if not seen:
            self._backend.drop(self._tables.pop(path))
            return self._done(files, path, 0)
        write_file(self._backend, held, place / _FILE, few=seen[0]["rows"] <= FEW)
        last, first = (tuple(seen[0][f"{end}{i}"] for i in range(len(times))) for end in ("last", "first"))
        known = bool(times) and None not in last
        return self._done(files, path, seen[0]["rows"], last if known else None, first if known else None)

    def forget(self, kept: Collection[str] = ()) -> None:
        """Drop the tables of parts, but for some."""
        for path in [path for path in self._tables if path not in kept]:
            self._backend.drop(self._tables.pop(path))

    def _read(self, part: Part, shape: tuple[Column, ...]) -> Relation:
        if part.path not in self._tables:
            check_part(self._files, part)
            paths = [self._files.here / part.path / entry.name for entry in part.files]
            self._tables[part.path] = self._backend.held(file_rows(self._backend, paths, shape))
        return self._backend.table_rows(self._tables[part.path], shape)

    def _done(
        self,
        files: Files,
        path: str,
        count: int,
        last: tuple[int, ...] | None = None,
        first: tuple[int, ...] | None = None,
    ) -> Part:
        if not count:
            # No commit names an empty part, and so nobody would clean it away.
            files.delete(path)
            return Part(path, 0)
        return Part(path, count, last, first, measured(files, path, count))


def write_file(backend: LocalBackend, rows: LocalRelation, to: Path, *, few: bool) -> int:
    """Write rows to a Parquet file, in the form that every engine reads; return how many.

    ``few`` says that there should not be many. DuckDB waits until its file is on the disk, one after the other: few
    rows are written by Arrow, and the step waits for all of its files at a time.
    """
    names = [(duckdb_name(c.name), c.type or "") for c in rows.columns]
    picked = ", ".join(f"{zoned(name, type_)} AS {name}" for name, type_ in names) or NO_COLUMN
    if few:
        found = backend.picked(rows, picked, most=FEW + 1).to_arrow_table()
        if found.num_rows <= FEW:
            # Readers that go by what Arrow writes of the values of a column would overlook NaN.
            numbers = any("FLOAT" in type_ or "DOUBLE" in type_ for _, type_ in names)
            pq.write_table(found, to, store_schema=False, write_statistics=not numbers)
            return int(found.num_rows)
    return backend.copied(rows, picked, str(to).replace("'", "''"))


def file_rows(backend: LocalBackend, paths: Sequence[Path], shape: Sequence[Column]) -> LocalRelation:
    """Return the rows of Parquet files of ours."""
    written = {"TIMESTAMP": "TIMESTAMP WITH TIME ZONE"}
    columns = [
        f"{unzoned(name, written.get(type_, ''), type_)} AS {name}"
        for name, type_ in ((duckdb_name(c.name), c.type or "") for c in shape)
    ]
    body = f"SELECT {', '.join(columns) or NO_COLUMN} FROM {parquet_files(paths)}"
    return LocalRelation(backend, backend.fresh_name(), body, tuple(shape))
