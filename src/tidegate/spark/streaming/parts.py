"""Parts of state as Parquet files, which Spark writes and reads. Large parts stay cached from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tidegate.engine.attempt import NOTHING
from tidegate.engine.relation import Relation
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import measured
from tidegate.engine.storage.partitions import rename_directories
from tidegate.engine.storage.state import Part, check_part
from tidegate.spark.backend import SparkBackend, no_rows
from tidegate.spark.relation import SparkRelation, frame_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["READ", "PartCache", "SparkParts", "write_part"]

#: How state and results are written. On a local disk, Hadoop would start a process to set the mode of each file, write
#: a second file with checksums, and one more as a success marker. That takes a tenth of the time of a small part, and
#: is not needed: Parquet has its own checksums, and a commit names what is written.
_WRITE = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "partitionOverwriteMode": "static",
}
#: How our own files are read: a session may be set to ignore errors in other files, but not in these.
READ = {
    "parquet.page.verify-checksum.enabled": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
# Parts with fewer rows are not cached, because to read them again is faster.
_MANY = 20_000


class SparkParts:
    """The parts of a checkpoint, in the session of a step."""

    def __init__(self, files: Files, backend: SparkBackend, cache: PartCache | None = None) -> None:
        self._files = files
        self._backend = backend
        self._cache = cache or PartCache()

    def read(self, parts: Sequence[Part], shape: StructType, *, coalesced: bool = False) -> SparkRelation:
        """Return the rows of some parts; ``coalesced`` puts them into one partition."""
        rows = read_parts(self._files, self._backend.runtime, parts, shape)
        return self._backend.relation(rows.coalesce(1) if coalesced else rows)

    def read_cached(self, parts: Sequence[Part], shape: StructType) -> SparkRelation:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        return self._backend.relation(self._cache.read(self._files, self._backend.runtime, parts, shape))

    def write(
        self, files: Files, path: str, rows: Relation, times: Sequence[str] = (), by: Mapping[str, str] = NOTHING
    ) -> Part:
        """Write rows to a path that nothing else writes to."""
        return write_part(files, self._backend.runtime, frame_of(rows), path, times, by)


class PartCache:
    """The cached parts, by path. If Spark loses cached data, it reads the file again."""

    def __init__(self) -> None:
        self._frames: dict[str, DataFrame] = {}

    def read(self, files: Files, runtime: Runtime, parts: Sequence[Part], schema: StructType) -> DataFrame:
        """Return the rows of some parts. Large ones are cached when they are first read."""
        small = [part for part in parts if part.rows < _MANY]
        frames = [self._cached(files, runtime, part, schema) for part in parts if part.rows >= _MANY]
        if small or not frames:
            frames.append(read_parts(files, runtime, small, schema))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def forget(self, paths: Iterable[str] = ()) -> None:
        """Release all cached parts except those of these paths."""
        kept = set(paths)
        for path in [path for path in self._frames if path not in kept]:
            self._frames.pop(path).unpersist()

    def _cached(self, files: Files, runtime: Runtime, part: Part, schema: StructType) -> DataFrame:
        # Spark finds cached data by its plan. So each step reads the part in its own session, and gets the cached data.
        frame = read_parts(files, runtime, [part], schema)
        if part.path not in self._frames:
            self._frames[part.path] = frame.persist()
        return frame


def read_parts(files: Files, runtime: Runtime, parts: Sequence[Part], schema: StructType) -> DataFrame:
    """Return the rows of some parts. The schema is given, so that Spark need not infer it."""
    if not parts:
        return no_rows(runtime, schema)
    rows = runtime.session.read.options(**READ).schema(schema).parquet(*(files.path(part.path) for part in parts))
    # The files are checked after Spark has listed them. If one disappears from now on, Spark itself fails.
    for part in parts:
        check_part(files, part)
    return rows


def write_part(
    files: Files,
    runtime: Runtime,
    rows: DataFrame,
    path: str,
    times: Sequence[str] = (),
    by: Mapping[str, str] = NOTHING,
) -> Part:
    """Write rows to a path that nothing else writes to. Return the part, with the count and the range of ``times``.

    Rows are partitioned into directories by the text columns of ``by``, which are not written to the files. ``by`` maps
    each of them to the column whose values it has as text.
    """
    from pyspark.sql import Observation

    seen = Observation()
    observed = {"rows": "count(*)"}
    for i, sql in enumerate(times):
        observed |= {f"last{i}": f"max({sql})", f"first{i}": f"min({sql})"}
    writer = rows.observe(seen, *runtime.exprs(observed)).write.options(**_WRITE)
    (writer.partitionBy(*by) if by else writer).mode("overwrite").parquet(files.path(path))
    if by:
        rename_directories(files, path, by)
    found = seen.get
    last, first = (tuple(found[f"{end}{i}"] for i in range(len(times))) for end in ("last", "first"))
    known = bool(times) and None not in last
    # Decimals here are always whole numbers.
    last, first = (tuple(map(int, ends)) if known else () for ends in (last, first))
    entries = measured(files, path, int(found["rows"]))
    part = Part(path, int(found["rows"]), last if known else None, first if known else None, entries)
    if not part.rows:
        # No commit names an empty part, so it would never be deleted.
        files.delete(path)
    return part
