"""Which parts of expressions depend on the zone of a flow: they are translated for UTC alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["depends_on_zone", "elsewhere", "in_zone"]

_ELSEWHERE = ContextVar("elsewhere", default=False)

#: Functions of dates and instants; those of a date have no zone.
_PARTS = {"year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear"}
_PARTS |= {"hour", "minute", "second"}
_OF_INSTANTS = {"date_trunc", "date_format", "from_unixtime"}


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Translate for a flow in a zone: what depends on it is refused, unless it is UTC."""
    token = _ELSEWHERE.set(name != "UTC")
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def elsewhere() -> bool:
    """Whether what is translated now is for another zone than UTC."""
    return _ELSEWHERE.get()


def depends_on_zone(name: str, types: set[str | None], gives: str | None) -> bool:
    """Whether an entry of the table, applied to some types, depends on the zone.

    >>> depends_on_zone("hour", {"TIMESTAMP"}, "INT"), depends_on_zone("unix_micros", {"TIMESTAMP"}, "BIGINT")
    (True, False)
    """
    if name.startswith("CAST("):
        ends = types | {gives}
        return "TIMESTAMP" in ends and bool(ends & {"STRING", "DATE", "TIMESTAMP_NTZ"})
    return name in _OF_INSTANTS or (name in _PARTS and "TIMESTAMP" in types)
