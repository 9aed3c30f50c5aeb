"""The heartbeat of a run: small files with the time of the clock, read by the same query as the sources.

Spark runs a step only for new rows. To let frontiers move without rows, the time of the clock is read as rows, too. If
a step is run again, it reads the same files, and sees the same times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING

from tidegate.engine.partitions import UNREADABLE_BEAT, Beat
from tidegate.engine.policies import policy_of
from tidegate.engine.storage.files import Files
from tidegate.flow.clocks import Clock
from tidegate.flow.plan import Plan
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Heartbeat", "Ticker", "delete_beats", "heartbeat_of", "read_beats", "read_ticks", "ticker_of"]

_DIRECTORY = "clock"
_TICKS = "ticks"


class Heartbeat:
    """Writes beats into a checkpoint, the first at once and then every ``seconds``, until it is stopped."""

    directory = _DIRECTORY

    def __init__(self, files: Files, *, after: int, seconds: float, clock: Callable[[], float] = time.time) -> None:
        files.make(self.directory)
        self._files = files
        self._seconds = seconds
        self._clock = clock
        self._last = max([after, *(_number(name) for name in files.names(self.directory))])
        self._stopped = Event()
        self.beat()

    def beat(self) -> None:
        """Write the current time of the clock."""
        self._write(Beat(self._last + 1, int(self._clock() * 1_000_000)))

    def _write(self, beat: Beat) -> None:
        self._files.create(f"{self.directory}/{beat.number}.json", beat.line)
        self._last = beat.number

    def start(self) -> None:
        """Keep writing beats in a thread."""
        Thread(target=self._beat_until_stopped, name="tidegate heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Stop writing beats."""
        self._stopped.set()

    def _beat_until_stopped(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self.beat()
            except Exception:  # the next beat is tried; without beats, idle partitions hold times back
                continue


class Ticker(Heartbeat):
    """Writes the ticks of a source, each once. The number of a tick is its time."""

    def __init__(
        self, files: Files, name: str, every: int, *, after: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.directory = f"{_TICKS}/{name}"
        self._every = every
        # Ten times per tick, so that ticks are not late; but not more often than ten times per second.
        super().__init__(files, after=after, seconds=max(0.1, every / 10_000_000), clock=clock)

    def beat(self) -> None:
        """Write the tick that is due, unless it was written."""
        now = int(self._clock() * 1_000_000)
        tick = now - now % self._every
        if tick > self._last:
            self._write(Beat(tick, tick))


def ticker_of(name: str, clock: Clock, files: Files, after: int | None) -> Ticker:
    """Return the writer of the ticks of a source, which starts after the last one that was read."""
    return Ticker(files, name, clock.every, after=-1 if after is None else after)


def read_ticks(spark: SparkSession, files: Files, name: str, column: str) -> DataFrame:
    """Return the ticks of a source as a stream of instants."""
    lines = spark.readStream.option("maxFileAge", "36500d").text(files.path(f"{_TICKS}/{name}"))
    return lines.selectExpr(f"timestamp_micros(CAST(get_json_object(value, '$.at') AS BIGINT)) AS {quoted(column)}")


def heartbeat_of(flow: Plan, files: Files, *, after: int) -> Heartbeat | None:
    """Return the heartbeat of a flow, which continues after the beat ``after``; None if the flow needs none.

    Raise if a beat that was not received yet can't be read.
    """
    periods = [period for source in flow.sources if (period := policy_of(source).clock_period)]
    if not periods:
        return None
    for name, size in files.sizes(_DIRECTORY).items():
        # An empty file has no rows for Spark.
        if _number(name) >= 0 and size:
            files.read(f"{_DIRECTORY}/{name}", "a beat of the clock", {"beat": int, "at": int}, hint=UNREADABLE_BEAT)
    return Heartbeat(files, after=after, seconds=min(periods) / 1_000_000)


def read_beats(spark: SparkSession, files: Files) -> DataFrame:
    """Return the beats as a stream of strings, ``value``."""
    return spark.readStream.option("maxFileAge", "36500d").text(files.path(_DIRECTORY))


def delete_beats(files: Files, number: int, ticks_of: str = "") -> None:
    """Delete the beats, or the ticks of a source, up to a number. They were received and are in a commit."""
    directory = f"{_TICKS}/{ticks_of}" if ticks_of else _DIRECTORY
    for name in files.names(directory):
        if 0 <= _number(name) <= number:
            files.delete(f"{directory}/{name}")


def _number(name: str) -> int:
    """Return the number of a beat; -1 for any other file."""
    stem = name.removesuffix(".json")
    return int(stem) if stem.isascii() and stem.isdecimal() else -1
