"""Spark's own records in a checkpoint: which batches there are, and the positions of the sources in each.

They and our commits must belong together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit

__all__ = ["check_records", "explain_conflict", "query_id"]

_RESTORE = (
    "restore the directory spark from a copy of the same time as commits, or begin with a new checkpoint and output"
)
_COMPACT = ".compact"
_VERSION = re.compile(r"\0?v\d+")
#: Messages of Spark when another query has written the record that it wants to write.
_CONFLICTS = ("CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming jobs detected")


def check_records(files: Files) -> None:
    """Raise if Spark's records do not fit our commits, if some are missing, or if Spark can't continue from them.

    Without its records, Spark would read the sources from the start. Without our commits, it would skip what it read.
    """
    commit = last_commit(files)
    if commit is None and files.names("spark/commits"):
        raise BadCheckpoint(
            f"{files.root} has Spark's half of a checkpoint, and no commits",
            hint="restore the directory commits, or begin with a new checkpoint and other outputs",
        )
    if commit is not None and commit["query"] and not files.exists("spark/metadata"):
        raise BadCheckpoint(
            f"{files.root} has commits, and Spark's half of the checkpoint is gone",
            hint="restore the directory spark, or begin with a new checkpoint and other outputs",
        )
    query = query_id(files)
    if commit is not None and commit["query"] and query != commit["query"]:
        raise BadCheckpoint(
            f"{files.path('commits')} has commits of query {commit['query']}, and {files.path('spark')} is of {query}",
            hint=_RESTORE,
        )
    for name in _records_read_at_start(files):
        if wrong := _damage(files, name):
            raise BadCheckpoint(
                f"expected a record of Spark's in {files.path(name)}: its version, then lines of JSON; got {wrong}",
                hint=_repair_hint(files, name, commit),
            )
    for name in _records_referred_to(files):
        if not files.exists(name) and not files.exists(f"{name}{_COMPACT}"):
            raise BadCheckpoint(f"a record of Spark's is gone: {files.path(name)}", hint=_RESTORE)


def _repair_hint(files: Files, name: str, commit: Mapping[str, Any] | None) -> str:
    """Return a hint how to repair a checkpoint with a damaged record. Some records may be deleted."""
    done = -1 if commit is None or commit["batch"] is None else commit["batch"]
    # On a local disk, Hadoop keeps a checksum of each file beside it.
    names = [n for spare in _deletable(files, name, done) for n in (spare, "/.".join(spare.rsplit("/", 1)) + ".crc")]
    there = [files.path(n) for n in names if files.exists(n)]
    if not there:
        return _RESTORE
    return f"a power cut may leave it so, and it is not needed: delete {', '.join(there)}; or {_RESTORE}"


def _deletable(files: Files, name: str, done: int) -> list[str]:
    """Return the records to delete if the record ``name`` is damaged; none if that record is needed.

    ``done`` is the last batch in our commits. A record that such a batch is done is not needed: Spark gives us the
    batch again, and we recognise it. The offsets of a later batch are not needed: nothing of it is committed, and Spark
    plans it again.
    """
    directory, _, number = name.removesuffix(_COMPACT).rpartition("/")
    if directory == "spark/commits":
        return [name] if int(number) <= done else []
    if directory == "spark/offsets":
        return [name] if int(number) > done else []
    read = _positions(files, done).get(directory.rpartition("/")[2], -1) if done >= 0 else -1
    return [name, f"spark/offsets/{done + 1}"] if int(number) > read else []


def query_id(files: Files) -> str:
    """Return Spark's id of the query; empty if no query was started."""
    if not files.exists("spark/metadata"):
        return ""
    found: str = files.read("spark/metadata", "Spark's id of the query", {"id": str}, hint=_RESTORE)["id"]
    try:
        UUID(found)
    except ValueError:
        raise BadCheckpoint(
            f"expected Spark's id of the query in {files.path('spark/metadata')}, a UUID; got {found!r}", hint=_RESTORE
        ) from None
    return found


def explain_conflict(files: Files, error: BaseException) -> BaseException:
    """Return the error of a failed query. If another query has written the same record, return `CheckpointInUse`."""
    if not any(text in str(error) for text in _CONFLICTS):
        return error
    found = CheckpointInUse(
        f"another query has written to {files.path('spark')}",
        hint="was a run replaced that was still alive? start again; let only one run work on a checkpoint",
    )
    found.__cause__ = error
    return found


def _records_read_at_start(files: Files) -> Iterator[str]:
    """Yield the names of the records that Spark reads when a query starts."""
    # The last offsets, and those before them if the last batch was not done.
    yield from (f"spark/offsets/{number}" for number in files.numbers("spark/offsets")[:2])
    yield from (f"spark/commits/{number}" for number in files.numbers("spark/commits")[:1])
    for source in files.names("spark/sources"):
        # The files that a file source has read: a compact record for all batches up to some number, and then one record
        # for each batch.
        directory = f"spark/sources/{source}"
        stems = (name.removesuffix(_COMPACT) for name in files.names(directory) if name.endswith(_COMPACT))
        compact = max((int(stem) for stem in stems if stem.isascii() and stem.isdecimal()), default=-1)
        if compact >= 0:
            yield f"{directory}/{compact}{_COMPACT}"
        yield from (f"{directory}/{number}" for number in files.numbers(directory) if number > compact)


def _records_referred_to(files: Files) -> Iterator[str]:
    """Yield the names of the records that the last records refer to."""
    yield from (f"spark/offsets/{number}" for number in files.numbers("spark/commits")[:1])
    for number in files.numbers("spark/offsets")[:1]:
        yield from (f"spark/sources/{source}/{last}" for source, last in _positions(files, number).items())


def _positions(files: Files, batch: int) -> dict[str, int]:
    """Return the number of each source's last record when a batch was planned. Only file sources have records."""
    # After the version and the settings of the batch, there is a line for each source.
    lines = files.text(f"spark/offsets/{batch}").splitlines()[2:]
    found = {str(source): json.loads(line) for source, line in enumerate(lines) if line != "-"}
    last = {source: position.get("logOffset") for source, position in found.items() if isinstance(position, dict)}
    # A Kafka topic may have any name, and has an offset for each partition.
    return {source: number for source, number in last.items() if isinstance(number, int) and number >= 0}


def _damage(files: Files, name: str) -> str:
    """Return what is wrong with a record, as text; empty if it is intact."""
    if files.is_directory(name):
        return "a directory"
    try:
        # Hadoop verifies the checksum of what Spark has written.
        text = files.verified_text(name)
        version, *lines = text.splitlines() or [""]
        for line in lines:
            if line != "-":
                json.loads(line)
    except (ValueError, OSError) as error:
        if "ChecksumException" in str(error):
            return "something else than was written: its checksum is wrong"
        return f"something that can't be read: {error}"
    if not text:
        return "an empty file"
    return "" if _VERSION.fullmatch(version) and lines else f"{text[:80]!r}"
