"""The lock of a checkpoint: one run at a time, and a dead one is replaced.

Each run that takes the lock creates the next file ``locks/N``, which names it: the holder is the one of the greatest
number. It gives the lock back by creating ``locks/N.released``. Why there is one holder:

- A file is created only if there is none, so each number has one owner. Who starts reads the greatest number N and, if
  N was given back or its owner is dead, creates N + 1: of several, one succeeds. The others are told who it is.
- No number comes again. Holders delete old files, except those of the last few numbers. Whoever was so slow that the
  number it creates was deleted already, or that it was replaced meanwhile, finds a greater one when it looks once more
  before it does anything, and withdraws. If someone deletes the file of a run that lives, another may be given its
  number; it names that one then, and the first one stops.
- Only the owner marks its number as given back, and after that it can't commit: in its process, a commit and giving
  back exclude each other.
- An owner that did not give its number back may live although it seems dead: on a host that can't be reached, on a
  machine that was suspended. So the next holder writes a fence into the log (`log.py`) before it looks once more. If it
  dies before that, its own number is not given back either, and the one after it writes the fence.
- A run that was replaced sees the greater number at its next heartbeat, and when a step begins, commits and ends.
  Between those, the fence stops it. What it may still delete, nobody needs: see `Engine`.
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
#: How many numbers are kept that are not in use any more.
_KEPT = 10
_DIRECTORY = "locks"
#: The one file that earlier versions had, which they deleted to give it back.
_SINGLE = "lock"
_KEYS = {"host": str, "process": int}
#: The locks that runs of this process hold.
_OWN: set[str] = set()


class Lock:
    """A file that names its holder: host, boot, process, when that started, and the namespace that it is in.

    Where the process of the holder can be seen, so can whether it lives. From elsewhere, its heartbeat must be stale.
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
        #: What a heartbeat has found: the run that has replaced this one.
        self.lost: Superseded | None = None

    @property
    def token(self) -> Token:
        """Who this is, for the records that it writes."""
        return Token(self._number, self._id)

    def acquire(self) -> None:
        """Take the lock, or raise with the holder's name. A holder that has died is kept out for good."""
        files = self._files
        newest = _newest(files)
        died = not files.exists(_released(newest)) if newest else False
        if died:
            self._refuse_alive(_name(newest))
        if files.exists(_SINGLE):
            self._refuse_alive(_SINGLE)
            died = True
        self._number = newest + 1
        # Before the file is there: others in this process would take its owner for dead.
        _OWN.add(self._id)
        created = False
        try:
            created = files.create(_name(self._number), _here() | {"token": self._id})
            if not created:
                raise self._in_use(_name(_newest(files)))
            if died:
                write_fence(files, self.token)
            self._look_again()
            self.since = files.written(_name(self._number))
            self._forget()
        except BaseException:
            # The process goes on, and nobody should wait for it. A fence that was due is due for the next.
            with suppress(Exception):
                if created:
                    files.delete(_name(self._number))
            _OWN.discard(self._id)
            raise
        self._held = True
        Thread(target=self._beat, name="tidegate lock", daemon=True).start()

    def release(self) -> None:
        """Give the lock back; nothing if it is not held."""
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
        """Whether the file of this number names this run, as far as it can be read; someone may have deleted it."""
        try:
            found = self._files.read(_name(self._number), "the holder of a lock", {})
        except BadCheckpoint:
            return True
        return bool(found.get("token", self._id) == self._id)

    def check(self) -> None:
        """Raise if this run was taken for dead, and another has replaced it."""
        newest = _newest(self._files)
        if newest > self._number or (newest == self._number and not self._is_own()):
            raise Superseded(
                f"this run was taken for dead: {_told(self._files, _name(newest))} works on {self._files.root} now",
                hint="let this one be; nothing of it is lost, the other has gone on from the last commit",
            )
        if newest < self._number:
            raise BadCheckpoint(
                f"{self._files.path(_name(self._number))}, the lock of this run, is gone",
                hint="only the run may touch what is in its checkpoint; start again",
            )

    def lost_by_now(self) -> TidegateError | None:
        """Return why this run does not hold its lock any more; None if it does, or nobody can tell."""
        try:
            self.check()
        except TidegateError as error:
            return error
        except Exception:
            return None
        return None

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Hold the lock for the time of a commit; raise if it was given back, or another run has it."""
        with self._mutex:
            if not self._held:
                raise Superseded(
                    f"this run has given back {self._files.root} before its step was committed",
                    hint="start again: the step is run once more",
                )
            self.check()
            yield

    def _look_again(self) -> None:
        """Raise if there is a greater number by now: this one is taken back then."""
        newest = _newest(self._files)
        if newest > self._number:
            raise self._in_use(_name(newest))

    def _refuse_alive(self, name: str) -> None:
        """Raise if the run that a file names lives, or may live."""
        try:
            dead = self._dead(self._files.read(name, "the holder of a lock", _KEYS), name)
        except BadCheckpoint as error:
            if not self._files.exists(name):
                # It was old when the names were listed, and a newer holder has deleted it.
                raise self._in_use(_name(_newest(self._files))) from None
            # A power cut may have left it so. Whoever lives touches its file.
            if self._stale(name):
                return
            raise CheckpointInUse(
                f"{error.what}: so it can't be known whether a run works on {self._files.root}",
                # Not to delete it: without it, nobody would write a fence.
                hint=f"start again in a minute: whoever lives touches {self._files.path(name)}, and one that nobody "
                "has touched by then is replaced",
            ) from None
        if not dead:
            raise self._in_use(name)

    def _in_use(self, name: str) -> CheckpointInUse:
        return CheckpointInUse(
            f"{self._files.root} is in use by {_told(self._files, name)}",
            hint="stop that run first; or take a checkpoint of its own for this one",
        )

    def _dead(self, holder: dict[str, Any], name: str) -> bool:
        here = _here()
        if holder["host"] != here["host"]:
            return self._stale(name)
        if holder.get("boot") != here["boot"]:
            # This machine was started again, or there is another of its name: that one has touched the file since.
            return self._stale(name, then=max(time.time() - _STALE, _booted()))
        if holder.get("space", here["space"]) != here["space"]:
            # Containers share a machine and may share its name, and each has numbers of processes of its own.
            return self._stale(name)
        process = holder["process"]
        if process == here["process"] and holder.get("started") == here["started"]:
            return holder.get("token") not in _OWN
        if not here["started"] or not _read(f"/proc/{process}/stat"):
            # Nothing tells when it was started. A number comes again, but whoever lives touches its file.
            return not _lives(process) or self._stale(name)
        return _started(process) != holder.get("started")

    def _stale(self, name: str, *, then: float | None = None) -> bool:
        """Whether nobody has touched a file since ``then``, a minute ago if it is not given."""
        try:
            return self._files.written(name) < (time.time() - _STALE if then is None else then)
        except Exception:
            if self._files.exists(name):
                raise
            # A newer holder has deleted it just now; the number that comes next is taken.
            return True

    def _forget(self) -> None:
        """Delete what is left of runs long ago, and of earlier versions."""
        self._files.delete(_SINGLE)
        for name in self._files.names(_DIRECTORY):
            number = name.partition(".")[0]
            if number.isdecimal() and int(number) < self._number - _KEPT:
                self._files.delete(f"{_DIRECTORY}/{name}")
        self._files.sweep(_DIRECTORY, before=self.since - _STALE)

    def _beat(self) -> None:
        while self.lost is None and not self._stop.wait(_BEAT):
            # One that fails is made up for by the next. A run whose JVM is gone fails, and gives the lock back.
            with suppress(Exception):
                self._files.touch(_name(self._number))
            # Also if there is nothing to touch: others that came after this run may have deleted its file.
            with suppress(Exception):
                try:
                    self.check()
                except Superseded as error:
                    self.lost = error


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: its number, who it is in words, and whether it lives; None if nobody can tell."""

    number: int
    name: str
    alive: bool | None


