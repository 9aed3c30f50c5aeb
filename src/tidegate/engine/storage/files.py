"""Small files and directories of a checkpoint, on a local disk."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tidegate.engine.storage.disk import UNFINISHED, create, make, sync, write_hidden
from tidegate.engine.storage.errors import BadCheckpoint, UnfitFileSystem
from tidegate.engine.storage.sealed import opened, sealed
from tidegate.flow.errors import NotSupported

__all__ = ["Files", "is_hidden"]

_RESTORE = "the file was cut short or changed: restore it from a copy, or begin with a new checkpoint and other outputs"


class Files:
    """A directory. All names are paths below it, with slashes. A backend may have a subclass, for example for HDFS."""

    #: The directory, with its scheme.
    root: str

    def __init__(self, root: Path) -> None:
        self.here = root.absolute()
        self.root = f"file:{self.here}"
        #: Directories that exist and were synced, or are about to be.
        self._kept: set[Path] = set()
        #: The files of growing directories at the last call of `unsynced`.
        self._grown: dict[str, set[Path]] = {}

    @property
    def local(self) -> Path | None:
        """The local path of the directory; None if it is not on a local disk."""
        return self.here

    def at(self, root: str) -> Files:
        """Return another directory on a local disk."""
        if "://" in root.removeprefix("file://"):
            raise NotSupported(f"expected a directory on a disk of this machine, got {root}")
        return Files(Path(root.removeprefix("file:")))

    def check_fit(self, path: str, what: str) -> None:
        """Raise if a path is on a file system that is not fit for ``what``. Nothing is accessed."""
        if "://" in path.removeprefix("file://"):
            raise UnfitFileSystem(
                f"expected {what} on a disk of this machine, got {path}",
                hint="a path of this machine; or run it on Spark, which also writes to HDFS",
            )

    def path(self, name: str = "") -> str:
        """Return the full path of a name."""
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str) -> bool:
        """Whether there is a file or a directory of that name."""
        return (self.here / name).exists()

    def is_directory(self, name: str) -> bool:
        """Whether there is a directory of that name."""
        return (self.here / name).is_dir()

    def names(self, name: str = "") -> list[str]:
        """Return the names in a directory except hidden ones; an empty list if it does not exist."""
        return sorted(self.sizes(name))

    def sizes(self, name: str = "") -> dict[str, int]:
        """Return the size in bytes of each file in a directory, -1 for directories. Hidden names are left out."""
        found: dict[str, int] = {}
        try:
            with os.scandir(self.here / name) as entries:
                for entry in entries:
                    # A file may be deleted after it was listed. It is then left out.
                    with suppress(FileNotFoundError):
                        if not is_hidden(entry.name):
                            found[entry.name] = -1 if entry.is_dir() else entry.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return found

    def end(self, name: str, count: int) -> bytes:
        """Return the last ``count`` bytes of a file, or all if it has fewer."""
        with (self.here / name).open("rb") as file:
            file.seek(-min(count, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return file.read()

    def checksum(self, name: str) -> int | None:
        """Return the CRC-32 of a file; None if it is not on a local disk, where reading it would cost too much."""
        found = 0
        with (self.here / name).open("rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                found = zlib.crc32(chunk, found)
        return found

    def unsynced(self, directories: Iterable[str], growing: Iterable[str] = ()) -> set[Path]:
        """Return the files and directories that may not be on the disk yet: directories, their contents and parents.

        Of ``growing`` directories, only what is new since the last call is returned. On other file systems than local
        disks there is nothing to sync: a closed file is where the file system keeps it.
        """
        paths: set[Path] = set()
        for name in directories:
            place = self.here / name
            # The parent directory has one more entry now.
            paths |= {place, *_inside(place), place.parent}
            for above in place.parents:
                if above in self._kept or not (above == self.here or self.here in above.parents):
                    break
                # A directory that is new is a new entry of its parent.
                paths |= {above, above.parent} if above != self.here else {above}
                self._kept.add(above)
        for name in growing:
            place = self.here / name
            there = set(place.iterdir()) if place.is_dir() else set()
            if new := there - self._grown.get(name, set()):
                paths |= {place, *new}
            # Only what exists now is remembered: Spark deletes old records, so this stays small.
            self._grown[name] = there
        return paths

    def sync_names(self, directory: str) -> None:
        """Wait until the names in a directory are on the disk, if it is a local one."""
        sync([self.here / directory])

    def numbers(self, name: str) -> list[int]:
        """Return the names in a directory that are numbers, the greatest first."""
        return sorted((int(n) for n in self.names(name) if n.isascii() and n.isdecimal()), reverse=True)

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file from JSON or text, whole or not at all; return False if it existed before.

        JSON gets a checksum of itself. ``midway`` is called after the content is written and before the file appears.
        """
        return create(self.here / name, content if isinstance(content, str) else sealed(content), midway)

    def replace(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a JSON file. Readers find the old content or the new content, never a mix."""
        hidden = write_hidden(self.here / name, sealed(content))
        hidden.replace(self.here / name)
        sync([(self.here / name).parent])

    def put(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file into a directory that nothing reads yet."""
        (self.here / name).write_text(sealed(content), encoding="utf-8")

    def make(self, name: str) -> None:
        """Make a directory if it does not exist."""
        make(self.here / name)

    def read(
        self, name: str, what: str, keys: Mapping[str, Any], *, hint: str = _RESTORE, required: bool = False
    ) -> dict[str, Any]:
        """Return the JSON object in a file; raise if it is not valid, or lacks one of the ``keys`` with its type.

        ``what`` names it in errors. Its checksum must be right. Files of earlier versions have none, which is an error
        only if it is ``required``.
        """
        try:
            found = json.loads(self.text(name) or "null")
            found = opened(found, required=required) if isinstance(found, dict) else found
        except ValueError as error:
            raise self._not(name, what, keys, f"something that can't be read: {error}", hint) from None
        except OSError as error:
            got = f"something that can't be read: {error}" if self.exists(name) else "no file"
            raise self._not(name, what, keys, "a directory" if self.is_directory(name) else got, hint) from None
        self.expect(name, what, found, keys, hint=hint)
        return dict(found)

    def expect(self, name: str, what: str, found: Any, keys: Mapping[str, Any], *, hint: str = _RESTORE) -> None:
        """Raise if the content of a file is not an object with values of these types."""
        if wrong := _difference(found, keys):
            raise self._not(name, what, keys, wrong, hint)

    def _not(self, name: str, what: str, keys: Mapping[str, Any], got: str, hint: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"expected {what} in {self.path(name)}, a file of JSON with {', '.join(keys)}; got {got}", hint=hint
        )

    def text(self, name: str) -> str:
        """Return the content of a file as text."""
        return (self.here / name).read_text(encoding="utf-8")

    def verified_text(self, name: str) -> str:
        """Return the content of a file, verified by the checksum that the writer's file system keeps, if it has one."""
        return self.text(name)

    def rename(self, name: str, to: str) -> bool:
        """Move a file or directory to a name that is free; return whether that was possible."""
        if self.exists(to) or not self.exists(name):
            return False
        place = self.here / to
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            (self.here / name).rename(place)
        except FileNotFoundError:
            return False
        return True

    def delete(self, name: str) -> None:
        """Delete a file, or a directory with its contents. If it does not exist, nothing happens."""
        place = self.here / name
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)

    def sweep(self, name: str, *, before: float) -> None:
        """Delete the temporary files of writers that died before their file was complete.

        Only those last written ``before`` a time are deleted: newer ones may belong to a writer that is still running.
        """
        for path in (self.here / name).glob(f".*{UNFINISHED}"):
            # The writer may have finished just now.
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        os.utime(self.here / name)

    def written(self, name: str) -> float:
        """Return when a file was written or touched last, in seconds, by the clock of its file system."""
        return (self.here / name).stat().st_mtime


def _inside(place: Path) -> Iterator[Path]:
    """Return the contents of a directory and of its subdirectories."""
    for path in place.iterdir():
        yield path
        if path.is_dir():
            yield from _inside(path)


def is_hidden(name: str) -> bool:
    """Whether readers such as Spark ignore a name."""
    return name.startswith((".", "_"))


def _difference(found: Any, keys: Mapping[str, Any]) -> str:
    """Return in words how a value is not an object with values of these types; empty if it is one.

    >>> _difference({"id": 3}, {"id": str}), _difference(None, {"id": str}), _difference({"id": "a"}, {"id": str})
    ("3 (int) for 'id'", 'an empty file', '')
    """
    if found is None:
        return "an empty file"
    if not isinstance(found, dict):
        return f"{type(found).__name__}: {str(found)[:80]!r}"
    for key, type_ in keys.items():
        if key not in found:
            return f"an object without {key!r}"
        # In Python, True and False are ints, too.
        if not isinstance(found[key], type_) or (isinstance(found[key], bool) and type_ is not bool):
            return f"{found[key]!r} ({type(found[key]).__name__}) for {key!r}"
    return ""
