"""Writing the trace of a run. All of it may be lost: so nothing is synced, and what can't be written is left out.

``flow`` describes the flow and is written when a run starts. ``steps`` gets a line of JSON for each step; when it has
grown, it becomes ``steps.before``, and the one of that name is gone. ``now`` says what a run is doing at this moment.

What is not on the disk yet when a commit is synced, the file system may sync with it. So quick steps do not write each:
what they have to say is written together, a moment later.
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
#: When so many bytes of steps are written, they are set aside: several hundred steps.
_LONGEST = 256 * 1024
#: How long the text of ``now`` is, filled up with blanks; and what is told of a failure.
_NOW = 4096
_FAILURE = 1000


class Trace:
    """What a run writes down for those who look on; nothing if its checkpoint is not on a disk of this machine."""

    def __init__(self, files: Files, token: Token, *, every: float = 0.5) -> None:
        self._place = None if files.local is None else files.local / DIRECTORY
        self._token = token
        #: It is not written more often than this, in seconds.
        self.every = every
        self._mutex = Lock()
        self._lines: list[str] = []
        self._now: dict[str, Any] | None = None
        #: When it was written, by the monotonic clock, and what will write it.
        self._written = 0.0
        self._timer: Timer | None = None

    def begin(self, description: Mapping[str, Any]) -> None:
        """Write the description of the flow that begins to run."""
        if self._place is None:
            return
        with suppress(OSError):
            self._place.mkdir(exist_ok=True)
            for name in ("steps", "steps.before"):
                (self._place / name).touch()
            _replace(self._place / "flow", sealed(description))
        self._tell({})

    def begin_step(self, step: int) -> None:
        """Write which step is running."""
        self._tell({"step": step})

    def begin_round(self, step: int, loop: str, number: int, at: Sequence[int | str] | None) -> None:
        """Write that a loop goes round once more, with facts from a time on, in units; None: it is at rest."""
        if at is not None:
            self._tell({"step": step, "round": {"loop": loop, "number": number, "at": list(at)}})

    def end_step(self, metrics: Mapping[str, Any], held: Mapping[str, tuple[int, int]]) -> None:
        """Add a line for a step that was committed; ``held`` has the rows and bytes of each state."""
        self._tell({}, json.dumps({**metrics, "held": held}, separators=(",", ":")))

    def end(self, failure: str) -> None:
        """Write that the run is over; ``failure`` is what it failed with, in one line, if it did."""
        self.every = 0.0
        if self._place is not None and self._place.is_dir():
            self._tell({"over": True, "failure": failure[:_FAILURE]})

    def _tell(self, now: Mapping[str, Any], line: str = "") -> None:
        """Write what the run does now, and a line; at once, or soon, if something was written just before."""
        if self._place is None:
            return
        with self._mutex:
            self._now = {"lock": self._token.lock, "since": time.time(), **now}
            self._lines += [line] if line else []
            wait = self._written + self.every - time.monotonic()
            if wait <= 0:
                self._write()
            elif self._timer is None:
                self._timer = Timer(wait, self._write_later)
                self._timer.daemon = True
                self._timer.start()

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
        # The line break comes first: what a killed run has left of a line is then a line of its own.
        with steps.open("a", encoding="utf-8") as file:
            file.write("".join(f"\n{line}" for line in lines))
            grown = file.tell() > _LONGEST
        if grown:
            steps.replace(self._place / "steps.before")

    def _write_now(self) -> None:
        """Write what the run does over what it did before: in one piece, so that readers seldom find half of each.

        To replace the file would take milliseconds: where a file is replaced, file systems write the new one at once.
        """
        if self._place is None:
            return
        descriptor = os.open(self._place / "now", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.pwrite(descriptor, json.dumps(self._now).encode().ljust(_NOW), 0)
        finally:
            os.close(descriptor)


def _replace(place: Path, text: str) -> None:
    """Write a file anew: whoever reads it finds the old content or the new, whole."""
    hidden = place.with_name(f".{place.name}.{uuid4().hex}{UNFINISHED}")
    hidden.write_text(text, encoding="utf-8")
    os.replace(hidden, place)
