"""Lengths of time, as users write them, in whole units of a time column: 1, a day, or a microsecond."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadSpan

__all__ = ["EPOCH", "from_units", "parse_span", "show_span", "span_value", "units", "within"]

EPOCH = datetime(1970, 1, 1)

_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_NAMED = {
    "microsecond": _MICROSECOND,
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": _DAY,
    "week": timedelta(weeks=1),
}
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def parse_span(value: Any, type_: str, *, what: str, least: int | None = 1) -> int:
    """Return how many units of a time column of ``type_`` a span is; ``what`` names it in errors.

    >>> parse_span("1 hour 30 minutes", "TIMESTAMP", what="size") == 90 * 60 * 10**6
    True
    >>> parse_span("2 weeks", "DATE", what="size"), parse_span(5, "INT", what="size")
    (14, 5)
    """
    count = _count(value, type_, what)
    if least is not None and count < least:
        one = show_span(1, type_)
        bound = f"of at least {one}, one unit of {type_}" if least == 1 else "of at least 0"
        raise BadSpan(f"expected {_a(what)} {bound}, got {value!r}", hint=f"{what}={_example(type_)}")
    return count


def _count(value: Any, type_: str, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and (type_ in sqltypes.INTEGERS or value == 0):
        return value
    if type_ in sqltypes.INTEGERS:
        raise BadSpan(
            f"expected {_a(what)} that is an integer, as the time column is {type_}, got {value!r}", hint=f"{what}=10"
        )
    span = _timedelta(value, type_, what)
    unit = _DAY if type_ == "DATE" else _MICROSECOND
    if span % unit:
        raise BadSpan(
            f"expected {_a(what)} in units of {show_span(1, type_)}, as the time column is {type_}, got {value!r}",
            hint=f"{what}={_example(type_)}",
        )
    return span // unit


def _timedelta(value: Any, type_: str, what: str) -> timedelta:
    if isinstance(value, timedelta):
        return value
    expected = f"expected {_a(what)} as text or as a timedelta, as the time column is {type_}"
    if not isinstance(value, str):
        raise BadSpan(f"{expected}, got {value!r}", hint=f"{what}={_example(type_)}")
    text = re.sub(r"^\s*interval\b", "", value, flags=re.IGNORECASE).replace("'", " ")
    total, end = timedelta(0), 0
    for part in _PART.finditer(text):
        name = part[2].lower().removesuffix("s")
        if name in ("month", "year", "quarter"):
            hint = "take days or weeks; or count them: declare an INT column such as year * 12 + month as the time"
            raise BadSpan(f"{_a(what)} of calendar {name}s has no fixed length, got {value!r}", hint=hint)
        if part.start() != end or name not in _NAMED:
            break
        total, end = (
            total + float(part[1]) * _NAMED[name] if "." in part[1] else total + int(part[1]) * _NAMED[name],
            part.end(),
        )
    if end == 0 or end != len(text):
        raise BadSpan(f"{expected}, got {value!r}", hint=f"{what}={_example(type_)}; units: {', '.join(_NAMED)}")
    return total


def _a(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"


def _example(type_: str) -> str:
    if type_ in sqltypes.INTEGERS:
        return "10"
    return '"7 days"' if type_ == "DATE" else '"10 minutes"'


def show_span(count: int, type_: str) -> str:
    """Return a span in words.

    >>> show_span(90 * 60 * 10**6, "TIMESTAMP"), show_span(1, "DATE"), show_span(7, "INT")
    ('90 minutes', '1 day', '7')
    """
    if type_ in sqltypes.INTEGERS:
        return str(count)
    span = count * (_DAY if type_ == "DATE" else _MICROSECOND)
    for name, unit in reversed(_NAMED.items()):
        if name != "week" and not span % unit:
            n = span // unit
            return f"{n} {name}{'' if abs(n) == 1 else 's'}"
    raise AssertionError("every span is a whole number of microseconds")


def span_value(count: int, type_: str) -> Any:
    """Return a number of units as what is added to a time: a number, or a timedelta.

    >>> span_value(2, "DATE"), span_value(2, "INT")
    (datetime.timedelta(days=2), 2)
    """
    if type_ in sqltypes.INTEGERS:
        return count
    return count * (_DAY if type_ == "DATE" else _MICROSECOND)


def units(value: Any, type_: str) -> int:
    """Return how many units a time lies after the epoch.

    >>> units(date(1970, 1, 8), "DATE"), units(datetime(1970, 1, 1, 0, 0, 1), "TIMESTAMP")
    (7, 1000000)
    """
    if type_ in sqltypes.INTEGERS or type_ == sqltypes.WIDE:
        return int(value)
    return int((value - EPOCH.date()) // _DAY if type_ == "DATE" else (value - EPOCH) // _MICROSECOND)


def within(count: int, type_: str) -> int:
    """Return the units of the nearest time that a column of a type can have.

    >>> within(-(2**40), "INT") == -(2**31), within(7, "DATE"), from_units(within(-(10**9), "DATE"), "DATE")
    (True, 7, datetime.date(1, 1, 1))
    """
    if type_ in sqltypes.INTEGERS:
        half: int = 2 ** (8 * 2 ** sqltypes.INTEGERS.index(type_) - 1)
        return max(-half, min(count, half - 1))
    if type_ == sqltypes.WIDE:
        return max(1 - 10**38, min(int(count), 10**38 - 1))
    least, most = (date.min, date.max) if type_ == "DATE" else (datetime.min, datetime.max)
    return max(units(least, type_), min(count, units(most, type_)))


def from_units(count: int, type_: str) -> Any:
    """Return the time that lies ``count`` units after the epoch; the reverse of `units`.

    >>> from_units(7, "DATE"), from_units(7, "INT")
    (datetime.date(1970, 1, 8), 7)
    """
    if type_ in sqltypes.INTEGERS or type_ == sqltypes.WIDE:
        return int(count)
    return date(1970, 1, 1) + count * _DAY if type_ == "DATE" else EPOCH + count * _MICROSECOND
