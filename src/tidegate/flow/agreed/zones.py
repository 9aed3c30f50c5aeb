"""Expressions that depend on the time zone of a flow: they are translated for UTC only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["depends_on_zone", "in_zone", "not_utc"]

_NOT_UTC = ContextVar("not_utc", default=False)

#: Functions of dates and instants: on a date, they do not depend on a zone.
_PARTS = {"year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear"}
_PARTS |= {"hour", "minute", "second"}
_OF_INSTANTS = {"date_trunc", "date_format", "from_unixtime"}


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Translate for a flow in a zone: unless it is UTC, refuse expressions that depend on it."""
    token = _NOT_UTC.set(name != "UTC")
    try:
        yield
    finally:
        _NOT_UTC.reset(token)


def not_utc() -> bool:
    """Whether the flow that is being translated has another time zone than UTC."""
    return _NOT_UTC.get()


def depends_on_zone(name: str, types: set[str | None], gives: str | None) -> bool:
    """Whether an entry of the table depends on the time zone when applied to these types.

    >>> depends_on_zone("hour", {"TIMESTAMP"}, "INT"), depends_on_zone("unix_micros", {"TIMESTAMP"}, "BIGINT")
    (True, False)
    """
    if name.startswith("CAST("):
        ends = types | {gives}
        return "TIMESTAMP" in ends and bool(ends & {"STRING", "DATE", "TIMESTAMP_NTZ"})
    return name in _OF_INSTANTS or (name in _PARTS and "TIMESTAMP" in types)
