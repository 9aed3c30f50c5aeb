"""Times as whole units since the epoch and back, in Spark SQL: 1, a day, or a microsecond."""

from __future__ import annotations

from tidegate.flow import sqltypes
from tidegate.flow.schema import Schema

__all__ = ["from_units", "to_units", "units_of"]

# The session's zone has no say in what a time without a zone is: count from this instant.
_ZONELESS_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def to_units(time: str, type_: str) -> str:
    """Answer a time of some type in units since the epoch, as a BIGINT.

    >>> to_units("ts", "TIMESTAMP")
    'unix_micros(ts)'
    """
    if type_ == "DATE":
        return f"CAST(unix_date({time}) AS BIGINT)"
    if type_ == "TIMESTAMP":
        return f"unix_micros({time})"
    if type_ == "TIMESTAMP_NTZ":
        return f"timestampdiff(MICROSECOND, {_ZONELESS_EPOCH}, {time})"
    return f"CAST({time} AS BIGINT)"


def units_of(schema: Schema, name: str) -> str:
    """Answer a time column of a stream in units since the epoch."""
    return to_units(sqltypes.quoted(name), schema[name].type or "")


def from_units(units: str, type_: str) -> str:
    """Answer the time of some type that lies so many units after the epoch.

    >>> from_units("n", "DATE")
    'date_from_unix_date(CAST(n AS INT))'
    """
    if type_ == "DATE":
        return f"date_from_unix_date(CAST({units} AS INT))"
    if type_ == "TIMESTAMP":
        return f"timestamp_micros({units})"
    if type_ == "TIMESTAMP_NTZ":
        return f"timestampadd(MICROSECOND, {units}, {_ZONELESS_EPOCH})"
    return f"CAST({units} AS {type_})"
