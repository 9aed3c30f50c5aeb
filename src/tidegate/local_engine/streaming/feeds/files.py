"""Files that appear under a path. Each is read once, and then recorded by its path, size and time of change.

It would not be enough to record the greatest name or time: files may come late, from machines whose clocks disagree,
under any name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import has_magic, iglob
from typing import Any

import pyarrow as pa

from tidegate.engine.formats import input_format
from tidegate.engine.relation import Relation
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.flow.arguments import checked_path
from tidegate.flow.errors import BadArgument, BadInput
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.inputs import rows_of_files
from tidegate.local_engine.paths import place_of
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows

__all__ = ["FileFeed", "FileStream", "files"]

_FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True, slots=True)
class FileStream:
    """Files as an input of `start`: see `files`."""

    pattern: str
    format: str | None = None
    per_step: int | None = None


def files(pattern: str | os.PathLike[str], format: str | None = None, per_step: int | None = None) -> FileStream:
    """Read each file that appears under a path once, in the order of the times at which they were changed.

    ``pattern`` is a file, a directory, or a pattern such as ``in/*.parquet``. The ``format`` is told by the end of the
    name, unless it is given. ``per_step`` is how many files a step reads at most; by default, all that are new. Names
    that begin with ``.`` or ``_`` are ignored. So write a file under such a name, and rename it when it is whole. A
    file that was read may be deleted, and must not change.

    >>> files("/data/*.csv", per_step=10)
    FileStream(pattern='/data/*.csv', format=None, per_step=10)
    """
    path = checked_path(pattern, "files(…)", hint='tg.files("in/*.parquet")')
    if "://" in path.removeprefix("file://"):
        raise BadArgument(f"expected a path on this machine in files(…), got {path}", hint='tg.files("in/*.parquet")')
    if format is not None and format not in _FORMATS:
        raise BadArgument(f"expected a format ({', '.join(_FORMATS)}) in files(…), got {format!r}")
    if per_step is not None and (not isinstance(per_step, int) or isinstance(per_step, bool) or per_step < 1):
        raise BadArgument(f"expected a number of files, 1 or more, as per_step of files(…), got {per_step!r}")
    return FileStream(os.path.abspath(place_of(path)), format, per_step)


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    """A file: when it was changed, in nanoseconds, its path and its size."""

    changed: int
    path: str
    size: int


class FileFeed(Feed):
    """A feed of files. The files that were read are in its notes."""

    kind = "files"
    notes = {"path": "STRING", "size": "BIGINT", "changed": "BIGINT"}  # noqa: RUF012

    def __init__(self, source: Source, backend: LocalBackend, given: FileStream) -> None:
        super().__init__(source, backend)
        self._given = given
        self._files_read: dict[str, _Found] = {}
        #: The files to read, if the feed is limited to those that exist now.
        self._bounds: set[str] | None = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:
        """Restore the set of files that were read. Raise if the notes do not name all of them."""
        rows = noted.to_pylist() if noted is not None else []
        if position is not None and position.get("files") != len(rows):
            # Files that are not named would be read again.
            raise BadCheckpoint(
                f"expected the names of the {position.get('files')} files that were read, got {len(rows)}",
                hint="the checkpoint was changed after it was written: restore it from a copy, or begin with a new "
                "checkpoint and output",
            )
        self._files_read = {row["path"]: _Found(row["changed"], row["path"], row["size"]) for row in rows}

    @property
    def position(self) -> dict[str, int]:
        """The number of files that were read. The files themselves are in the notes."""
        return {"files": len(self._files_read)}

    def bound(self) -> None:
        """Limit the feed to the files that exist now."""
        self._bounds = {found.path for found in self._new()}

    def read_new(self) -> NewRows | None:
        """Return the rows of files that are new."""
        new = (file for file in self._new() if self._bounds is None or file.path in self._bounds)
        found = sorted(new)[: self._given.per_step]
        if not found:
            return None
        kinds: dict[str, list[str]] = {}
        for file in found:
            kinds.setdefault(self._given.format or input_format(file.path), []).append(file.path)
        parts = [rows_of_files(self.backend, self.source, kind, paths) for kind, paths in kinds.items()]
        rows: Relation = parts[0]
        for part in parts[1:]:
            rows = rows.union(part, fill=True)
        noted = pa.table(
            {
                "path": [file.path for file in found],
                "size": pa.array([file.size for file in found], pa.int64()),
                "changed": pa.array([file.changed for file in found], pa.int64()),
            }
        )
        return NewRows(rows, {"files": len(self._files_read) + len(found)}, noted, found)

    def check_read(self, new_rows: NewRows) -> None:
        """Raise if a file changed while it was read."""
        for file in new_rows.own:
            now = _stat(file.path)
            if now != file:
                raise self._changed(file, now)

    def committed(self, new_rows: NewRows) -> None:
        """Record the files as read."""
        self._files_read |= {file.path: file for file in new_rows.own}

    def _new(self) -> Iterator[_Found]:
        for path in _listed(self._given.pattern):
            found = _stat(path)
            if found is None:
                # It was deleted after it was listed.
                continue
            known = self._files_read.get(found.path)
            if known is None:
                yield found
            elif known != found:
                raise self._changed(known, found)

    def _changed(self, file: _Found, now: _Found | None) -> BadInput:
        became = f"{now.size:,} bytes" if now else "gone"
        return BadInput(
            f"expected files that do not change once they are there, got {file.path}, which had {file.size:,} bytes "
            f"and was {became} when it was checked again",
            hint="write a file under a name that begins with . or _, and rename it when it is whole; put what has "
            "changed into a new file",
        )


def _stat(path: str) -> _Found | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return _Found(found.st_mtime_ns, path, found.st_size)


def _listed(pattern: str) -> Iterator[str]:
    """Yield the files that a path, directory or pattern stands for, without hidden ones, each by its real path."""
    if os.path.exists(pattern):
        base, meant = pattern, iter([pattern])
    else:
        parts = pattern.split(os.sep)
        wild = next((i for i, part in enumerate(parts) if has_magic(part)), len(parts))
        base, meant = os.sep.join(parts[:wild]), iglob(pattern, recursive=True)
    seen = set()
    for found in meant:
        below = os.path.relpath(found, base).split(os.sep) if found != base else [os.path.basename(found)]
        if os.path.isdir(found):
            below = [part for part in below if found != base]
        if any(part.startswith((".", "_")) for part in below):
            continue
        for path in _files_in(found):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield real


def _files_in(place: str) -> Iterator[str]:
    """Yield a file, or the files in a directory that are not hidden."""
    if os.path.isfile(place):
        yield place
    for at, inner, names in os.walk(place):
        inner[:] = [name for name in inner if not name.startswith((".", "_"))]
        yield from (os.path.join(at, name) for name in names if not name.startswith((".", "_")))
