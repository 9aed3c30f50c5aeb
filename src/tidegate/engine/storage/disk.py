"""Small files on a disk of this machine: created whole and once, and on the disk before anyone counts on them."""

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

#: How the names of files end that are not whole yet.
UNFINISHED = ".tmp"

# How many files are synced at a time: a disk makes one journey of several that wait.
_AT_ONCE = 8

# What file systems say that know no links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create(place: Path, text: str, midway: Callable[[], None]) -> bool:
    """Create a file, whole or not at all; return whether it was not there before.

    ``midway`` is called when the content is written and the file is not there yet. Hadoop would run a program to set
    the mode of each file, which takes longer than all the rest of it.
    """
    make(place.parent)
    hidden = write_hidden(place, text)
    try:
        midway()
        # A link appears whole, and only if there is nothing of its name.
        os.link(hidden, place)
    except FileExistsError:
        # A server of NFS may have made the link and lost its answer: then the file has two names.
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
    # Not the content alone outlives a power cut, but the name too.
    sync([place.parent])
    return True


def write_hidden(place: Path, text: str) -> Path:
    """Write the content of a file beside it, and return where."""
    hidden = place.with_name(f".{place.name}.{uuid4().hex}{UNFINISHED}")
    try:
        with hidden.open("w", encoding="utf-8") as file:
            file.write(text)
            # Not the name alone outlives a power cut.
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    return hidden


def make(directory: Path) -> None:
    """Make a directory and those above it, and wait until each is on the disk."""
    if not directory.is_dir():
        make(directory.parent)
        directory.mkdir(exist_ok=True)
        sync([directory.parent])


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and directories are on the disk, all at a time: one after the other takes many times as long."""
    given = list(paths)
    if len(given) < 2:
        for path in given:
            _sync_one(path)
        return
    for _ in _pool().map(_sync_one, given):
        pass


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that sync: to start them takes longer than to sync a file."""
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tidegate sync")


# A process that was forked has none of the threads.
os.register_at_fork(after_in_child=lambda: _pool.cache_clear())


def _sync_one(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        # A directory above ours that we may pass and not read: it was there before.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
