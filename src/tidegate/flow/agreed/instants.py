"""Reads instants in texts as Spark does. Only literals can be read: they become numbers in DuckDB's SQL.

>>> read_instant("2020-03", zoned=True) == read_instant("2020-03-01 02:00:00+02:00", zoned=True)
True
>>> read_instant("2020-03-01 24:00:00", zoned=True) is None
True
"""

from __future__ import annotations

import re

from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Given

__all__ = ["INSTANTS", "check_word", "instant_of_text", "read_instant"]

#: Types of instants, and whether an offset from UTC in a text has an effect.
INSTANTS = {"TIMESTAMP": True, "TIMESTAMP_NTZ": False}

#: What Java trims from both ends: spaces and control characters.
_TRIMMED = "".join(map(chr, range(0x21))) + "\x7f"
_TEXT = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?)?",
    re.DOTALL,
)
_OFFSET = re.compile(
    r"([+-])(?:([0-9]{1,2})|([0-9]{1,2}):([0-9]{1,2})|([0-9]{2})([0-9]{2})|([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"|([0-9]{2})([0-9]{2})([0-9]{2}))"
)
_UTC = re.compile(r"(?:UTC|GMT|UT)(?=[+-]|\Z)")
_CLOCK = re.compile(r"T|[0-9]{1,2}:")
_WORDS = ("now", "today", "tomorrow", "yesterday", "epoch")
_DAY = "its value depends on the day on which it is computed"
_MOST_HOURS = 18
#: The first and the last instant of DuckDB; Spark has a few more.
_FIRST, _LAST = -9_223_372_022_400_000_000, 2**63 - 2


def read_instant(text: str, *, zoned: bool) -> int | None:
    """Return the microseconds since the epoch that a text stands for, or None if Spark fails on it.

    For a type without a zone, ``zoned`` is false: an offset in the text is then checked, but has no effect.
    """
    text = text.strip(_TRIMMED)
    found = _TEXT.fullmatch(text)
    if found is None:
        return _without_date(text, zoned=zoned)
    sign, year, *parts = found.groups()
    fraction, zone = parts[-2:]
    month, day = (int(part or 1) for part in parts[:2])
    hour, minute, second = (int(part or 0) for part in parts[2:5])
    number = int(year) * (-1 if sign == "-" else 1)
    if not 1 <= month <= 12 or not 1 <= day <= _days_of(number, month) or hour > 23 or minute > 59 or second > 59:
        return None
    away = _offset(zone or "")
    if away is None:
        return None
    seconds = ((_days(number, month, day) * 24 + hour) * 60 + minute) * 60 + second - (away if zoned else 0)
    micros = seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))
    if not -(2**63) <= micros < 2**63:
        return None
    if not _FIRST <= micros <= _LAST:
        raise MeaningDiffers("it is outside of the timestamps that DuckDB has")
    return micros


def _without_date(text: str, *, zoned: bool) -> int | None:
    check_word(text)
    if zoned and _CLOCK.match(text):
        raise MeaningDiffers(_DAY)
    return None


def check_word(text: str) -> None:
    """Raise if a literal may be a word such as ``now`` or ``today``, whose meaning depends on when a query runs."""
    if text.strip(_TRIMMED).lower().startswith(_WORDS):
        raise MeaningDiffers(_DAY)


def _offset(zone: str) -> int | None:
    """Return how many seconds a zone is ahead of UTC, or None if there is no such zone."""
    zone = zone.strip(_TRIMMED)
    plain = _UTC.sub("", zone, count=1) if zone != "Z" else ""
    if not plain:
        return 0
    found = _OFFSET.fullmatch(plain)
    if found is None:
        if plain[0] in "+-":
            return None
        raise MeaningDiffers("it has a time zone with a name; write an offset such as +02:00")
    numbers = [int(part) for part in found.groups()[1:] if part is not None]
    hours, minutes, seconds = [*numbers, 0, 0][:3]
    away = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or away > _MOST_HOURS * 3600:
        return None
    return -away if found[1] == "-" else away


def _days(year: int, month: int, day: int) -> int:
    """Return the days since the epoch, in the Gregorian calendar also before 1582. Here, years begin in March."""
    year -= month < 3
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


def _days_of(year: int, month: int) -> int:
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return _days(*following, 1) - _days(year, month, 1)


def instant_of_text(given: Given) -> str:
    """Return the instant that a literal stands for; in UTC, unless it has an offset."""
    text = given.literal(0)
    if not isinstance(text, str):
        raise MeaningDiffers("only a literal can be cast from STRING to a timestamp")
    micros = read_instant(text, zoned=INSTANTS[given.gives or ""])
    return given.fail("this text is not a timestamp") if micros is None else f"make_timestamp({micros})"
