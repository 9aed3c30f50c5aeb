"""Values of Spark as PostgreSQL takes them: types of columns, nested values as JSON, and what it cannot take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegate.engine.units import from_units
from tidegate.flow.errors import NotSupported
from tidegate.flow.spans import within
from tidegate.flow.sqltypes import literal, quoted
from tidegate.spark.rows import MICROSECONDS, as_json
from tidegate.spark.streaming.refusals import Refusal

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

__all__ = ["column_type", "fits", "flat", "refused"]

#: Columns of Spark, by the name that Spark gives their type, as columns of PostgreSQL.
_TYPES = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
#: The zone of instants in nested values, which are written as JSON.
_UTC = {"timeZone": "UTC"}


def column_type(name: str, type_: DataType) -> str:
    """Return the type of PostgreSQL for a column, or raise if there is none."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    text = type_.simpleString()
    if text in _TYPES:
        return _TYPES[text]
    if text.startswith("decimal"):
        return text.replace("decimal", "numeric")
    if isinstance(type_, ArrayType) and type_.elementType.simpleString() in _TYPES:
        return _TYPES[type_.elementType.simpleString()] + "[]"
    if isinstance(type_, ArrayType | MapType | StructType):
        return "jsonb"
    raise NotSupported(
        f"column {name} is of type {text}, which has no form in PostgreSQL",
        hint="cast it in a select(…) before the sink",
    )


#: Other types that take all values of a type as they are.
_WIDER = {
    "smallint": {"integer", "bigint", "numeric", "real", "double precision"},
    "integer": {"bigint", "numeric", "double precision"},
    "bigint": {"numeric"},
    "real": {"double precision"},
    "text": {"character varying"},
    "jsonb": {"json"},
}
_LONG = {"timestamptz": "timestamp with time zone", "timestamp": "timestamp without time zone"}


def fits(wanted: str, found: str) -> bool:
    """Whether a column that a table has takes all values of the type that it would be made with, as they are.

    Into others, PostgreSQL rounds, cuts off, or fails when a step is committed already.

    >>> fits("numeric(10,2)", "numeric(12,3)"), fits("numeric(10,2)", "numeric(12,1)"), fits("text", "uuid")
    (True, False, False)
    """
    end = "[]" if wanted.endswith("[]") else ""
    kind = wanted.removesuffix(end)
    if found in (wanted, _LONG.get(kind, kind) + end):
        return True
    if not wanted.startswith("numeric("):
        return bool(end) == found.endswith("[]") and found.removesuffix(end) in _WIDER.get(kind, ())
    if not found.startswith("numeric("):
        return found == "numeric"
    (precision, scale), (others, other) = (map(int, text[8:-1].split(",")) for text in (wanted, found))
    return other >= scale and others - other >= precision - scale


def flat(name: str, type_: DataType) -> Any:
    """Return a column as it is written: nested values as JSON."""
    from pyspark.sql.functions import col, to_json

    if column_type(name, type_) != "jsonb":
        return col(quoted(name))
    return to_json(col(quoted(name)), MICROSECONDS | _UTC).alias(name)


def refused(name: str, type_: DataType) -> Iterator[Refusal]:
    """Yield which values of a column cannot be written: PostgreSQL, or Python on the way to it, does not have them."""
    from pyspark.sql.types import ArrayType

    column, text = quoted(name), type_.simpleString()
    if column_type(name, type_) == "jsonb":
        # Not where the backslash is itself written with one.
        escaped = literal(r"(?<!\\)(?:\\\\)*\\u0000")
        condition = f"{as_json(column, **_UTC)} RLIKE {escaped}"
        yield Refusal(name, condition, "U+0000 in a text", "leave it out, or cast the column to BINARY")
        return
    element = type_.elementType.simpleString() if isinstance(type_, ArrayType) else text
    for condition, what, hint in _refused_values(element):
        some = f"exists({column}, e -> {condition.format('e')})" if element != text else condition.format(column)
        yield Refusal(name, some, what, hint.format(column if element == text else "…"))


def _refused_values(type_: str) -> list[tuple[str, str, str]]:
    """Return conditions on values of a type, what they say, and what to do."""
    if type_ == "string":
        return [
            ("contains({}, chr(0))", "U+0000 in a text", "replace({}, chr(0), '')"),
            ("NOT is_valid_utf8({})", "bytes that are no UTF-8 in a text", "make_valid_utf8({})"),
        ]
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        low, high = (from_units(f"{within(bound, type_.upper())}L", type_.upper()) for bound in (-(2**70), 2**70))
        return [(f"{{0}} < {low} OR {{0}} > {high}", "years before 1 or after 9999", "CAST({} AS STRING)")]
    return []
