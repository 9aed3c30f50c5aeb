"""Calendars: when days and months begin, in units of a time column since the epoch.

A calendar counts days or months since 1970. A day begins at the first instant whose local date is at or after its date.
For a time zone, all of this is computed from one table of the times at which its clocks were put forward or back. The
table is read once from the machine's time zone data, and all engines use it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

from tidegate.flow.spans import EPOCH

__all__ = [
    "BUCKET",
    "DAY",
    "FIRST_YEAR",
    "SECOND",
    "Calendar",
    "ZoneTable",
    "calendar_of",
    "data_version",
    "zone_table",
]

#: A day, in microseconds.
DAY = 86_400 * 10**6
#: The years that the table of a zone covers: from the first up to, and without, the last.
FIRST_YEAR, LAST_YEAR = 1900, 2200
#: How many days are looked up together.
BUCKET = 366

_MICROSECOND = timedelta(microseconds=1)
#: A second, in microseconds.
SECOND = 10**6


@dataclass(frozen=True, slots=True)
class ZoneTable:
    """The times at which the clocks of a zone are put forward or back, in order, the beginning of the table first.

    From ``since[j]`` on, local time is ``offsets[j]`` ahead of UTC, all in microseconds. ``reached[j]`` is the last
    local day that has begun before that. If clocks are put back to before midnight, this day does not begin again.
    """

    since: tuple[int, ...]
    offsets: tuple[int, ...]
    reached: tuple[int, ...]
    #: The first instant, and the one after the last.
    low: int
    high: int

    def day(self, at: int) -> int:
        """Return the day of an instant: the greatest that has begun by then."""
        j = bisect_right(self.since, at) - 1
        return max((at + self.offsets[j]) // DAY, self.reached[j])

    def begin(self, day: int) -> int:
        """Return the first instant of a day; if the zone skipped this day, that of the next day."""
        j = max(bisect_left(self.reached, day) - 1, 0)
        return max(self.since[j], day * DAY - self.offsets[j])

    def digest(self) -> list[str]:
        """Return a hash for each year, which is equal in two tables if the days of that year begin at equal times."""
        found = []
        for year in range(FIRST_YEAR, LAST_YEAR):
            first = (datetime(year, 1, 1) - EPOCH).days
            days = range(first, (datetime(year + 1, 1, 1) - EPOCH).days)
            text = ",".join(str(self.begin(day) - day * DAY) for day in days)
            found.append(hashlib.sha256(text.encode()).hexdigest()[:6])
        return found


@lru_cache(maxsize=64)
def zone_table(name: str) -> ZoneTable:
    """Return the table of a zone.

    >>> table = zone_table("Europe/Berlin")
    >>> (table.begin(20454) - 20454 * DAY) // 3_600_000_000  # in winter, an hour before that of UTC
    -1
    """
    zone = ZoneInfo(name)
    low, high = (_micros(datetime(year, 1, 1)) for year in (FIRST_YEAR, LAST_YEAR))
    since, offsets = [low], [_offset(zone, low)]
    at, step = low, 7 * DAY
    while at < high:
        following = at + step
        if _offset(zone, following) != offsets[-1] or _offset(zone, at + step // 2) != offsets[-1]:
            # Find each change in between: the first instant that has another offset.
            for day in range(14):
                a, b = at + day * DAY // 2, at + (day + 1) * DAY // 2
                if _offset(zone, b) != offsets[-1]:
                    since.append(_change(zone, a, b))
                    offsets.append(_offset(zone, since[-1]))
        at = following
    reached = [(low + offsets[0]) // DAY - 1]
    for j in range(1, len(since)):
        reached.append(max((since[j] - 1 + offsets[j - 1]) // DAY, reached[-1]))
    return ZoneTable(tuple(since), tuple(offsets), tuple(reached), low, high)


def _change(zone: ZoneInfo, a: int, b: int) -> int:
    """Return the first instant after ``a`` at which the offset is that of ``b``, in whole seconds."""
    before = _offset(zone, a)
    while b - a > SECOND:
        middle = a + (b - a) // 2 // SECOND * SECOND
        a, b = (middle, b) if _offset(zone, middle) == before else (a, middle)
    return b


def _offset(zone: ZoneInfo, at: int) -> int:
    found = (EPOCH + at * _MICROSECOND).replace(tzinfo=UTC).astimezone(zone).utcoffset()
    return (found or timedelta(0)) // _MICROSECOND


def _micros(instant: datetime) -> int:
    return (instant - EPOCH) // _MICROSECOND


def data_version() -> str:
    """Return the version of the machine's time zone data; empty if the data does not say."""
    for path in TZPATH:
        file = Path(path, "tzdata.zi")
        if file.is_file():
            with file.open(encoding="utf-8") as lines:
                return lines.readline().removeprefix("# version").strip()
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except ImportError:
        return ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days or months since 1970, in units of a time column.

    ``unit`` is ``day`` or ``month``, and ``day`` is the length of a day in units. ``table`` is None in UTC, and if
    times have no zone.
    """

    unit: str
    day: int
    table: ZoneTable | None = None

    def index(self, at: int) -> int:
        """Return which day or month a time is in.

        >>> Calendar("month", 1).index(31), Calendar("month", 1).index(-1)
        (1, -1)
        """
        day = at // self.day if self.table is None else self.table.day(at)
        return day if self.unit == "day" else month_of(day)

    def begin(self, index: int) -> int:
        """Return when a day or a month begins.

        >>> [Calendar("month", 1).begin(n) for n in (-1, 0, 1, 2, 12)]
        [-31, 0, 31, 59, 365]
        """
        day = index if self.unit == "day" else first_day(index)
        return day * self.day if self.table is None else self.table.begin(day)

    def longest(self, size: int) -> int:
        """Return a length that is longer than any span of so many days or months."""
        days = size if self.unit == "day" else 31 * size
        return (days + 2) * self.day


def calendar_of(unit: str, zone: str, type_: str) -> Calendar:
    """Return the calendar of a zone, for a column of a type."""
    return Calendar(unit, 1 if type_ == "DATE" else DAY, None if zone == "UTC" else zone_table(zone))


def month_of(day: int) -> int:
    """Return the month that a day is in, both counted from January 1970."""
    # Count years from March: then the leap day is the last day of a year.
    era, doe = divmod(day + 719_468, 146_097)
    year = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    of_year = doe - (365 * year + year // 4 - year // 100)
    return 12 * (year + 400 * era) + (5 * of_year + 2) // 153 - 23_638


def first_day(month: int) -> int:
    """Return the first day of a month, both counted from January 1970."""
    year, of_year = divmod(month + 23_638, 12)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * of_year + 2) // 5 - 719_468
