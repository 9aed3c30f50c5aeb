"""Small files on a local disk: each is created whole and once, and is synced before anything relies on it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from uuid import uuid4

from tidegate.engine.storage.errors import UnfitFileSystem

__all__ = ["UNFINISHED", "create", "make", "sync", "write_hidden"]

#: The suffix of the names of files that are not complete yet.
UNFINISHED = ".tmp"

# How many files are synced at a time: a disk flushes several together in about the time of one.
_AT_ONCE = 8

# The errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create(place: Path, text: str, midway: Callable[[], None]) -> bool:
    """Create a file, whole or not at all; return False if it existed before.

    ``midway`` is called after the content is written and before the file appears. This does not go through Hadoop,
    which runs a program to set the mode of each file, and that takes longer than everything else.
    """
    make(place.parent)
    hidden = write_hidden(place, text)
    try:
        midway()
        # A hard link appears at once, and only if the name is free.
        os.link(hidden, place)
    except FileExistsError:
        # An NFS server may have made the link although its reply was lost. The file then has two names.
        if not hidden.exists() or hidden.stat().st_nlink != 2:
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
    # The name has to survive a power cut, too, and not only the content.
    sync([place.parent])
    return True


def write_hidden(place: Path, text: str) -> Path:
    """Write the content of a file to a temporary file beside it; return the path of that file."""
    hidden = place.with_name(f".{place.name}.{uuid4().hex}{UNFINISHED}")
    try:
        with hidden.open("w", encoding="utf-8") as file:
            file.write(text)
            # The content has to survive a power cut, and not only the name.
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    return hidden


def make(directory: Path) -> None:
    """Make a directory and its parents, and wait until each is on the disk."""
    if not directory.is_dir():
        make(directory.parent)
        directory.mkdir(exist_ok=True)
        sync([directory.parent])


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and directories are on the disk. They are synced in parallel, which is many times as fast."""
    given = list(paths)
    if len(given) < 2:
        for path in given:
            _sync_one(path)
        return
    for _ in _pool().map(_sync_one, given):
        pass


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that sync. They are kept: starting them takes longer than syncing a file."""
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tidegate sync")


# A forked process does not have the threads.
os.register_at_fork(after_in_child=lambda: _pool.cache_clear())


def _sync_one(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        # A parent directory that we may pass through and not read. It existed before, so it need not be synced.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
