"""Windows by the calendar, from the definition: one begins at the first instant whose local date is at or after its.

It does not share any code with how engines find that: instants are tried one after the other.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from tidegate.flow.plan import CalendarFrame

__all__ = ["calendar_windows"]


def calendar_windows(frame: CalendarFrame, value: Any) -> list[tuple[Any, Any]]:
    """Return the windows that a time is in: where they begin, and where they end.

    >>> frame = CalendarFrame("t", "month", 2, 1, 0, "UTC")
    >>> [(str(a), str(b)) for a, b in calendar_windows(frame, date(2024, 2, 29))]
    [('2024-01-01', '2024-03-01'), ('2024-02-01', '2024-04-01')]
    """
    at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    near = _count(frame.unit, _local(frame.zone, at))
    found = []
    for k in range(near - frame.size - 3, near + 4):
        if (k - frame.offset) % frame.every:
            continue
        try:
            start, end = (_begins(frame.zone, _date(frame.unit, n)) for n in (k, k + frame.size))
        except (ValueError, OverflowError):
            # Beyond all dates: a row in such a window was rejected.
            continue
        if start <= at < end:
            found.append((start, end) if isinstance(value, datetime) else (start.date(), end.date()))
    return found


def _count(unit: str, day: date) -> int:
    return (day - date(1970, 1, 1)).days if unit == "day" else (day.year - 1970) * 12 + day.month - 1


def _date(unit: str, count: int) -> date:
    if unit == "day":
        return date(1970, 1, 1) + timedelta(days=count)
    return date(1970 + count // 12, count % 12 + 1, 1)


def _local(zone: str, at: datetime) -> date:
    return at.date() if zone == "UTC" else at.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).date()


@lru_cache(maxsize=10_000)
def _begins(zone: str, day: date) -> datetime:
    midnight = datetime(day.year, day.month, day.day)
    if zone == "UTC":
        return midnight
    # No clock is further from UTC than this, or is put forward by more.
    at = midnight - timedelta(hours=40)
    for step in (timedelta(minutes=15), timedelta(seconds=1)):
        while _local(zone, at + step) < day:
            at += step
    return at + timedelta(seconds=1)
