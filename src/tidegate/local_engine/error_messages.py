"""Error messages of DuckDB, each in one line."""

from __future__ import annotations

import re

import duckdb

from tidegate.engine.error_messages import ErrorMessage, first_line

__all__ = ["describe_error", "error_through_arrow"]

#: Where Spark would fail, our SQL casts a text to a number, which fails. The text is the reason, and is not a number.
_ON_PURPOSE = re.compile(r"Could not convert string '([^']*)' to INT32")
_VALUES = "let the expression take such values, as try_divide and try_cast do, or leave the rows out before it"


def describe_error(error: BaseException) -> ErrorMessage:
    """Return the message of an error in one line. For an error that is not DuckDB's, it is the type and the first line.

    >>> failed = duckdb.ConversionException("Conversion Error: Could not convert string 'division by zero' to INT32")
    >>> describe_error(failed).text
    'an expression failed: division by zero'
    """
    if not isinstance(error, duckdb.Error):
        return ErrorMessage(first_line(error))
    first = str(error).splitlines()[0]
    if failed := _ON_PURPOSE.search(first):
        return ErrorMessage(f"an expression failed: {failed[1]}", hint=_VALUES)
    if isinstance(error, duckdb.OutOfMemoryException):
        return ErrorMessage(f"DuckDB failed: {first}", hint="let it hold more: tg.local(memory=…)")
    if isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException):
        return ErrorMessage(f"DuckDB failed: {first}", hint=_VALUES)
    return ErrorMessage(f"DuckDB failed: {first}")


#: The classes of DuckDB's errors that are told apart here, by the beginning of their messages.
_CLASSES: dict[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "Conversion Error": duckdb.ConversionException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
}


def error_through_arrow(error: OSError) -> Exception:
    """Return the error of DuckDB that Arrow has made another one of; the same error if it is none.

    >>> error_through_arrow(OSError("INTERRUPT Error: Interrupted!"))
    InterruptException('INTERRUPT Error: Interrupted!')
    >>> error_through_arrow(OSError(28, "No space left on device"))
    OSError(28, 'No space left on device')
    """
    text = str(error)
    kind = re.match(r"[A-Za-z ]+ Error(?=:)", text)
    return _CLASSES.get(kind[0], duckdb.Error)(text) if kind and error.errno is None else error
