"""The heartbeat of a run: small files that carry the clock, read by the same query as the sources.

Spark calls a step only for new rows. So that silence can move a frontier, the clock comes as rows, too: what a file
says is what a replay reads again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING

from tidegate.engine.partitions import UNHEARD, Beat, period
from tidegate.engine.policies import policy_of
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Heart", "forget", "heart_of", "read_beats"]

_DIRECTORY = "clock"


class Heart:
    """Writes beats into a checkpoint, one at once and then as often as ``seconds`` says, until it is stopped."""

    def __init__(self, files: Files, *, after: int, seconds: float, clock: Callable[[], float] = time.time) -> None:
        files.make(_DIRECTORY)
        self._files = files
        self._seconds = seconds
        self._clock = clock
        self._next = 1 + max([after, *(_number(name) for name in files.names(_DIRECTORY))])
        self._stopped = Event()
        self.beat()

    def beat(self) -> None:
        """Write down what the clock shows."""
        beat = Beat(self._next, int(self._clock() * 1_000_000))
        self._files.create(f"{_DIRECTORY}/{beat.number}.json", beat.line)
        self._next += 1

    def start(self) -> None:
        """Go on beating beside the run."""
        Thread(target=self._go_on, name="tidegate heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Stop beating."""
        self._stopped.set()

    def _go_on(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self.beat()
            except Exception:  # the next beat is tried; without any, partitions are held to their promises
                continue


def heart_of(flow: Plan, files: Files, *, after: int) -> Heart | None:
    """Return the heartbeat that a flow needs, which goes on after the beat of that number; None if it needs none.

    Raise if a beat that is still to be heard can't be read.
    """
    spans = [idle for source in flow.sources if (idle := policy_of(source).idle)]
    if not spans:
        return None
    for name, size in files.sizes(_DIRECTORY).items():
        # One that is empty has no rows for Spark.
        if _number(name) >= 0 and size:
            files.read(f"{_DIRECTORY}/{name}", "a beat of the clock", {"beat": int, "at": int}, hint=UNHEARD)
    return Heart(files, after=after, seconds=max(1.0, period(min(spans)) / 1_000_000))


def read_beats(spark: SparkSession, files: Files) -> DataFrame:
    """Answer the beats as a stream of texts, ``value``."""
    return spark.readStream.option("maxFileAge", "36500d").text(files.path(_DIRECTORY))


def forget(files: Files, number: int) -> None:
    """Delete the beats up to a number: they were heard, and are in a commit."""
    for name in files.names(_DIRECTORY):
        if 0 <= _number(name) <= number:
            files.delete(f"{_DIRECTORY}/{name}")


def _number(name: str) -> int:
    """Return the number of a beat; -1 of a file that is none."""
    stem = name.removesuffix(".json")
    return int(stem) if stem.isascii() and stem.isdecimal() else -1
