"""The files of a checkpoint: on a local disk, or on a file system such as HDFS, through Hadoop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.engine.storage.files import Files, is_hidden
from tidegate.engine.storage.sealed import sealed
from tidegate.spark.jvm import classes, hadoop_settings
from tidegate.spark.stores import check_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DiskFiles", "HadoopFiles", "files_at"]


def files_at(spark: SparkSession, root: str) -> Files:
    """Return a directory on any file system. A local disk is accessed without the JVM where possible."""
    return _opened(_Hadoop(spark), root)


class _Hadoop:
    """Hadoop's classes in the JVM and their configuration. It is made once, because that is slow."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.jvm = classes(spark)
        self.conf = hadoop_settings(spark)
        self.opened: dict[str, Files] = {}

    def path(self, name: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(name)


def _opened(hadoop: _Hadoop, root: str) -> Files:
    if root not in hadoop.opened:
        given = hadoop.path(root)
        system = given.getFileSystem(hadoop.conf)
        whole = system.makeQualified(given).toString()
        kind = DiskFiles if whole.startswith("file:") else HadoopFiles
        hadoop.opened[root] = kind(hadoop, system, whole)
    return hadoop.opened[root]


class DiskFiles(Files):
    """A directory on a local disk."""

    def __init__(self, hadoop: _Hadoop, system: Any, root: str) -> None:
        super().__init__(Path(root.removeprefix("file:")))
        self.root = root
        self._hadoop = hadoop
        self._system = system

    def at(self, root: str) -> Files:
        """Return another directory, on any file system."""
        return _opened(self._hadoop, root)

    def check_fit(self, path: str, what: str) -> None:
        """Raise if a path is on a file system that does not fit a run."""
        check_store(self._hadoop.spark, path, what)

    def verified_text(self, name: str) -> str:
        """Return the content of a file, read by Hadoop, which verifies the checksums of files that it has written."""
        return _text(self._hadoop, self._system, self.path(name))


class HadoopFiles(Files):
    """A directory that is accessed through Hadoop."""

    def __init__(self, hadoop: _Hadoop, system: Any, root: str) -> None:
        self.root = root
        self._hadoop = hadoop
        self._system = system
        self._manager: Any = None

    @property
    def local(self) -> Path | None:
        """Return None: the directory is not on a local disk."""
        return None

    def at(self, root: str) -> Files:
        """Return another directory, on any file system."""
        return _opened(self._hadoop, root)

    def check_fit(self, path: str, what: str) -> None:
        """Raise if a path is on a file system that does not fit a run."""
        check_store(self._hadoop.spark, path, what)

    def exists(self, name: str) -> bool:
        """Whether there is a file or a directory of that name."""
        return bool(self._system.exists(self._path(name)))

    def is_directory(self, name: str) -> bool:
        """Whether there is a directory of that name."""
        return self.exists(name) and bool(self._system.getFileStatus(self._path(name)).isDirectory())

    def sizes(self, name: str = "") -> dict[str, int]:
        """Return the size in bytes of each file in a directory, -1 for directories. Hidden names are left out."""
        if not self.is_directory(name):
            return {}
        listed = {s.getPath().getName(): s for s in self._system.listStatus(self._path(name))}
        return {n: -1 if s.isDirectory() else int(s.getLen()) for n, s in listed.items() if not is_hidden(n)}

    def end(self, name: str, count: int) -> bytes:
        """Return the last ``count`` bytes of a file, or all if it has fewer."""
        with _stream(self._hadoop, self._system, self.path(name)) as stream:
            size = int(self._system.getFileStatus(self._path(name)).getLen())
            stream.seek(size - min(count, size))
            return bytes(self._hadoop.jvm.org.apache.commons.io.IOUtils.toByteArray(stream, min(count, size)))

    def checksum(self, name: str) -> int | None:  # noqa: ARG002
        """Return None: reading the file would cost too much."""
        return None

    def unsynced(self, directories: Iterable[str], growing: Iterable[str] = ()) -> set[Path]:  # noqa: ARG002
        """Return an empty set: the file system keeps a file safe as soon as it is closed."""
        return set()

    def sync_names(self, directory: str) -> None:
        """Do nothing: the file system keeps names safe itself."""

    def create(self, name: str, content: Any, midway: Callable[[], None] = lambda: None) -> bool:
        """Create a file from JSON or text, whole or not at all. Return False if it existed before."""
        path = self._path(name)
        self._system.mkdirs(path.getParent())
        try:
            stream = self._checkpoint_files().createAtomic(path, False)
        except Exception as error:
            if _already_exists(error):
                return False
            raise
        try:
            stream.write(bytearray((content if isinstance(content, str) else sealed(content)).encode()))
            midway()
            stream.close()
        except Exception as error:
            stream.cancel()
            if _already_exists(error):
                return False
            raise
        return True

    def replace(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a JSON file. Readers find the old content or the new content, never a mix."""
        stream = self._checkpoint_files().createAtomic(self._path(name), True)
        try:
            stream.write(bytearray(sealed(content).encode()))
            stream.close()
        except Exception:
            stream.cancel()
            raise

    def put(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file into a directory that nothing reads yet."""
        stream = self._system.create(self._path(name), True)
        try:
            stream.write(bytearray(sealed(content).encode()))
        finally:
            stream.close()

    def make(self, name: str) -> None:
        """Make a directory if it does not exist."""
        self._system.mkdirs(self._path(name))

    def text(self, name: str) -> str:
        """Return the content of a file as text."""
        return self.verified_text(name)

    def verified_text(self, name: str) -> str:
        """Return the content of a file as Hadoop reads it."""
        return _text(self._hadoop, self._system, self.path(name))

    def rename(self, name: str, to: str) -> bool:
        """Rename a file or directory. Return False if the new name is taken or the old one is missing."""
        # If the target exists, Hadoop would move a directory into it.
        if self.exists(to) or not self.exists(name):
            return False
        target = self._path(to)
        self._system.mkdirs(target.getParent())
        return bool(self._system.rename(self._path(name), target))

    def delete(self, name: str) -> None:
        """Delete a file, or a directory with its contents. If it does not exist, nothing happens."""
        self._system.delete(self._path(name), True)

    def sweep(self, name: str, *, before: float) -> None:
        """Do nothing: Spark deletes its own temporary files."""

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        self._system.setTimes(self._path(name), self._hadoop.jvm.System.currentTimeMillis(), -1)

    def written(self, name: str) -> float:
        """Return when a file was written or touched last, in seconds, by the clock of its file system."""
        return float(self._system.getFileStatus(self._path(name)).getModificationTime()) / 1000

    def _path(self, name: str) -> Any:
        return self._hadoop.path(self.path(name))

    def _checkpoint_files(self) -> Any:
        if self._manager is None:
            streaming = self._hadoop.jvm.org.apache.spark.sql.execution.streaming
            moved = streaming.checkpointing.CheckpointFileManager
            # Before Spark 4.1 the class is in another package. For a name that does not exist, py4j returns a package.
            manager = streaming.CheckpointFileManager if type(moved).__name__ == "JavaPackage" else moved
            self._manager = manager.create(self._hadoop.path(self.root), self._hadoop.conf)
        return self._manager


def _text(hadoop: _Hadoop, system: Any, path: str) -> str:
    with _stream(hadoop, system, path) as stream:
        return str(hadoop.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))


@contextmanager
def _stream(hadoop: _Hadoop, system: Any, path: str) -> Iterator[Any]:
    """Open a file for reading through Hadoop. Errors are raised as OSError, as on a local disk."""
    from py4j.protocol import Py4JJavaError

    try:
        stream = system.open(hadoop.path(path))
        try:
            yield stream
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise OSError(str(error.java_exception).split("\n")[0]) from error


def _already_exists(error: Exception) -> bool:
    return "FileAlreadyExists" in str(getattr(error, "java_exception", error))