def holding(files: Files) -> Holder | None:
    """Return who holds the lock of a checkpoint; None if it was given back."""
    newest = _newest(files)
    name = _name(newest) if newest and not files.exists(_released(newest)) else _SINGLE
    if not files.exists(name):
        return None
    try:
        alive = not Lock(files)._dead(files.read(name, "the holder of a lock", _KEYS), name)
    except (BadCheckpoint, OSError):
        alive = None
    return Holder(newest, _told(files, name), alive)


def holder(files: Files) -> str:
    """Return the process and host that hold the lock of a checkpoint, dead or alive; empty if it was given back."""
    found = holding(files)
    return found.name if found else ""


def _name(number: int) -> str:
    return f"{_DIRECTORY}/{number}"


def _released(number: int) -> str:
    return f"{_name(number)}.released"


def _newest(files: Files) -> int:
    return max(files.numbers(_DIRECTORY), default=0)


def _told(files: Files, name: str) -> str:
    """Return who a file names, in words."""
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
    """Return when this machine was started, by its clock of now."""
    return time.time() - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
    """Return when a process was started, in ticks since boot; empty if there is none."""
    stat = _read(f"/proc/{process}/stat")
    # The name of the program, in parentheses, may contain anything.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    # A killed process that nobody has waited for yet does nothing any more.
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
