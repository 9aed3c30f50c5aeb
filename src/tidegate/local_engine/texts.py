"""Values as text: SQL that parses values of CSV and JSON as Spark does, and gives NULL if they do not parse.

Forms that Spark reads by guessing do not parse here: a time of day without a date, or a zone by the name of a region.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput
from tidegate.flow.translate import duckdb_name, duckdb_type

__all__ = ["Json", "json_fits", "json_path", "json_value", "text_value", "tried"]

# Java trims control characters and spaces from numbers and times.
_SPACE = r"[\x{00}-\x{20}]*"
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DOUBLE = rf"{_SPACE}({_NUMBER}[dDfF]?|[+-]?(NaN|Infinity)){_SPACE}"
_ZONE = r"Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?"
_CLOCK = r"[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?)?"
_INSTANT = rf"\A{_SPACE}([0-9]{{4}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:{_CLOCK} ?({_ZONE})?)?)?)?{_SPACE}\z"
_DATE = rf"\A{_SPACE}([0-9]{{4,5}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T](?s:.*))?)?)?{_SPACE}\z"
#: For the most common form, DuckDB gives the same result as Spark, and faster.
_PLAIN_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_PLAIN_INSTANT = rf"{_PLAIN_DATE}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?"

_WHOLE, _NUMBERS = "('UBIGINT', 'BIGINT')", "('UBIGINT', 'BIGINT', 'DOUBLE')"
_WORDS = "('NaN', 'INF', '+INF', '-INF', 'Infinity', '+Infinity', '-Infinity')"


def text_value(text: str, type_: str, cast: str | None = None) -> str:
    """Return SQL for the value of a type from a text of a CSV file; NULL if it does not parse.

    ``cast`` is a column with DuckDB's cast of the text. If its value, written as text, is the same text again, it is
    right. Otherwise a pattern decides, which takes longer.

    >>> text_value("x", "BOOLEAN")
    "CASE lower(x) WHEN 'true' THEN true WHEN 'false' THEN false END"
    """
    if type_ == "STRING":
        return text
    value = cast or tried(text, type_)
    if type_ in sqltypes.INTEGERS:
        same = f"WHEN CAST({cast} AS VARCHAR) = {text} THEN {cast} " if cast else ""
        return f"CASE {same}WHEN regexp_full_match({text}, '[+-]?[0-9]+') THEN {value} END"
    if type_ in sqltypes.FRACTIONS:
        plain = f"regexp_replace(regexp_extract({text}, '{_DOUBLE}', 1), '[dDfF]$', '')"
        return (
            f"CASE WHEN {text} IN ('Inf', '-Inf') THEN {value} "
            f"WHEN regexp_full_match({text}, '{_NUMBER}') THEN {value} "
            f"WHEN regexp_full_match({text}, '{_DOUBLE}') THEN {tried(plain, type_)} END"
        )
    if type_ == "BOOLEAN":
        return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false END"
    if type_.startswith("DECIMAL"):
        # Spark ignores commas between thousands.
        digits = f"replace({text}, ',', '')"
        return f"CASE WHEN regexp_full_match({digits}, '{_NUMBER}') THEN {tried(digits, type_)} END"
    if type_ in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return _moment(text, type_, cast)
    raise BadInput(
        f"expected columns of types that a text can have, got {type_}", hint="read it from Parquet, or as STRING"
    )


def tried(text: str, type_: str) -> str:
    """Return SQL for DuckDB's cast of a text, which accepts more than Spark; NULL if it fails."""
    return f"TRY_CAST({text} AS {duckdb_type(type_)})"


