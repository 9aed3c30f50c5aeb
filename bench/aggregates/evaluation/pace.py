"""Rows that come at a rate: when each is due, which of them a file has, and a process that moves files into place.

A row is due when the rate says so, whether or not the source manages to send it then. Latency counts from that: a
source that falls behind makes rows late, and not the questions about them. A file has the rows of a tick, and is
moved into the directory when the last of them is due. Files are written ahead of that, as far as memory for them is
allowed.

The event time of a row is when it is due, counted from `START`: a window of three seconds has the rows of three
seconds, and a Join compares the more pairs for each row, the higher the rate is.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

__all__ = ["START", "Pace", "Part", "rows_of", "send", "write_file"]

#: The event time of the first row. All windows of the queries begin there.
START = datetime(2026, 1, 1, tzinfo=UTC)
#: How much may be written ahead of when it is due, in bytes.
_AHEAD = 1_500_000_000
#: A moment between the word that all is ready and the first row that is due, in seconds.
_SOON = 0.1


@dataclass(frozen=True, slots=True)
class Part:
    """What a file has: its number, its first row, how many, and when the file is due, in seconds from the beginning."""

    number: int
    first: int
    rows: int
    due: float

    @property
    def name(self) -> str:
        """Return the name of the file; names sort as files come."""
        return f"{self.number:07}.parquet"


@dataclass(frozen=True, slots=True)
class Pace:
    """So many rows a second for some seconds, in a file for each tick.

    >>> pace = Pace(rate=100, seconds=1, tick=0.25)
    >>> pace.rows, pace.due(50), [(part.first, part.rows, part.due) for part in pace.parts()]
    (100, 0.5, [(0, 25, 0.25), (25, 25, 0.5), (50, 25, 0.75), (75, 25, 1.0)])
    """

    rate: float
    seconds: float
    tick: float = 0.05

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return round(self.rate * self.seconds)

    def due(self, row: int) -> float:
        """Return when a row is due, in seconds from the beginning."""
        return row / self.rate

    def parts(self) -> Iterator[Part]:
        """Yield what each file has; a tick without rows has none."""
        first = number = ticks = 0
        while first < self.rows:
            ticks += 1
            until = min(self.rows, round(ticks * self.tick * self.rate))
            if until > first:
                yield Part(number, first, until - first, ticks * self.tick)
                first, number = until, number + 1


def rows_of(pool: pa.Table, first: int, count: int, rate: float) -> pa.Table:
    """Return rows of a pool that is repeated, with their event times and, where they have one, their number as id."""
    numbers = pa.array(range(first, first + count), pa.int64())
    # Whole columns at once: who sends many rows is not to need a core for it.
    micros = pc.round(pc.multiply(pc.divide(numbers.cast(pa.float64()), rate), 1e6)).cast(pa.int64())
    at = pc.add(micros, round(START.timestamp() * 1e6)).cast(_INSTANT)
    begin, pieces = first % pool.num_rows, []
    left = count
    while left:
        pieces.append(pool.slice(begin, left))
        left -= pieces[-1].num_rows
        begin = 0
    found = pa.concat_tables(pieces).add_column(0, pa.field("ts", _INSTANT), at)
    if "id" in found.column_names:
        place = found.column_names.index("id")
        type_ = found.schema.field("id").type
        found = found.set_column(place, pa.field("id", type_), numbers.cast(type_))
    return found.combine_chunks()


_INSTANT = pa.timestamp("us", tz="UTC")


def write_file(rows: pa.Table, path: Path) -> None:
    """Write rows as a file that appears whole, under its name, or not at all."""
    aside = path.with_name(f".{path.name}")
    _written(rows, aside)
    aside.rename(path)


def _written(rows: pa.Table, path: Path) -> None:
    parquet.write_table(rows, path, compression="none", use_dictionary=False, write_statistics=False)


def send(
    pace: Pace,
    pool: pa.Table,
    place: Path,
    *,
    began: Callable[[], float],
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    ahead: int = _AHEAD,
) -> float:
    """Move files into a directory when they are due; return by how many seconds the latest of them was late.

    ``began`` is called when as much as may be is written, and returns when the beginning is, by the clock.
    """
    each = max(1, pool.nbytes // pool.num_rows)
    waiting: list[Part] = []
    parts = pace.parts()
    start: float | None = None
    worst, held = 0.0, 0
    more: Part | None = next(parts, None)
    while more is not None or waiting:
        if start is not None:
            while waiting and start + waiting[0].due <= clock():
                part = waiting.pop(0)
                (place / f".{part.name}").rename(place / part.name)
                worst, held = max(worst, clock() - start - part.due), held - part.rows * each
        if more is not None and (held < ahead or not waiting):
            _written(rows_of(pool, more.first, more.rows, pace.rate), place / f".{more.name}")
            waiting.append(more)
            held += more.rows * each
            more = next(parts, None)
        elif start is None:
            start = began()
        elif waiting:
            sleep(max(0.0, min(start + waiting[0].due - clock(), 0.5)))
    return worst


def main() -> None:
    """Send as the arguments say; write ``ready``, wait for a line, write when it begins, then how late it was."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    pool = parquet.read_table(given["pool"])

    def began() -> float:
        print("ready", flush=True)
        sys.stdin.readline()
        at = time.time() + _SOON
        print(at, flush=True)
        return at

    print(send(Pace(**given["pace"]), pool, Path(given["place"]), began=began), flush=True)


def arguments(pace: Pace, pool: Path, place: Path) -> str:
    """Return what `main` is given."""
    return json.dumps({"pace": asdict(pace), "pool": str(pool), "place": str(place)})


if __name__ == "__main__":
    main()
