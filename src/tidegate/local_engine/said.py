"""The messages of DuckDB's errors, in one line."""

from __future__ import annotations

import re

import duckdb

from tidegate.engine.said import Said, plainly

__all__ = ["said"]

#: Where Spark would fail, our SQL casts a text that is not a number, so that it fails, too. The text is the reason.
_ON_PURPOSE = re.compile(r"Could not convert string '([^']*)' to INT32")
_VALUES = "let the expression take such values, as try_divide and try_cast do, or leave the rows out before it"


def said(error: BaseException) -> Said:
    """Return the message of an error in one line.

    >>> said(duckdb.ConversionException("Conversion Error: Could not convert string 'division by zero' to INT32")).text
    'an expression failed: division by zero'
    """
    if not isinstance(error, duckdb.Error):
        return Said(plainly(error))
    first = str(error).splitlines()[0]
    if failed := _ON_PURPOSE.search(first):
        return Said(f"an expression failed: {failed[1]}", hint=_VALUES)
    if isinstance(error, duckdb.OutOfMemoryException):
        return Said(f"DuckDB failed: {first}", hint="let it hold more: tg.local(memory=…)")
    if isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException):
        return Said(f"DuckDB failed: {first}", hint=_VALUES)
    return Said(f"DuckDB failed: {first}")