def _moment(text: str, type_: str, cast: str | None) -> str:
    if type_ == "DATE":
        plain, pattern = _PLAIN_DATE, _DATE
        length, again = 10, f"CAST({cast} AS VARCHAR)"
        whole = f"TRY(make_date({', '.join(_parts(text, _DATE, 3))}))"
    else:
        plain, pattern = _PLAIN_INSTANT, _INSTANT
        length, again = 26, f"strftime({cast}, '%Y-%m-%dT%H:%M:%S.%f')"
        whole = _instant(text, zoned=type_ == "TIMESTAMP")
    # The length and the first digit exclude years before 1 or after 9999, and infinity.
    same = f"WHEN strlen({text}) = {length} AND {text} >= '0' AND {again} = {text} THEN {cast} " if cast else ""
    return (
        f"CASE {same}WHEN regexp_full_match({text}, '{plain}') THEN {cast or tried(text, type_)} "
        f"WHEN regexp_matches({text}, '{pattern}') THEN {whole} END"
    )


def _parts(text: str, pattern: str, count: int) -> list[str]:
    """Return the first groups of a pattern as numbers. A missing month or day is 1."""
    found = [f"regexp_extract({text}, '{pattern}', {i + 1})" for i in range(count)]
    return [f"CAST(CASE {part} WHEN '' THEN '{int(i < 3)}' ELSE {part} END AS INT)" for i, part in enumerate(found)]


def _instant(text: str, *, zoned: bool) -> str:
    """Return SQL for an instant in UTC. With ``zoned`` false, a text with a zone does not parse."""
    numbers = _parts(text, _INSTANT, 6)
    fraction, zone = (f"regexp_extract({text}, '{_INSTANT}', {i})" for i in (7, 8))
    micros = f"CAST(rpad(left({fraction}, 6), 6, '0') AS BIGINT)"
    # DuckDB would carry such values over to the next day or minute.
    usual = f"{numbers[3]} < 24 AND {numbers[4]} < 60 AND {numbers[5]} < 60"
    at = f"TRY(make_timestamp({', '.join(numbers)})) + to_microseconds({micros})"
    if not zoned:
        return f"CASE WHEN {zone} = '' AND {usual} THEN {at} END"
    digits = f"replace(substring({zone}, 2), ':', '')"
    hours = f"CAST(CASE WHEN length({digits}) > 2 THEN left({digits}, -2) ELSE {digits} END AS INT)"
    minutes = f"CAST(CASE WHEN length({digits}) > 2 THEN right({digits}, 2) ELSE '0' END AS INT)"
    away = f"CASE WHEN left({zone}, 1) IN ('+', '-') THEN ({hours} * 60 + {minutes}) ELSE 0 END"
    sign = f"CASE left({zone}, 1) WHEN '-' THEN -1 ELSE 1 END"
    return f"CASE WHEN {usual} AND {away} <= 1080 THEN {at} - to_minutes({away} * {sign}) END"


# JSON.


class Json(NamedTuple):
    """SQL for a JSON value: the value, its kind in DuckDB's terms, and its text if it is a string."""

    value: str
    kind: str
    text: str

    @classmethod
    def at(cls, value: str) -> Json:
        """Return the three for a value."""
        return cls(value, f"json_type({value})", f"({value} ->> '$')")

    def field(self, name: str) -> Json:
        """Return the value of a name in an object."""
        return Json.at(f"json_extract({self.value}, {json_path(name)})")


def json_path(name: str) -> str:
    """Return the path of a name in an object, as a literal.

    >>> print(json_path("it's"))
    '$."it''s"'
    """
    path = name.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''")
    return f"'$.\"{path}\"'"


