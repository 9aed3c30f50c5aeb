"""Lists of the Parquet files of a directory, by which it is checked that they are still what was written.

Spark reads what it finds: a file that is missing or empty has no rows for it, and there is no error. So a commit names
each file with its size, its number of rows and a checksum of its footer, which describes the rest of the file. On a
local disk it has a checksum of the whole file, too. Sizes and footers are cheap to check, and are checked whenever
files are read. Whole files are checked when a run starts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.partitions import is_partition

__all__ = ["FileEntry", "check_files", "damage", "damaged", "list_files", "located", "measured"]

# Most footers fit into this many bytes, so one read is enough.
_FOOTER = 8192


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A Parquet file: its name, its number of bytes and rows, and the CRC-32 of its footer and of the whole file.

    The name of a file in a partition directory begins with that of the directory.
    """

    name: str
    bytes: int
    rows: int
    footer: int
    #: None on remote file systems, where files are not read a second time.
    whole: int | None = None


def list_files(files: Files, directory: str) -> tuple[FileEntry, ...]:
    """Return the entries of a directory of Parquet files that were just written."""
    return tuple(_measured(files, directory, name, size) for name, size in sorted(_sizes(files, directory).items()))


def _sizes(files: Files, directory: str) -> dict[str, int]:
    """Return the size of each file in a directory and in its partition directories, by relative path."""
    found: dict[str, int] = {}
    for name, size in files.sizes(directory).items():
        if size < 0 and is_partition(name):
            found |= {f"{name}/{inner}": bytes_ for inner, bytes_ in _sizes(files, f"{directory}/{name}").items()}
        else:
            found[name] = size
    return found


def measured(files: Files, directory: str, rows: int) -> tuple[FileEntry, ...]:
    """Return the entries of the files that Spark wrote; raise unless they have as many rows as it reported."""
    found = list_files(files, directory)
    seen = sum(entry.rows for entry in found)
    if seen != rows:
        raise BadCheckpoint(
            f"{rows:,} rows were written to {files.path(directory)}, and {seen:,} of them can be seen there",
            hint="does each worker write to a disk of its own? take a directory that the driver and all workers share, "
            "for the checkpoint and for outputs",
        )
    return found


def damage(files: Files, directory: str, entries: Iterable[FileEntry], *, whole: bool = False) -> list[str]:
    """Return how the files of a directory differ from what was written, a text for each difference.

    ``whole`` checks the whole of each file that has such a checksum.
    """
    found = _sizes(files, directory)
    named = {entry.name: entry for entry in entries}
    lines = [f"{name} was put there" for name in found if name not in named]
    for name, entry in named.items():
        difference = _difference(files, f"{directory}/{name}", entry, found.get(name), whole=whole)
        lines += [f"{name} {difference}"] if difference else []
    return lines


def check_files(files: Files, directory: str, entries: Iterable[FileEntry], what: str, *, whole: bool = False) -> None:
    """Raise if the files of a directory are not what was written; ``what`` names them in the error."""
    if lines := damage(files, directory, entries, whole=whole):
        raise damaged(what, files.path(directory), lines)


def damaged(what: str, place: str, lines: Sequence[str]) -> BadCheckpoint:
    """Return the error for files that are not what was written."""
    more = f"; and {len(lines) - 5} more" if len(lines) > 5 else ""
    return BadCheckpoint(
        f"{what} in {place} is not what was written: {'; '.join(lines[:5])}{more}",
        hint="nothing was deleted, and nothing is answered from it; restore it from a copy, "
        "or begin with a new checkpoint and other outputs",
    )


def located(
    files: Files, entries: Sequence[FileEntry], first: str, second: str, what: str, *, whole: bool = False
) -> dict[str, list[FileEntry]]:
    """Return which files are intact in which of two directories, the second if both; raise if one is in neither.

    A file that is moved from the first to the second in the meantime is found.
    """
    found, lines = _located(files, entries, first, second, whole=whole)
    if lines:
        # A file that was listed in the first directory may have been moved before it was checked.
        found, lines = _located(files, entries, first, second, whole=whole)
    if lines:
        raise damaged(what, files.path(first), lines)
    return found


def _located(
    files: Files, entries: Iterable[FileEntry], first: str, second: str, *, whole: bool
) -> tuple[dict[str, list[FileEntry]], list[str]]:
    there = {directory: _sizes(files, directory) for directory in (first, second)}
    found: dict[str, list[FileEntry]] = {first: [], second: []}
    named, lines = set(), []
    for entry in entries:
        named.add(entry.name)
        difference = {}
        for directory in (second, first):
            size = there[directory].get(entry.name)
            difference[directory] = _difference(files, f"{directory}/{entry.name}", entry, size, whole=whole)
            if not difference[directory]:
                found[directory].append(entry)
                break
        else:
            lines.append(f"{entry.name} {difference[first]}, and in {files.path(second)} it {difference[second]}")
    lines += [f"{name} was put into {files.path(second)}" for name in there[second] if name not in named]
    return found, lines


def _difference(files: Files, path: str, entry: FileEntry, size: int | None, *, whole: bool) -> str:
    """Return how a file differs from what was written; empty if it does not."""
    if size is None:
        return "is missing"
    if size != entry.bytes:
        return f"has {size:,} bytes, expected {entry.bytes:,}" if size >= 0 else "is a directory"
    try:
        if zlib.crc32(_footer(files, path)) != entry.footer:
            return "has another footer"
        if whole and entry.whole is not None and files.checksum(path) != entry.whole:
            return "has other bytes"
    except (ValueError, OSError) as error:
        return f"cannot be read ({error})"
    return ""


def _measured(files: Files, directory: str, name: str, size: int) -> FileEntry:
    path = f"{directory}/{name}"
    try:
        footer = _footer(files, path)
        rows = pq.read_metadata(pa.BufferReader(footer)).num_rows
    except (ValueError, OSError) as error:
        raise damaged("a Parquet file", files.path(directory), [f"{name} cannot be read ({error})"]) from None
    return FileEntry(name, size, rows, zlib.crc32(footer), files.checksum(path))


def _footer(files: Files, path: str) -> bytes:
    """Return the footer of a Parquet file, followed by its length and the magic bytes that end the file."""
    found = files.end(path, _FOOTER)
    if found[-4:] != b"PAR1":
        raise ValueError("it does not end as a Parquet file does")
    length = int.from_bytes(found[-8:-4], "little") + 8
    if length > len(found):
        found = files.end(path, length)
    if length > len(found):
        raise ValueError("its footer is cut off")
    return found[-length:]
