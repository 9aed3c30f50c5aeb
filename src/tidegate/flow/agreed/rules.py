"""Functions of texts, numbers and dates that a template cannot write."""

from __future__ import annotations

from typing import Any

from tidegate.flow.agreed.formats import strftime_of
from tidegate.flow.agreed.kinds import common, decimal
from tidegate.flow.agreed.letters import LOWER, UPPER
from tidegate.flow.agreed.regexes import BEFORE_LAST_END, MeaningDiffers, Regex, java_regex, java_replacement
from tidegate.flow.agreed.values import Given, Rule, cast, duckdb_text, duckdb_type

__all__ = ["REMAINDER", "Rule", "divided", "found_in", "is_divisor", "strict"]

_NAN = "CAST('nan' AS DOUBLE)"
_LAST = "9223372036854775807"
#: Up to this many characters, looking for each is faster than a pattern.
_SEPARATORS = 8


def strict(template: str, arguments: int) -> str:
    """Return a template that gives NULL if one of its first arguments is NULL, without computing anything else.

    >>> strict("f({0})", 1)
    'CASE WHEN {0} IS NULL THEN NULL ELSE f({0}) END'
    """
    missing = " OR ".join(f"{{{i}}} IS NULL" for i in range(arguments))
    return f"CASE WHEN {missing} THEN NULL ELSE {template} END"


def divided(sign: str) -> Rule:
    """Return the rule of a division, which checks for zero unless the divisor is a literal."""
    checked = strict(f"CASE WHEN {{1}} = 0 THEN {{fail}} ELSE {{0}} {sign} {{1}} END", 2)

    def rule(given: Given) -> str:
        if is_divisor(given.literal(1)):
            return f"{given[0]} {sign} {given[1]}"
        return checked.format(given[0], given[1], fail=given.fail("division by zero"))

    return rule


def is_divisor(literal: Any) -> bool:
    """Whether a literal is a number that anything can be divided by; not -1, as the least integer overflows then."""
    return isinstance(literal, int | float) and not isinstance(literal, bool) and literal not in (0, -1)


#: DuckDB fails to divide the least integer by -1, as the result is out of range; its remainder is 0.
REMAINDER = strict("CASE WHEN {1} = 0 THEN {fail:division by zero} WHEN {1} = -1 THEN 0 ELSE {0} % {1} END", 2)
FRACTION_REMAINDER = strict("CASE WHEN {1} = 0 THEN {fail:division by zero} ELSE {0} % {1} END", 2)


def positive_remainder(given: Given) -> str:
    """Return ``pmod``: a remainder that is not negative unless the divisor is; it overflows where Java's does."""
    x, y = given[0], given[1]
    divisor = given.literal(1)
    most = {"INT": 2**30, "BIGINT": 2**62}.get(given.gives or "", 0)
    if isinstance(divisor, int) and 0 < divisor < most:
        # The engine places windows like this. Nothing can overflow or fail.
        return f"({x} % {y} + {y}) % {y}"
    bits = {"INT": 32, "BIGINT": 64}.get(given.gives or "", 0)
    moved = f"({x} % {y} + {y}::HUGEINT)"
    if bits:
        moved = f"CASE WHEN {moved} < {-(2 ** (bits - 1))} THEN {moved} + {2**bits} ELSE {moved} END"
    return strict(
        f"CASE WHEN {y} = 0 THEN {given.fail('division by zero')} WHEN {y} = -1 THEN 0 "
        f"WHEN {x} % {y} < 0 THEN ({moved}) % {y}::HUGEINT ELSE {x} % {y} END",
        2,
    ).format(x, y)


# Texts.


def concatenated(given: Given) -> str:
    """Return texts or arrays one after the other; NULL if one of them is."""
    return " || ".join(f"({argument.sql})" for argument in given.arguments)


def upper(given: Given) -> str:
    """Return a text in upper case as in Java, where some letters become several."""
    return _mapped(given[0], "upper", UPPER)


def lower(given: Given) -> str:
    """Return a text in lower case as in Java; it fails on Σ, whose lower case depends on the letters around it."""
    fail = given.fail("lower cannot tell which small form of the letter Σ is meant")
    return f"CASE WHEN contains({given[0]}, 'Σ') THEN {fail} ELSE {_mapped(given[0], 'lower', LOWER)} END"


