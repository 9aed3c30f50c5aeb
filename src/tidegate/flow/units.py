"""Times as whole units since the epoch and back, in Spark SQL: 1, a day, or a microsecond."""

from __future__ import annotations

from tidegate.flow.sqltypes import WIDE

__all__ = ["from_units", "number", "to_units"]

# The session's zone must not change what a time without a zone is, so count from this instant.
_ZONELESS_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def to_units(time: str, type_: str) -> str:
    """Return a time of some type in units since the epoch, as a BIGINT; of `WIDE`, as it is.

    >>> to_units("ts", "TIMESTAMP")
    'unix_micros(ts)'
    """
    if type_ == "DATE":
        return f"CAST(unix_date({time}) AS BIGINT)"
    if type_ == "TIMESTAMP":
        return f"unix_micros({time})"
    if type_ == "TIMESTAMP_NTZ":
        return f"timestampdiff(MICROSECOND, {_ZONELESS_EPOCH}, {time})"
    if type_ == WIDE:
        return time
    return f"CAST({time} AS BIGINT)"


def from_units(units: str, type_: str) -> str:
    """Return the time of some type that lies so many units after the epoch.

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


def number(count: int, type_: str) -> str:
    """Return a number of units of a time of some type: a BIGINT, or for `WIDE` an equally wide number.

    >>> number(7, "DATE"), number(-7, "DECIMAL(38,0)")
    ('7L', 'CAST(-7. AS DECIMAL(38,0))')
    """
    if type_ == WIDE:
        # With a decimal point, a number is a decimal, however large it is.
        return f"CAST({count}. AS {WIDE})"
    return f"{count}L" if count >= -(2**63) + 1 else f"CAST('{count}' AS BIGINT)"