def json_value(json: Json, type_: str, line: str, depth: int = 0) -> str:
    """Return SQL for a JSON value as a value of a type; NULL if it does not fit.

    Numbers and booleans must not be in quotes. ``line`` is the line that the value is in.
    """
    kind, written = json.kind, f"CAST({json.value} AS VARCHAR)"
    if type_.startswith(("STRUCT", "ARRAY", "MAP")):
        return _nested(json, type_, line, depth)
    if type_ == "STRING":
        # Spark returns the original text, and DuckDB writes it anew. They are the same if DuckDB's text is found in the
        # line.
        return (
            f"CASE WHEN {kind} = 'VARCHAR' THEN {json.text} "
            f"WHEN {kind} IN ('UBIGINT', 'BIGINT', 'BOOLEAN') THEN {written} "
            f"WHEN {kind} IN ('OBJECT', 'ARRAY') AND contains({line}, {written}) THEN {written} END"
        )
    if type_ in sqltypes.INTEGERS:
        return f"CASE WHEN {kind} IN {_WHOLE} THEN {tried(written, type_)} END"
    if type_ in sqltypes.FRACTIONS:
        number = f"WHEN {kind} IN {_NUMBERS} THEN {tried(written, type_)}"
        return f"CASE {number} WHEN {kind} = 'VARCHAR' AND {json.text} IN {_WORDS} THEN {tried(json.text, type_)} END"
    if type_ == "BOOLEAN":
        return f"CASE WHEN {kind} = 'BOOLEAN' THEN {written} = 'true' END"
    from_text = f"WHEN {kind} = 'VARCHAR' THEN {text_value(json.text, type_)}"
    if type_.startswith("DECIMAL"):
        # With more digits, the number would not be exactly the one that was written.
        few = f"length(regexp_replace({written}, '[^0-9]', '', 'g')) <= 15"
        return f"CASE {from_text} WHEN {kind} IN {_NUMBERS} AND {few} THEN {tried(written, type_)} END"
    if type_ == "TIMESTAMP":
        seconds = f"TRY(make_timestamp(CAST({written} AS BIGINT) * 1000000))"
        return f"CASE {from_text} WHEN {kind} IN {_WHOLE} THEN {seconds} END"
    return f"CASE {from_text} END"


def _nested(json: Json, type_: str, line: str, depth: int) -> str:
    if type_.startswith("STRUCT"):
        fields = [
            f"{duckdb_name(name)} := {json_value(json.field(name), field, line, depth)}"
            for name, field in sqltypes.fields(type_).items()
        ]
        return f"CASE WHEN {json.kind} = 'OBJECT' THEN struct_pack({', '.join(fields)}) END"
    if type_.startswith("MAP") and sqltypes.entry(type_)[0] != "STRING":
        raise BadInput(f"expected maps of texts, got {type_}", hint="in JSON, a key is a text")
    path, element, own = _inside(type_, depth)
    inner = json_value(Json.at(element), own, line, depth + 1)
    values = f"list_transform(json_extract({json.value}, '{path}'), lambda {element}: {inner})"
    if type_.startswith("ARRAY"):
        return f"CASE WHEN {json.kind} = 'ARRAY' THEN {values} END"
    return f"CASE WHEN {json.kind} = 'OBJECT' THEN TRY(map(json_keys({json.value}), {values})) END"


def _inside(type_: str, depth: int) -> tuple[str, str, str]:
    """Return the path to all elements of an array or values of a map, a name for one of them, and its type."""
    if type_.startswith("ARRAY"):
        return "$[*]", f"e{depth}", sqltypes.element(type_) or "VOID"
    return "$.*", f"e{depth}", sqltypes.entry(type_)[1]


def json_fits(json: Json, read: str, type_: str, line: str, depth: int = 0) -> str:
    """Return the SQL condition that nothing of a JSON value was lost when it was ``read``."""
    fits = f"{read} IS NOT NULL"
    if type_.startswith("STRUCT"):
        for name, field in sqltypes.fields(type_).items():
            inner = json.field(name)
            fits += f" AND {json_fits(inner, json_value(inner, field, line, depth), field, line, depth)}"
    elif type_.startswith(("ARRAY", "MAP")):
        path, element, own = _inside(type_, depth)
        inner = Json.at(element)
        inside = json_fits(inner, json_value(inner, own, line, depth + 1), own, line, depth + 1)
        every = f"list_bool_and(list_transform(json_extract({json.value}, '{path}'), lambda {element}: {inside}))"
        fits += f" AND coalesce({every}, true)"
    return f"(coalesce({json.kind}, 'NULL') = 'NULL' OR ({fits}))"