def _mapped(text: str, function: str, others: dict[str, str]) -> str:
    """Return a text in the case that a function of DuckDB gives, except for the letters in ``others``."""
    found = " OR ".join(f"contains({text}, {duckdb_text(c)})" for c in others)
    mapped = ", ".join(f"{duckdb_text(c)}: {duckdb_text(to)}" for c, to in others.items())
    each = f"coalesce(list_extract(map_extract(MAP {{{mapped}}}, __λc), 1), {function}(__λc))"
    letters = f"list_transform(regexp_extract_all({text}, '(?s).'), lambda __λc: {each})"
    if len(others) > _SEPARATORS:
        found = f"regexp_matches({text}, {duckdb_text('[' + ''.join(others) + ']')})"
    return f"CASE WHEN {found} THEN array_to_string({letters}, '') ELSE {function}({text}) END"


def _regex(given: Given, i: int) -> Regex:
    return java_regex(str(given.literal(i)))


def rlike(given: Given) -> str:
    """Return whether a text contains a match of a pattern."""
    return found_in(given[0], _regex(given, 1))


def found_in(text: str, regex: Regex) -> str:
    """Return whether a text contains a match of a pattern; the SQL may contain ``text`` twice."""
    if regex.found is not None:
        return f"regexp_matches({text}, {duckdb_text(regex.found)})"
    # A match ends at the end of the text, or before the line end there.
    to_end = duckdb_text(rf"{regex.text}\z")
    before = f"regexp_extract({text}, {duckdb_text(BEFORE_LAST_END)}, 1)"
    return f"(regexp_matches({text}, {to_end}) OR regexp_matches({before}, {to_end}))"


def split(given: Given) -> str:
    """Return the parts of a text between the matches of a pattern."""
    regex = _regex(given, 1)
    if regex.empty or regex.to_end:
        raise MeaningDiffers("the pattern can match an empty text, or ends with $")
    text = given[0]
    if regex.literal is not None:
        return f"string_split({text}, {_shown(regex.literal)})"
    by_pattern = f"string_split_regex({text}, {duckdb_text(regex.text)})"
    if regex.separators is None or not 1 < len(set(regex.separators[0])) + regex.separators[1] <= _SEPARATORS:
        return by_pattern
    # Most texts have only one of these characters, and never two in a row; and patterns are slow in DuckDB.
    characters, many = regex.separators
    usual = " " if " " in characters else characters[0]
    others = [c for c in characters if c != usual] + [usual * 2] * many
    unusual = " OR ".join(f"contains({text}, {_shown(other)})" for other in others)
    return f"CASE WHEN {unusual} THEN {by_pattern} ELSE string_split({text}, {_shown(usual)}) END"


def _shown(text: str) -> str:
    """Return a text as a literal of DuckDB, with control characters by their numbers."""
    if text.isprintable():
        return duckdb_text(text)
    return " || ".join(duckdb_text(c) if c.isprintable() else f"chr({ord(c)})" for c in text)


def regexp_replace(given: Given) -> str:
    """Return a text with all matches of a pattern replaced."""
    regex = _regex(given, 1)
    if regex.empty:
        raise MeaningDiffers("the pattern can match an empty text")
    by = java_replacement(str(given.literal(2)), regex.groups)
    if regex.repeated and "\\" in by:
        raise MeaningDiffers("a group of the pattern is repeated, as in (a)+")
    if regex.to_end and regex.groups + 2 > 9:
        raise MeaningDiffers("the pattern ends with $ and has more than 7 groups")
    by += f"\\{regex.groups + 2}" if regex.to_end else ""
    return f"regexp_replace({given[0]}, {duckdb_text(regex.grouped)}, {duckdb_text(by)}, 'g')"


def regexp_extract(given: Given) -> str:
    """Return what a group of a pattern matches first; an empty text if there is no match."""
    regex, group = _regex(given, 1), given.literal(2)
    group = 1 if group is None else group
    if not 0 <= group <= regex.groups:
        raise MeaningDiffers(f"the pattern has no group {group}")
    if regex.repeated:
        raise MeaningDiffers("a group of the pattern is repeated, as in (a)+")
    return f"regexp_extract({given[0]}, {duckdb_text(regex.grouped)}, {group + 1})"


# Numbers.


def nullif(given: Given) -> str:
    """Return the first of two values, or NULL if they are equal.

    They are compared as values of one type, but the result keeps its own: a BIGINT would lose digits as a DOUBLE.
    """
    x, y = given.arguments
    wide = common([x.type, y.type])
    return f"CASE WHEN {cast(x.sql, wide)} = {cast(y.sql, wide)} THEN NULL ELSE {x.sql} END"


