"""Small files and directories of a checkpoint, on a disk of this machine."""

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
    """A directory: all paths are below it, written with slashes. A backend may have others, as on HDFS."""

    #: The directory, with its scheme.
    root: str

    def __init__(self, root: Path) -> None:
        self.here = root.absolute()
        self.root = f"file:{self.here}"
        #: Directories that were synced, or are about to be: they are there.
        self._kept: set[Path] = set()
        #: What was in growing directories the last time.
        self._grown: dict[str, set[Path]] = {}

    @property
    def local(self) -> Path | None:
        """Where it is on a disk of this machine; None if it is not."""
        return self.here

    def at(self, root: str) -> Files:
        """Return another directory on a disk of this machine."""
        if "://" in root.removeprefix("file://"):
            raise NotSupported(f"expected a directory on a disk of this machine, got {root}")
        return Files(Path(root.removeprefix("file:")))

    def check_fit(self, path: str, what: str) -> None:
        """Refuse a path for ``what`` where a run could not keep its promises; nothing of it is accessed."""
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
        """Return the names in a directory, hidden ones left out; none if it is not there."""
        return sorted(self.sizes(name))

    def sizes(self, name: str = "") -> dict[str, int]:
        """Return the bytes of each file in a directory, -1 for a directory; hidden ones are left out."""
        found: dict[str, int] = {}
        try:
            with os.scandir(self.here / name) as entries:
                for entry in entries:
                    # One that was deleted since it was listed is not there. The others are.
                    with suppress(FileNotFoundError):
                        if not is_hidden(entry.name):
                            found[entry.name] = -1 if entry.is_dir() else entry.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return found

    def end(self, name: str, count: int) -> bytes:
        """Return the last bytes of a file: so many, or all if it has fewer."""
        with (self.here / name).open("rb") as file:
            file.seek(-min(count, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return file.read()

    def checksum(self, name: str) -> int | None:
        """Return the CRC-32 of a file; None if it is not on a disk of this machine, and costs too much to read."""
        found = 0
        with (self.here / name).open("rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                found = zlib.crc32(chunk, found)
        return found

    def unsynced(self, directories: Iterable[str], growing: Iterable[str] = ()) -> set[Path]:
        """Return directories, what is in them and the way to them, as far as it may not be on the disk yet.

        Of ``growing`` directories, only what was not there the last time. If this is not a disk of this machine, there
        is nothing to sync: a file that is closed is where the file system wants to keep it.
        """
        paths: set[Path] = set()
        for name in directories:
            place = self.here / name
            # The directory that it is in has one more entry now.
            paths |= {place, *_inside(place), place.parent}
            for above in place.parents:
                if above in self._kept or not (above == self.here or self.here in above.parents):
                    break
                # One that was made since is an entry of the one above it.
                paths |= {above, above.parent} if above != self.here else {above}
                self._kept.add(above)
        for name in growing:
            place = self.here / name
            there = set(place.iterdir()) if place.is_dir() else set()
            if new := there - self._grown.get(name, set()):
                paths |= {place, *new}
            # Only what is there now: Spark deletes old records, and the run goes on.
            self._grown[name] = there
        return paths

    def sync_names(self, directory: str) -> None:
        """Wait until the names in a directory are on the disk, if it is one of this machine."""
        sync([self.here / directory])

    def numbers(self, name: str) -> list[int]:
        """Return the names in a directory that are numbers, the greatest first."""
        return sorted((int(n) for n in self.names(name) if n.isascii() and n.isdecimal()), reverse=True)

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file of JSON, or of a text, whole or not at all; return whether it was not there before.

        JSON has a checksum of itself. ``midway`` is called when the content is written and the file is not there yet.
        """
        return create(self.here / name, content if isinstance(content, str) else sealed(content), midway)

    def replace(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file of JSON anew: whoever reads it finds the old content or the new, whole."""
        hidden = write_hidden(self.here / name, sealed(content))
        hidden.replace(self.here / name)
        sync([(self.here / name).parent])

    def put(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file of JSON into a directory that nobody looks into yet."""
        (self.here / name).write_text(sealed(content), encoding="utf-8")

    def make(self, name: str) -> None:
        """Make a directory, unless it is there."""
        make(self.here / name)

    def read(
        self, name: str, what: str, keys: Mapping[str, Any], *, hint: str = _RESTORE, required: bool = False
    ) -> dict[str, Any]:
        """Return the JSON object in a file, which is ``what`` and has values of these types; raise if it is not.

        It must be what was written, by its checksum; one that earlier versions wrote has none, unless it is
        ``required``.
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
        """Raise if what was found in a file is not an object with values of these types."""
        if wrong := _difference(found, keys):
            raise self._not(name, what, keys, wrong, hint)

    def _not(self, name: str, what: str, keys: Mapping[str, Any], got: str, hint: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"expected {what} in {self.path(name)}, a file of JSON with {', '.join(keys)}; got {got}", hint=hint
        )

    def text(self, name: str) -> str:
        """Return the content of a file as it is."""
        return (self.here / name).read_text(encoding="utf-8")

    def verified_text(self, name: str) -> str:
        """Return the content of a file as who wrote it reads it, where that knows a checksum of its own."""
        return self.text(name)

    def rename(self, name: str, to: str) -> bool:
        """Move a file or a directory to a name that is free; return whether that was possible."""
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
        """Delete a file, or a directory and all that is in it; nothing if there is none."""
        place = self.here / name
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)

    def sweep(self, name: str, *, before: float) -> None:
        """Delete what is left in a directory of files whose writers died before they were there.

        Only what was written ``before`` a time: what is newer may be of a writer that lives.
        """
        for path in (self.here / name).glob(f".*{UNFINISHED}"):
            # The writer may be done with it just now.
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
    """Return what is in a directory, and in those in it."""
    for path in place.iterdir():
        yield path
        if path.is_dir():
            yield from _inside(path)


def is_hidden(name: str) -> bool:
    """Whether a name is one that readers overlook."""
    return name.startswith((".", "_"))


def _difference(found: Any, keys: Mapping[str, Any]) -> str:
    """Return what is wrong with a value that should be an object with values of these types; nothing if it is one.

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
        if not isinstance(found[key], type_):
            return f"{found[key]!r} ({type(found[key]).__name__}) for {key!r}"
    return ""
