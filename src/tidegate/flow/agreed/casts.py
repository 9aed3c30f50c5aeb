"""Casts that a template cannot write: of fractions, and from and to texts."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.flow.agreed.instants import check_word
from tidegate.flow.agreed.kinds import decimal
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Given, duckdb_type, failing, let

__all__ = [
    "date_of_text", "double_of_text", "exact_double", "integer_of_text", "narrowed", "text_of_date", "text_of_instant",
    "truncated", "truth_of_text",
]  # fmt: skip

_LAST = "9223372036854775807"


def truncated(given: Given) -> str:
    """Return a fraction without its decimals, as an integer; it fails if the integer is out of range."""
    x = given[0]
    if given.gives == "BIGINT":
        # The greatest BIGINT, as a DOUBLE, is rounded up by one.
        return f"CASE WHEN {x} = 9223372036854775808 THEN {_LAST} ELSE CAST(trunc({x}) AS BIGINT) END"
    return f"trunc({x})"


def narrowed(given: Given) -> str:
    """Return a DOUBLE as a FLOAT; what is too large becomes infinite."""
    x = given[0]
    return (
        f"CASE WHEN isnan({x}) THEN CAST('nan' AS FLOAT) WHEN {x} >= 3.4028235677973366e38 THEN CAST('inf' AS FLOAT) "
        f"WHEN {x} <= -3.4028235677973366e38 THEN CAST('-inf' AS FLOAT) "
        f"ELSE CAST({x} AS FLOAT) END"
    )


def exact_double(given: Given) -> str:
    """Return a decimal as the nearest DOUBLE."""
    value = given.arguments[0]
    size = decimal(value.type)
    if size is None or size[0] > 15:
        raise MeaningDiffers("only a decimal of up to 15 digits can be cast to DOUBLE")
    return given[0]


# Casts of texts. Java first trims spaces and control characters from both ends.

_SPACE = r"[\x{00}-\x{20}\x{7f}]*"


def _parts(given: Given, pattern: str, body: Callable[[str], str], why: str) -> str:
    """Return what ``body`` makes of a trimmed text that matches a pattern; a text that does not match fails."""
    trimmed = f"regexp_extract({given[0]}, '(?s)\\A{_SPACE}(.*?){_SPACE}\\z', 1)"
    fail = failing(f"no {why}", given.gives)
    s = "__λs"
    inner = f"CASE WHEN {s} IS NULL THEN NULL WHEN regexp_matches({s}, '{pattern}') THEN {body(s)} ELSE {fail} END"
    return let(f"CASE WHEN {given[0]} IS NOT NULL THEN {trimmed} END", s, inner)


def integer_of_text(given: Given) -> str:
    """Return the integer that a text stands for."""
    type_ = duckdb_type(given.gives or "")
    return _parts(given, r"\A[+-]?[0-9]+\z", lambda s: f"CAST({s} AS {type_})", "integer")


def double_of_text(given: Given) -> str:
    """Return the DOUBLE that a text stands for, also if it is a word such as ``NaN`` or ``Infinity``."""
    number = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?\z"
    words = r"(?i)\A(nan|[+-]?inf|[+-]?infinity)\z"

    def read(s: str) -> str:
        plain = f"rtrim({s}, 'dDfF')"
        return f"CASE WHEN regexp_matches({s}, '{words}') THEN CAST({s} AS DOUBLE) ELSE CAST({plain} AS DOUBLE) END"

    return _parts(given, f"{number}|{words}", read, "number")


def truth_of_text(given: Given) -> str:
    """Return the BOOLEAN that a text stands for."""
    words = r"(?i)\A(t|true|y|yes|1|f|false|n|no|0)\z"
    return _parts(given, words, lambda s: f"lower({s}) IN ('t', 'true', 'y', 'yes', '1')", "truth value")


_DATE = r"\A([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](?s:.*))?)?)?\z"


def date_of_text(given: Given) -> str:
    """Return the date at the beginning of a text. A missing month or day is 1."""
    literal = given.literal(0)
    if isinstance(literal, str):
        check_word(literal)

    def read(s: str) -> str:
        parts = [f"regexp_extract({s}, '{_DATE}', {i})" for i in (1, 2, 3)]
        numbers = [f"CAST(CASE WHEN {part} = '' THEN '1' ELSE {part} END AS INT)" for part in parts]
        return f"make_date({', '.join(numbers)})"

    return _parts(given, _DATE, read, "date")


def text_of_date(given: Given) -> str:
    """Return a date as a text; a year before 0 or after 9999 has a sign."""
    x = given[0]
    return f"CASE WHEN year({x}) BETWEEN 0 AND 9999 THEN strftime({x}, '%Y-%m-%d') ELSE {_signed(x)} END"


def _signed(x: str) -> str:
    year = f"CASE WHEN year({x}) > 0 THEN '+' ELSE '-' END || lpad(CAST(abs(year({x})) AS VARCHAR), "
    year += f"greatest(4, length(CAST(abs(year({x})) AS VARCHAR)))::INT, '0')"
    return f"{year} || strftime({x}, '-%m-%d')"


def text_of_instant(given: Given) -> str:
    """Return an instant as a text, without zeros at the end of its fraction."""
    x = given[0]
    fraction = f"rtrim(strftime({x}, '.%f'), '0')"
    clock = f"strftime({x}, ' %H:%M:%S') || CASE WHEN {fraction} = '.' THEN '' ELSE {fraction} END"
    day = text_of_date(given)
    return f"{day} || {clock}"
