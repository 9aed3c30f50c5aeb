"""Writing the trace of a run. It may be lost, so nothing is synced, and errors in writing it are ignored.

``flow`` describes the flow and is written when a run starts. ``steps`` gets a line of JSON for each step. When it has
grown too long, it is renamed to ``steps.before``, which replaces the file of that name. ``now`` says what the run is
doing at this moment.

When a commit is synced, the file system may sync the trace with it, which takes time. So quick steps do not write every
time: their lines are written together, a moment later.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any
from uuid import uuid4

from tidegate.engine.storage.disk import UNFINISHED
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import Token
from tidegate.engine.storage.sealed import sealed

__all__ = ["DIRECTORY", "Trace"]

#: The directory of the trace in a checkpoint.
DIRECTORY = "trace"
#: When ``steps`` has this many bytes, several hundred steps, it is renamed.
_LONGEST = 256 * 1024
#: The length of ``now``, padded with blanks; and the greatest length of the text of a failure.
_NOW = 4096
_FAILURE = 1000


class Trace:
    """The trace that a run writes. Nothing is written if the checkpoint is not on a local disk."""

    def __init__(self, files: Files, token: Token, *, every: float = 0.5) -> None:
        self._place = None if files.local is None else files.local / DIRECTORY
        self._token = token
        #: The least time between two writes, in seconds.
        self.every = every
        self._mutex = Lock()
        self._lines: list[str] = []
        self._now: dict[str, Any] | None = None
        #: The monotonic time of the last write, and the timer of the next one.
        self._written = 0.0
        self._timer: Timer | None = None

    def begin(self, description: Mapping[str, Any]) -> None:
        """Write the description of the flow, when a run starts."""
        if self._place is None:
            return
        with suppress(OSError):
            self._place.mkdir(exist_ok=True)
            for name in ("steps", "steps.before"):
                (self._place / name).touch()
            _replace(self._place / "flow", sealed(description))
        self._record({})

    def begin_step(self, step: int) -> None:
        """Write which step is running."""
        self._record({"step": step})

    def begin_round(self, step: int, loop: str, number: int, at: Sequence[int | str] | None) -> None:
        """Write that a loop begins a round, with facts from a time on, in units.

        With None the loop has ended, and nothing is written.
        """
        if at is not None:
            self._record({"step": step, "round": {"loop": loop, "number": number, "at": list(at)}})

    def end_step(self, metrics: Mapping[str, Any], held: Mapping[str, tuple[int, int]]) -> None:
        """Add a line for a committed step; ``held`` has the rows and bytes of each state."""
        self._record({}, json.dumps({**metrics, "held": held}, separators=(",", ":")))

    def end(self, failure: str) -> None:
        """Write that the run is over; ``failure`` is its error in one line, or empty."""
        self.every = 0.0
        # The run gives its lock back after this, whatever has become of the disk.
        with suppress(OSError):
            if self._place is not None and self._place.is_dir():
                self._record({"over": True, "failure": failure[:_FAILURE]})

    def _record(self, now: Mapping[str, Any], line: str = "") -> None:
        """Write what the run is doing, and a line; at once, or a little later if something was just written."""
        if self._place is None:
            return
        with self._mutex:
            self._now = {"lock": self._token.lock, "since": time.time(), **now}
            self._lines += [line] if line else []
            wait = self._written + self.every - time.monotonic()
            if wait <= 0:
                self._write()
            elif self._timer is None:
                self._start_timer(wait)

    def _start_timer(self, wait: float) -> None:
        timer = Timer(wait, self._write_later)
        timer.daemon = True
        # If no thread can be started any more, the next call writes.
        with suppress(RuntimeError):
            timer.start()
            self._timer = timer

    def _write_later(self) -> None:
        with self._mutex:
            if self._timer is not None:
                self._write()

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._written = None, time.monotonic()
        lines, self._lines = self._lines, []
        with suppress(OSError):
            self._write_lines(lines)
            self._write_now()

    def _write_lines(self, lines: Sequence[str]) -> None:
        if not lines or self._place is None:
            return
        steps = self._place / "steps"
        # The line break comes first, so that the incomplete line of a killed run ends there.
        with steps.open("a", encoding="utf-8") as file:
            file.write("".join(f"\n{line}" for line in lines))
            grown = file.tell() > _LONGEST
        if grown:
            steps.replace(self._place / "steps.before")

    def _write_now(self) -> None:
        """Overwrite ``now`` in one write, so that readers seldom see a mix of old and new.

        Replacing the file would take milliseconds, because file systems then write the new one to the disk at once.
        """
        if self._place is None:
            return
        descriptor = os.open(self._place / "now", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            text = json.dumps(self._now).encode().ljust(_NOW)
            os.pwrite(descriptor, text, 0)
            # The text before may have been longer: letters that are not ASCII take six bytes or twelve.
            if os.fstat(descriptor).st_size > len(text):
                os.ftruncate(descriptor, len(text))
        finally:
            os.close(descriptor)


def _replace(place: Path, text: str) -> None:
    """Replace a file. Readers find the old content or the new content, never a mix."""
    hidden = place.with_name(f".{place.name}.{uuid4().hex}{UNFINISHED}")
    try:
        hidden.write_text(text, encoding="utf-8")
        os.replace(hidden, place)
    except OSError:
        # On a full disk, each start would leave one more.
        hidden.unlink(missing_ok=True)
        raise