def whole(function: str) -> Rule:
    """Return the rule of a function that rounds a fraction to a BIGINT: NaN gives 0, and what is too large fails."""

    def rule(given: Given) -> str:
        x = given[0]
        return f"CASE WHEN isnan({x}) THEN 0 ELSE CAST({function}({x}) AS BIGINT) END"

    return rule


def rounded(given: Given) -> str:
    """Return a DOUBLE rounded to a number of decimals, as Java does it: by the digits that are shown of it."""
    places = given.literal(1)
    if not 0 <= places <= 15:
        raise MeaningDiffers("the number of decimals is not between 0 and 15")
    x = given[0]
    # Doubles of that size have no fraction.
    return (
        f"CASE WHEN isnan({x}) OR abs({x}) >= 4503599627370496 THEN {x} "
        f"ELSE CAST(CAST(CAST({x} AS VARCHAR) AS DECIMAL(38,{places})) AS DOUBLE) END"
    )


def rounded_decimal(given: Given) -> str:
    """Return a decimal rounded to a number of decimals."""
    assert given.gives is not None
    if (given.literal(1) or 0) < 0:
        raise MeaningDiffers("the number of decimals is negative")
    return f"CAST({given[0]} AS {duckdb_type(given.gives)})"


def round_type(given: str, places: int) -> str:
    """Return the type of a rounded decimal.

    >>> round_type("DECIMAL(10,2)", 1)
    'DECIMAL(10,1)'
    """
    size = decimal(given)
    assert size is not None
    scale = min(size[1], max(places, 0))
    return f"DECIMAL({min(size[0] - size[1] + 1 + scale, 38)},{scale})"


def power(given: Given) -> str:
    """Return a power as in Java, where 1 to the power of NaN or infinity is NaN."""
    x, y = given[0], given[1]
    return (
        f"CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL WHEN {y} = 0 THEN 1.0 "
        f"WHEN isnan({x}) OR isnan({y}) OR (abs({x}) = 1 AND isinf({y})) THEN {_NAN} ELSE pow({x}, {y}) END"
    )


# Dates.

_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week",
}  # fmt: skip
_SMALL_UNITS = _UNITS | {unit: unit for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond")}
_SMALL_UNITS["dd"] = "day"


def date_trunc(given: Given) -> str:
    """Return the beginning of the unit that an instant is in."""
    return _truncated(given.literal(0), given[1], _SMALL_UNITS)


def trunc(given: Given) -> str:
    """Return the first day of the unit that a date is in."""
    return _truncated(given.literal(1), given[0], _UNITS)


def _truncated(unit: str, x: str, units: dict[str, str]) -> str:
    if unit.lower() not in units:
        raise MeaningDiffers(f"the unit {unit} is not one of {', '.join(units)}")
    return f"date_trunc('{units[unit.lower()]}', {x})"


def date_format(given: Given) -> str:
    """Return an instant in a format; it fails unless the year has at most four digits."""
    return _formatted(given[0], given.literal(1), given)


def from_unixtime(given: Given) -> str:
    """Return seconds since the epoch in a format."""
    instant = f"make_timestamp({given[0]} * 1000000::BIGINT)"
    return _formatted(instant, given.literal(1) or "yyyy-MM-dd HH:mm:ss", given)


def _formatted(x: str, pattern: str, given: Given) -> str:
    fail = given.fail("only years from 1 to 9999 can be formatted")
    text = f"strftime({x}, {duckdb_text(strftime_of(pattern))})"
    return f"CASE WHEN {x} IS NULL THEN NULL WHEN year({x}) BETWEEN 1 AND 9999 THEN {text} ELSE {fail} END"


# Functions that only the engine uses.


def hashed(given: Given) -> str:
    """Return a hash: equal values have the same."""
    return f"hash({', '.join(argument.sql for argument in given.arguments)}) >> 1"


def packed(given: Given) -> str:
    """Return a sum: the first number, plus the product of each two numbers that follow."""
    first, *rest = (f"{argument.sql}::HUGEINT" for argument in given.arguments)
    return " + ".join([first, *(f"{a} * {b}" for a, b in zip(rest[::2], rest[1::2], strict=True))])


def in_micros(template: str) -> Rule:
    """Return the rule of a function that is known for the unit MICROSECOND only."""

    def rule(given: Given) -> str:
        if given[0].upper() != "MICROSECOND":
            raise MeaningDiffers("only MICROSECOND is supported here")
        return template.format(*(argument.sql for argument in given.arguments))

    return rule
