"""Small files and directories of a checkpoint: on a local disk, where no JVM is needed, and through Hadoop on HDFS."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.spark.jvm import classes, hadoop_settings
from tidegate.spark.streaming.disk import UNFINISHED, create, make, sync, write_hidden
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.sealed import opened, sealed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Files"]

_RESTORE = "the file was cut short or changed: restore it from a copy, or begin with a new checkpoint and other outputs"


class Files:
    """A directory: all paths are below it, written with slashes."""

    #: The directory, with its scheme.
    root: str
    #: The directory, if it is on a disk of this machine: nothing is asked of the JVM then.
    _here: Path | None
    #: Directories that were synced, or are about to be, and do not change any more.
    _kept: set[Path]
    #: What was in growing directories the last time.
    _grown: dict[str, set[Path]]

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._jvm = classes(spark)
        self._conf = hadoop_settings(spark)
        self._open(root)

    @classmethod
    def here(cls, root: Path) -> Files:
        """Return a directory on a disk of this machine, for whoever has no Spark."""
        found = cls.__new__(cls)
        found._here, found._kept, found._grown = root.absolute(), set(), {}
        found.root = f"file:{found._here}"
        return found

    def _open(self, root: str) -> None:
        given = self._jvm.org.apache.hadoop.fs.Path(root)
        self._fs = given.getFileSystem(self._conf)
        self.root = self._fs.makeQualified(given).toString()
        self._here = Path(self.root.removeprefix("file:")) if self.root.startswith("file:") else None
        self._kept, self._grown = set(), {}
        self._manager: Any = None
        self._others: dict[str, Files] = {}

    def at(self, root: str) -> Files:
        """Answer another directory; the configuration, which takes a while to make, is shared."""
        if root not in self._others:
            other = copy(self)
            other._open(root)
            self._others[root] = other
        return self._others[root]

    def path(self, name: str = "") -> str:
        """Answer the full path of a name."""
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str) -> bool:
        """Answer whether there is a file or a directory of that name."""
        if self._here:
            return (self._here / name).exists()
        return bool(self._fs.exists(self._path(name)))

    def is_directory(self, name: str) -> bool:
        """Whether there is a directory of that name."""
        if self._here:
            return (self._here / name).is_dir()
        return self.exists(name) and bool(self._fs.getFileStatus(self._path(name)).isDirectory())

    def names(self, name: str = "") -> list[str]:
        """Return the names in a directory, hidden ones left out; none if it is not there."""
        return sorted(self.sizes(name))

    def sizes(self, name: str = "") -> dict[str, int]:
        """Return the bytes of each file in a directory, -1 for a directory; hidden ones are left out."""
        if self._here:
            found: dict[str, int] = {}
            try:
                with os.scandir(self._here / name) as entries:
                    for entry in entries:
                        # One that was deleted since it was listed is not there. The others are.
                        with suppress(FileNotFoundError):
                            if not _hidden(entry.name):
                                found[entry.name] = -1 if entry.is_dir() else entry.stat().st_size
            except (FileNotFoundError, NotADirectoryError):
                return {}
            return found
        if not self.is_directory(name):
            return {}
        listed = {s.getPath().getName(): s for s in self._fs.listStatus(self._path(name))}
        return {n: -1 if s.isDirectory() else int(s.getLen()) for n, s in listed.items() if not _hidden(n)}

    def end(self, name: str, count: int) -> bytes:
        """Return the last bytes of a file: so many, or all if it has fewer."""
        if self._here:
            with (self._here / name).open("rb") as file:
                file.seek(-min(count, file.seek(0, os.SEEK_END)), os.SEEK_END)
                return file.read()
        with self._stream(name) as stream:
            size = int(self._fs.getFileStatus(self._path(name)).getLen())
            stream.seek(size - min(count, size))
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, min(count, size)))

    def checksum(self, name: str) -> int | None:
        """Return the CRC-32 of a file; None if it is not on a disk of this machine, and costs too much to read."""
        if not self._here:
            return None
        found = 0
        with (self._here / name).open("rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                found = zlib.crc32(chunk, found)
        return found

    def unsynced(self, directories: Iterable[str], growing: Iterable[str] = ()) -> set[Path]:
        """Return directories, what is in them and the way to them, as far as it may not be on the disk yet.

        Of ``growing`` directories, only what was not there the last time. If this is not a disk of this machine, there
        is nothing to sync: a file that is closed is where the file system wants to keep it.
        """
        paths: set[Path] = set()
        if not self._here:
            return paths
        for name in directories:
            place = self._here / name
            above = [p for p in place.parents if p == self._here or self._here in p.parents]
            # The directory that it is in has one more entry now; those above were made once.
            paths |= {place, *place.iterdir(), *above[:1], *(p for p in above if p not in self._kept)}
            self._kept.update(above[1:])
        for name in growing:
            place = self._here / name
            there = set(place.iterdir()) if place.is_dir() else set()
            if new := there - self._grown.get(name, set()):
                paths |= {place, *new}
            # Only what is there now: Spark deletes old records, and the run goes on.
            self._grown[name] = there
        return paths

    def sync_names(self, directory: str) -> None:
        """Wait until the names in a directory are on the disk, if it is one of this machine."""
        if self._here:
            sync([self._here / directory])

    def numbers(self, name: str) -> list[int]:
        """Return the names in a directory that are numbers, the greatest first."""
        return sorted((int(n) for n in self.names(name) if n.isascii() and n.isdecimal()), reverse=True)

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file of JSON, or of a text, whole or not at all; return whether it was not there before.

        JSON has a checksum of itself. ``midway`` is called when the content is written and the file is not there yet.
        """
        text = content if isinstance(content, str) else sealed(content)
        if self._here:
            return create(self._here / name, text, midway)
        path = self._path(name)
        self._fs.mkdirs(path.getParent())
        try:
            stream = self._checkpoint_files().createAtomic(path, False)
        except Exception as error:
            if _already_exists(error):
                return False
            raise
        try:
            stream.write(bytearray(text.encode()))
            midway()
            stream.close()
        except Exception as error:
            stream.cancel()
            if _already_exists(error):
                return False
            raise
        return True

    def replace(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file of JSON anew: whoever reads it finds the old content or the new, whole."""
        if self._here:
            hidden = write_hidden(self._here / name, sealed(content))
            hidden.replace(self._here / name)
            sync([(self._here / name).parent])
            return
        stream = self._checkpoint_files().createAtomic(self._path(name), True)
        try:
            stream.write(bytearray(sealed(content).encode()))
            stream.close()
        except Exception:
            stream.cancel()
            raise

    def put(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file of JSON into a directory that nobody looks into yet."""
        if self._here:
            (self._here / name).write_text(sealed(content), encoding="utf-8")
            return
        stream = self._fs.create(self._path(name), True)
        try:
            stream.write(bytearray(sealed(content).encode()))
        finally:
            stream.close()

    def make(self, name: str) -> None:
        """Make a directory, unless it is there."""
        if self._here:
            make(self._here / name)
            return
        self._fs.mkdirs(self._path(name))

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
        """Answer the content of a file as it is."""
        if self._here:
            return (self._here / name).read_text(encoding="utf-8")
        return self.verified_text(name)

    def verified_text(self, name: str) -> str:
        """Return the content of a file as Hadoop reads it, which knows checksums of what it wrote itself."""
        with self._stream(name) as stream:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))

    @contextmanager
    def _stream(self, name: str) -> Iterator[Any]:
        """Open a file to be read through Hadoop; what fails there is an OSError, as on a disk of this machine."""
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._fs.open(self._path(name))
            try:
                yield stream
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise OSError(str(error.java_exception).split("\n")[0]) from error

    def rename(self, name: str, to: str) -> bool:
        """Move a file or a directory to a name that is free; return whether that was possible."""
        # Hadoop would move a directory into one that is there.
        if self.exists(to) or not self.exists(name):
            return False
        if self._here:
            place = self._here / to
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                (self._here / name).rename(place)
            except FileNotFoundError:
                return False
            return True
        target = self._path(to)
        self._fs.mkdirs(target.getParent())
        return bool(self._fs.rename(self._path(name), target))

    def delete(self, name: str) -> None:
        """Delete a file, or a directory and all that is in it; nothing if there is none."""
        if self._here:
            place = self._here / name
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
            return
        self._fs.delete(self._path(name), True)

    def sweep(self, name: str, *, before: float) -> None:
        """Delete what is left in a directory of files whose writers died before they were there.

        Only what was written ``before`` a time: what is newer may be of a writer that lives.
        """
        if self._here:
            for path in (self._here / name).glob(f".*{UNFINISHED}"):
                # The writer may be done with it just now.
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        path.unlink()

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        if self._here:
            os.utime(self._here / name)
            return
        self._fs.setTimes(self._path(name), self._jvm.System.currentTimeMillis(), -1)

    def written(self, name: str) -> float:
        """Return when a file was written or touched last, in seconds, by the clock of its file system."""
        if self._here:
            return (self._here / name).stat().st_mtime
        return float(self._fs.getFileStatus(self._path(name)).getModificationTime()) / 1000

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name))

    def _checkpoint_files(self) -> Any:
        if self._manager is None:
            streaming = self._jvm.org.apache.spark.sql.execution.streaming
            moved = streaming.checkpointing.CheckpointFileManager
            # Before 4.1 the class is elsewhere; py4j takes a name that it does not find for a package.
            manager = streaming.CheckpointFileManager if type(moved).__name__ == "JavaPackage" else moved
            self._manager = manager.create(self._jvm.org.apache.hadoop.fs.Path(self.root), self._conf)
        return self._manager


def _hidden(name: str) -> bool:
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


def _already_exists(error: Exception) -> bool:
    return "FileAlreadyExists" in str(getattr(error, "java_exception", error))
