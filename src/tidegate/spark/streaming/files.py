"""Small files and directories of a checkpoint: on a local disk, where no JVM is needed, and through Hadoop on HDFS."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidegate.spark.streaming.errors import BadCheckpoint, UnfitFileSystem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Files"]

# How the names of files end that are not whole yet.
_UNFINISHED = ".tmp"

_RESTORE = "the file was cut short or changed: restore it from a copy, or begin with a new checkpoint and other outputs"

# What file systems say that know no links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Files:
    """A directory: all paths are below it, written with slashes."""

    #: The directory, with its scheme.
    root: str
    #: The directory, if it is on a disk of this machine: nothing is asked of the JVM then.
    _here: Path | None

    def __init__(self, spark: SparkSession, root: str) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._open(root)

    @classmethod
    def here(cls, root: Path) -> Files:
        """Return a directory on a disk of this machine, for whoever has no Spark."""
        found = cls.__new__(cls)
        found._here = root.absolute()
        found.root = f"file:{found._here}"
        return found

    def _open(self, root: str) -> None:
        given = self._jvm.org.apache.hadoop.fs.Path(root)
        self._fs = given.getFileSystem(self._conf)
        self.root = self._fs.makeQualified(given).toString()
        self._here = Path(self.root.removeprefix("file:")) if self.root.startswith("file:") else None
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
        if not self.is_directory(name):
            return []
        if self._here:
            found = [path.name for path in (self._here / name).iterdir()]
        else:
            found = [status.getPath().getName() for status in self._fs.listStatus(self._path(name))]
        return sorted(n for n in found if not n.startswith((".", "_")))

    def numbers(self, name: str) -> list[int]:
        """Return the names in a directory that are numbers, the greatest first."""
        return sorted((int(n) for n in self.names(name) if n.isascii() and n.isdecimal()), reverse=True)

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file of JSON, or of a text, whole or not at all; answer whether it was not there before.

        ``midway`` is called when the content is written and the file is not there yet.
        """
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        if self._here:
            return _create_here(self._here / name, text, midway)
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

    def make(self, name: str) -> None:
        """Make a directory, unless it is there."""
        if self._here:
            (self._here / name).mkdir(parents=True, exist_ok=True)
            return
        self._fs.mkdirs(self._path(name))

    def read(self, name: str, what: str, keys: Mapping[str, Any], *, hint: str = _RESTORE) -> dict[str, Any]:
        """Return the JSON object in a file, which is ``what`` and has values of these types; raise if it is not."""
        try:
            found = json.loads(self.text(name) or "null")
        except ValueError as error:
            raise self._not(name, what, keys, f"something that can't be read: {error}", hint) from None
        except Exception:
            if self.exists(name) and not self.is_directory(name):
                raise
            got = "a directory" if self.exists(name) else "no file"
            raise self._not(name, what, keys, got, hint) from None
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
        stream = self._fs.open(self._path(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

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
            for path in (self._here / name).glob(f".*{_UNFINISHED}"):
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
            manager = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
            self._manager = manager.create(self._jvm.org.apache.hadoop.fs.Path(self.root), self._conf)
        return self._manager


def _create_here(place: Path, text: str, midway: Callable[[], None]) -> bool:
    """Create a file on a disk of this machine.

    Hadoop would run a program to set the mode of each file, which takes longer than all the rest of it.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    hidden = place.with_name(f".{place.name}.{uuid4().hex}{_UNFINISHED}")
    try:
        with hidden.open("w", encoding="utf-8") as file:
            file.write(text)
            # Not the name alone outlives a power cut.
            file.flush()
            os.fsync(file.fileno())
        midway()
        # A link appears whole, and only if there is nothing of its name.
        os.link(hidden, place)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise UnfitFileSystem(
            f"expected a file system with hard links, by which a file is created whole and once, for {place.parent}; "
            f"got one without: {error.strerror}",
            hint="put checkpoints and outputs on another disk",
        ) from None
    finally:
        hidden.unlink(missing_ok=True)
    return True


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
