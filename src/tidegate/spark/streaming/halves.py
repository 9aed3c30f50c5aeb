"""The two halves of a checkpoint: our commits, and what Spark writes about positions in the sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit

__all__ = ["check_halves", "explained", "query_id"]

_RESTORE = (
    "restore the directory spark from a copy of the same moment as commits, or begin with a new checkpoint and output"
)
_COMPACT = ".compact"
_VERSION = re.compile(r"\0?v\d+")
#: What Spark says when another query has written the record that it wants to write.
_TAKEN = ("CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming jobs detected")


def check_halves(files: Files) -> None:
    """Refuse a checkpoint of which one half is gone, or where Spark could not go on from the last records of its own.

    Without its half, Spark would begin anew, and without ours, go on alone.
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
    for name in _due(files):
        if wrong := _damage(files, name):
            raise BadCheckpoint(
                f"expected a record of Spark's in {files.path(name)}: its version, then lines of JSON; got {wrong}",
                hint=_remedy(files, name, commit),
            )
    for name in _named(files):
        if not files.exists(name) and not files.exists(f"{name}{_COMPACT}"):
            raise BadCheckpoint(f"a record of Spark's is gone: {files.path(name)}", hint=_RESTORE)


def _remedy(files: Files, name: str, commit: Mapping[str, Any] | None) -> str:
    """Return what to do about a damaged record: some may be deleted."""
    done = -1 if commit is None or commit["batch"] is None else commit["batch"]
    # On a local disk, Hadoop keeps a checksum of each file beside it.
    names = [n for spare in _spare(files, name, done) for n in (spare, "/.".join(spare.rsplit("/", 1)) + ".crc")]
    there = [files.path(n) for n in names if files.exists(n)]
    if not there:
        return _RESTORE
    return f"a power cut may leave it so, and it is not needed: delete {', '.join(there)}; or {_RESTORE}"


def _spare(files: Files, name: str, done: int) -> list[str]:
    """Return the records that go with one that is not needed, itself among them; none if it is needed.

    ``done`` is the last batch that our commits have. Spark gives us a batch again if it has no record that it is done,
    and we know it. Of a batch after that one nothing is committed: without its position, Spark plans it anew.
    """
    directory, _, number = name.removesuffix(_COMPACT).rpartition("/")
    if directory == "spark/commits":
        return [name] if int(number) <= done else []
    if directory == "spark/offsets":
        return [name] if int(number) > done else []
    read = _positions(files, done).get(directory.rpartition("/")[2], -1) if done >= 0 else -1
    return [name, f"spark/offsets/{done + 1}"] if int(number) > read else []


def query_id(files: Files) -> str:
    """Return Spark's id of the query; empty if none was started."""
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


def explained(files: Files, error: BaseException) -> BaseException:
    """Return what a query of Spark has failed with, in our words if another query has written what it was to write."""
    if not any(text in str(error) for text in _TAKEN):
        return error
    found = CheckpointInUse(
        f"another query has written to {files.path('spark')}",
        hint="was a run taken for dead that lived? start again; let only one run work on a checkpoint",
    )
    found.__cause__ = error
    return found


def _due(files: Files) -> Iterator[str]:
    """Yield the names of the records that Spark reads when a query starts."""
    # The last position, and the one before it if the batch was not done.
    yield from (f"spark/offsets/{number}" for number in files.numbers("spark/offsets")[:2])
    yield from (f"spark/commits/{number}" for number in files.numbers("spark/commits")[:1])
    for source in files.names("spark/sources"):
        # What a source of files has seen: all up to some batch in one record, and one for each batch since.
        directory = f"spark/sources/{source}"
        stems = (name.removesuffix(_COMPACT) for name in files.names(directory) if name.endswith(_COMPACT))
        compact = max((int(stem) for stem in stems if stem.isascii() and stem.isdecimal()), default=-1)
        if compact >= 0:
            yield f"{directory}/{compact}{_COMPACT}"
        yield from (f"{directory}/{number}" for number in files.numbers(directory) if number > compact)


def _named(files: Files) -> Iterator[str]:
    """Yield the names of the records that the last ones say are there."""
    yield from (f"spark/offsets/{number}" for number in files.numbers("spark/commits")[:1])
    for number in files.numbers("spark/offsets")[:1]:
        yield from (f"spark/sources/{source}/{last}" for source, last in _positions(files, number).items())


def _positions(files: Files, batch: int) -> dict[str, int]:
    """Return which of its own records is the last that a batch reads, by source; only sources of files say so."""
    # Behind the version and the settings of the batch, a line for each source.
    lines = files.text(f"spark/offsets/{batch}").splitlines()[2:]
    found = {str(source): json.loads(line) for source, line in enumerate(lines) if line != "-"}
    last = {source: position.get("logOffset") for source, position in found.items() if isinstance(position, dict)}
    # A topic of Kafka may have any name, and a position for each of its partitions.
    return {source: number for source, number in last.items() if isinstance(number, int) and number >= 0}


def _damage(files: Files, name: str) -> str:
    """Return what is wrong with a record; nothing if it is whole."""
    if files.is_directory(name):
        return "a directory"
    try:
        # Hadoop knows the checksum of what Spark has written.
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
