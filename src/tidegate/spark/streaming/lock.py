"""The lock of a checkpoint: one run at a time, and a dead one is replaced."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from tidegate.spark.streaming.errors import CheckpointInUse
from tidegate.spark.streaming.files import Files

__all__ = ["Lock"]

_BEAT = 10.0
_STALE = 60.0
#: The locks that runs of this process hold.
_OWN: set[str] = set()


class Lock:
    """A file that names its holder: host, boot, process and when that started.

    On the holder's own host it can be seen whether it lives. From elsewhere, its heartbeat must be stale. This keeps a
    second run out that was started by mistake; that two runs never commit the same step is the commit's own doing.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._token = uuid4().hex
        self._stop = Event()

    def acquire(self) -> None:
        """Take the lock, or raise with the holder's name."""
        content = _here() | {"token": self._token}
        if not self._files.create("lock", content):
            holder = self._holder()
            if holder is not None and not self._dead(holder):
                raise CheckpointInUse(
                    f"{self._files.root} is in use by process {holder.get('process')} on {holder.get('host')}",
                    hint="stop that run first; or take a checkpoint of its own for this one",
                )
            if holder is not None:
                self._files.delete("lock")
            if not self._files.create("lock", content):
                raise CheckpointInUse(f"{self._files.root} was taken by another run just now", hint="let one run only")
        _OWN.add(self._token)
        Thread(target=self._beat, name="tidegate lock", daemon=True).start()

    def release(self) -> None:
        """Give the lock back; nothing if it is not held."""
        if self._token in _OWN:
            self._stop.set()
            _OWN.discard(self._token)
            # A run that was taken for dead leaves the lock to the one that replaced it.
            if self._files.exists("lock") and self._files.read("lock").get("token") == self._token:
                self._files.delete("lock")

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT):
            # One that fails is made up for by the next. A run whose JVM is gone fails, and gives the lock back.
            with suppress(Exception):
                self._files.touch("lock")

    def _holder(self) -> dict[str, Any] | None:
        """Answer who holds the lock; None if it was given back just now."""
        try:
            found: dict[str, Any] = self._files.read("lock")
        except Exception:
            if self._files.exists("lock"):
                raise
            return None
        return found

    def _dead(self, holder: dict[str, Any]) -> bool:
        here = _here()
        if holder.get("host") != here["host"]:
            return self._files.age("lock") > _STALE
        if holder.get("boot") != here["boot"]:
            return True
        if holder.get("process") == here["process"] and holder.get("started") == here["started"]:
            return holder.get("token") not in _OWN
        process = int(holder.get("process", 0))
        # Where nothing tells when a process was started, it is all the same whether it lives.
        return _started(process) != holder.get("started") if here["started"] else not _lives(process)


def _here() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "process": os.getpid(),
        "started": _started(os.getpid()),
    }


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is there, and someone else's.
        return True
    return True


def _started(process: int) -> str:
    """Answer when a process was started, in ticks since boot; empty if there is none."""
    stat = _read(f"/proc/{process}/stat")
    # The name of the program, in parentheses, may contain anything.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    # A killed process that nobody has waited for yet does nothing any more.
    return "" if fields[0] == "Z" else fields[19]


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
