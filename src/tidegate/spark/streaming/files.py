"""Small files and directories of a checkpoint: on a local disk, and through Hadoop on HDFS or in an object store."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Files"]

# How the names of files end that are not whole yet.
_UNFINISHED = ".tmp"

# What file systems say that know no links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Files:
    """A directory: all paths are below it, written with slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._open(root)

    def _open(self, root: str) -> None:
        given = self._jvm.org.apache.hadoop.fs.Path(root)
        self._fs = given.getFileSystem(self._conf)
        #: The directory, with its scheme.
        self.root: str = self._fs.makeQualified(given).toString()
        #: The directory, if it is on a disk of this machine: there, Python is faster than a call of the JVM.
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

    def names(self, name: str = "") -> list[str]:
        """Answer the names in a directory, hidden ones left out; none if it is not there."""
        if not self.exists(name):
            return []
        found = [status.getPath().getName() for status in self._fs.listStatus(self._path(name))]
        return sorted(n for n in found if not n.startswith((".", "_")))

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file of JSON, or of a text, whole or not at all; answer whether it was not there before.

        ``midway`` is called when the content is written and the file is not there yet.
        """
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        if self._here:
            try:
                return _create_here(self._here / name, text, midway)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
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
        self._fs.mkdirs(self._path(name))

    def read(self, name: str) -> Any:
        """Answer the content of a file of JSON."""
        return json.loads(self.text(name))

    def text(self, name: str) -> str:
        """Answer the content of a file as it is."""
        if self._here:
            return (self._here / name).read_text(encoding="utf-8")
        stream = self._fs.open(self._path(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def rename(self, name: str, to: str) -> bool:
        """Move a file or a directory; answer whether that was possible."""
        target = self._path(to)
        self._fs.mkdirs(target.getParent())
        return bool(self._fs.rename(self._path(name), target))

    def delete(self, name: str) -> None:
        """Delete a file, or a directory and all that is in it; nothing if there is none."""
        if self._here and (self._here / name).is_dir():
            shutil.rmtree(self._here / name, ignore_errors=True)
            return
        self._fs.delete(self._path(name), True)

    def sweep(self, name: str) -> None:
        """Delete what is left in a directory of files that were killed before they were there."""
        if self._here:
            for path in (self._here / name).glob(f".*{_UNFINISHED}"):
                path.unlink(missing_ok=True)

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        self._fs.setTimes(self._path(name), self._jvm.System.currentTimeMillis(), -1)

    def age(self, name: str) -> float:
        """Answer how many seconds ago a file was written or touched, by the clock of this machine."""
        written = self._fs.getFileStatus(self._path(name)).getModificationTime()
        return float(self._jvm.System.currentTimeMillis() - written) / 1000

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
    finally:
        hidden.unlink(missing_ok=True)
    return True


def _already_exists(error: Exception) -> bool:
    return "FileAlreadyExists" in str(getattr(error, "java_exception", error))
