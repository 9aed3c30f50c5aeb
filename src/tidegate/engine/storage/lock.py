"""The lock of a checkpoint: one run at a time holds it, and a dead run is replaced.

Each run that takes the lock creates the next file ``locks/N``, which names the run. The holder is the run of the
greatest number. It releases the lock by creating ``locks/N.released``. Why there is only one holder:

- A file is created only if it does not exist, so each number has one owner. A run that starts reads the greatest number
  N. If N was released or its owner is dead, the run creates N + 1. If several runs try, one succeeds, and the others
  get an error that names it.
- Numbers are not used twice. Holders delete old files, except those of the last few numbers. A run may be so slow that
  its number was deleted already when it creates it, or that it was replaced in the meantime. Before it does anything,
  it lists the numbers again, finds a greater one, and withdraws. If someone deletes the file of a running run, another
  run may get the same number. The file then names the other run, and the first one stops.
- Only the owner marks its number as released, and after that it can't commit: within its process, a mutex separates
  commits and the release.
- An owner that did not release its number may be alive although it seems dead: on a host that can't be reached, or on a
  machine that was suspended. So the next holder writes a fence into the log (`log.py`) before it lists the numbers
  again. If it dies before that, its own number is not released either, and the holder after it writes the fence.
- A run that was replaced sees the greater number at its next heartbeat, and when a step begins, commits and ends.
  Between those, the fence stops it. It may still delete files, but only files that nobody needs: see
  `steps/cleaning.py`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any
from uuid import uuid4

from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse, Superseded
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import Token, write_fence
from tidegate.errors import TidegateError

__all__ = ["Holder", "Lock", "holder", "holding"]

_BEAT = 10.0
_STALE = 60.0
#: How many files of earlier holders are kept.
_KEPT = 10
_DIRECTORY = "locks"
#: The lock file of earlier versions, which deleted it to release the lock.
_SINGLE = "lock"
_KEYS = {"host": str, "process": int}
#: The ids of the locks that runs of this process hold.
_OWN: set[str] = set()


class Lock:
    """The lock of one run. Its file names the host, boot, process, start time of the process, and pid namespace.

    If the process of the holder can be seen from here, it is known whether it is alive. Otherwise it counts as dead
    when its heartbeat is stale.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._id = uuid4().hex
        self._number = 0
        self._held = False
        self._mutex = RLock()
        self._stop = Event()
        #: When the lock was taken, by the clock of the checkpoint's file system.
        self.since = 0.0
        #: The error for this run, if a heartbeat has found that another run has replaced it.
        self.lost: Superseded | None = None

    @property
    def token(self) -> Token:
        """The token of this run, for the records that it writes."""
        return Token(self._number, self._id)

    def acquire(self) -> None:
        """Take the lock, or raise an error that names the holder.

        A dead holder is fenced off, so it can't commit any more.
        """
        files = self._files
        newest = _newest(files)
        died = not files.exists(_released(newest)) if newest else False
        if died:
            self._refuse_alive(_name(newest))
        if files.exists(_SINGLE):
            self._refuse_alive(_SINGLE)
            died = True
        self._number = newest + 1
        # This comes before the file is created: otherwise other runs in this process would take its owner for dead.
        _OWN.add(self._id)
        created = False
        try:
            created = files.create(_name(self._number), _here() | {"token": self._id})
            if not created:
                raise self._in_use(_name(_newest(files)))
            if died:
                write_fence(files, self.token)
            self._check_still_newest()
            self.since = files.written(_name(self._number))
            self._forget()
        except BaseException:
            # This process stays alive, and other runs should not have to wait for it. If a fence was due, the next
            # holder writes it.
            with suppress(Exception):
                if created:
                    files.delete(_name(self._number))
            _OWN.discard(self._id)
            raise
        self._held = True
        Thread(target=self._beat, name="tidegate lock", daemon=True).start()

    def release(self) -> None:
        """Release the lock, if it is held."""
        with self._mutex:
            if not self._held:
                return
            self._held = False
        self._stop.set()
        try:
            if self._is_own():
                self._files.create(_released(self._number), {})
        finally:
            _OWN.discard(self._id)

    def _is_own(self) -> bool:
        """Whether the lock file of this number names this run. True if it can't be read; it may have been deleted."""
        try:
            found = self._files.read(_name(self._number), "the holder of a lock", {})
        except BadCheckpoint:
            return True
        return bool(found.get("token", self._id) == self._id)

    def check(self) -> None:
        """Raise if this run was taken for dead and another has replaced it."""
        newest = _newest(self._files)
        if newest > self._number or (newest == self._number and not self._is_own()):
            raise Superseded(
                f"this run was taken for dead: {_run_in(self._files, _name(newest))} works on {self._files.root} now",
                hint="nothing needs to be done: the other run has continued from the last commit, and no rows are lost",
            )
        if newest < self._number:
            raise BadCheckpoint(
                f"{self._files.path(_name(self._number))}, the lock of this run, is gone",
                hint="only the run may touch what is in its checkpoint; start again",
            )

    def lost_by_now(self) -> TidegateError | None:
        """Return why this run does not hold its lock any more; None if it does, or if that can't be found out."""
        try:
            self.check()
        except TidegateError as error:
            return error
        except Exception:
            return None
        return None

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Keep the lock during a commit; raise if it was released, or if another run has it."""
        with self._mutex:
            if not self._held:
                raise Superseded(
                    f"this run released the lock of {self._files.root} before its step was committed",
                    hint="start again: the step is run once more",
                )
            self.check()
            yield

    def _check_still_newest(self) -> None:
        """Raise if another run has taken a greater number by now; the caller then withdraws."""
        newest = _newest(self._files)
        if newest > self._number:
            raise self._in_use(_name(newest))

    def _refuse_alive(self, name: str) -> None:
        """Raise if the run that a lock file names is alive, or may be."""
        try:
            dead = self._dead(self._files.read(name, "the holder of a lock", _KEYS), name)
        except BadCheckpoint as error:
            if not self._files.exists(name):
                # A newer holder has deleted this file after the names were listed.
                raise self._in_use(_name(_newest(self._files))) from None
            # A power cut may have damaged the file. A run that is alive touches its file.
            if self._stale(name):
                return
            raise CheckpointInUse(
                f"{error.what}; without it, it is not known whether a run works on {self._files.root}",
                # The hint does not say to delete the file: without it, the next run would not write a fence.
                hint=f"start again in a minute: a run that is alive touches {self._files.path(name)} often, and one "
                "that does not is replaced",
            ) from None
        if not dead:
            raise self._in_use(name)

    def _in_use(self, name: str) -> CheckpointInUse:
        return CheckpointInUse(
            f"{self._files.root} is in use by {_run_in(self._files, name)}",
            hint="stop that run first; or take a checkpoint of its own for this one",
        )

    def _dead(self, holder: dict[str, Any], name: str) -> bool:
        here = _here()
        if holder["host"] != here["host"]:
            return self._stale(name)
        if holder.get("boot") != here["boot"]:
            # This machine was rebooted, or another one has the same name. If that one is alive, it has touched the file
            # since.
            return self._stale(name, then=max(time.time() - _STALE, _booted()))
        if holder.get("space", here["space"]) != here["space"]:
            # Containers on one machine may have the same host name, and each has its own process numbers.
            return self._stale(name)
        process = holder["process"]
        if process == here["process"] and holder.get("started") == here["started"]:
            return holder.get("token") not in _OWN
        if not here["started"] or not _read(f"/proc/{process}/stat"):
            # The start time of the process is not known. Process numbers are reused, but a run that is alive touches
            # its file.
            return not _lives(process) or self._stale(name)
        return _started(process) != holder.get("started")

    def _stale(self, name: str, *, then: float | None = None) -> bool:
        """Whether a file was not touched since ``then``, by default a minute ago."""
        try:
            return self._files.written(name) < (time.time() - _STALE if then is None else then)
        except Exception:
            if self._files.exists(name):
                raise
            # A newer holder has just deleted it, so creating the next number will fail.
            return True

    def _forget(self) -> None:
        """Delete the lock files of old runs and of earlier versions."""
        self._files.delete(_SINGLE)
        for name in self._files.names(_DIRECTORY):
            number = name.partition(".")[0]
            if number.isdecimal() and int(number) < self._number - _KEPT:
                self._files.delete(f"{_DIRECTORY}/{name}")
        self._files.sweep(_DIRECTORY, before=self.since - _STALE)

    def _beat(self) -> None:
        while self.lost is None and not self._stop.wait(_BEAT):
            # If a touch fails, the next one follows soon. If the JVM is gone, the run itself fails and releases the
            # lock.
            with suppress(Exception):
                self._files.touch(_name(self._number))
            # This is also done if the touch failed: runs that came later may have deleted the file.
            with suppress(Exception):
                try:
                    self.check()
                except Superseded as error:
                    self.lost = error


@dataclass(frozen=True, slots=True)
class Holder:
    """The run that holds a lock: its number, its process and host, and whether it is alive; None if not known."""

    number: int
    name: str
    alive: bool | None


def holding(files: Files) -> Holder | None:
    """Return the run that holds the lock of a checkpoint; None if it was released."""
    newest = _newest(files)
    name = _name(newest) if newest and not files.exists(_released(newest)) else _SINGLE
    if not files.exists(name):
        return None
    try:
        alive = not Lock(files)._dead(files.read(name, "the holder of a lock", _KEYS), name)
    except (BadCheckpoint, OSError):
        alive = None
    return Holder(newest, _run_in(files, name), alive)


def holder(files: Files) -> str:
    """Return the process and host that hold the lock of a checkpoint, dead or alive; empty if it was released."""
    found = holding(files)
    return found.name if found else ""


def _name(number: int) -> str:
    return f"{_DIRECTORY}/{number}"


def _released(number: int) -> str:
    return f"{_name(number)}.released"


def _newest(files: Files) -> int:
    return max(files.numbers(_DIRECTORY), default=0)


def _run_in(files: Files, name: str) -> str:
    """Return in words which run a lock file names."""
    try:
        found = files.read(name, "the holder of a lock", _KEYS)
    except BadCheckpoint:
        return "another run"
    return f"process {found['process']} on {found['host']}"


def _here() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "process": os.getpid(),
        "started": _started(os.getpid()),
        "space": _link("/proc/self/ns/pid"),
    }


def _booted() -> float:
    """Return when this machine was booted, by its current clock."""
    return time.time() - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # The process exists, and belongs to another user.
        return True
    return True


def _started(process: int) -> str:
    """Return when a process was started, in ticks since boot; empty if it does not exist."""
    stat = _read(f"/proc/{process}/stat")
    # The name of the program, in parentheses, may contain any character.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    # A zombie process does nothing any more.
    return "" if fields[0] == "Z" else fields[19]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
