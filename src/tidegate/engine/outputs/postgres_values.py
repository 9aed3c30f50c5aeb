"""Spark's values in PostgreSQL: types of columns, nested values as JSON, and values that can't be written."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.engine.outputs.refusals import Refusal
from tidegate.engine.units import from_units
from tidegate.flow import sqltypes
from tidegate.flow.errors import NotSupported
from tidegate.flow.schema import Column
from tidegate.flow.spans import within
from tidegate.flow.sqltypes import quoted

__all__ = ["column_type", "fits", "refused"]

#: Spark's types as PostgreSQL's.
_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "smallint",
    "SMALLINT": "smallint",
    "INT": "integer",
    "BIGINT": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "STRING": "text",
    "BINARY": "bytea",
    "DATE": "date",
    "TIMESTAMP": "timestamptz",
    "TIMESTAMP_NTZ": "timestamp",
}


def column_type(column: Column) -> str:
    """Return the type of PostgreSQL for a column, or raise if there is none."""
    type_ = column.type or ""
    if type_ in _TYPES:
        return _TYPES[type_]
    if type_.startswith("DECIMAL"):
        return type_.replace("DECIMAL", "numeric").replace(" ", "")
    if type_.startswith("ARRAY") and sqltypes.element(type_) in _TYPES:
        return _TYPES[sqltypes.element(type_) or ""] + "[]"
    if type_.startswith(("ARRAY", "MAP", "STRUCT")):
        for key in _keys(type_):
            if key.startswith(_KEYLESS):
                raise NotSupported(
                    f"column {column.name} has a map by {key.lower()}, which is no key in JSON",
                    hint="map(k, v) by texts: transform_keys(m, (k, v) -> hex(k)) in a select(…) before the sink",
                )
        return "jsonb"
    raise NotSupported(
        f"column {column.name} is of type {type_.lower()}, which has no form in PostgreSQL",
        hint="cast it in a select(…) before the sink",
    )


#: As keys of a map in JSON, Spark writes such values by their memory address, which changes every time.
_KEYLESS = ("BINARY", "ARRAY", "MAP", "STRUCT")


def _keys(type_: str) -> Iterator[str]:
    """Yield the types of keys of all maps in a type.

    >>> list(_keys("ARRAY<STRUCT<a: MAP<INT, MAP<BINARY, INT>>, b: INT>>"))
    ['INT', 'BINARY']
    """
    if type_.startswith("STRUCT"):
        for inner in sqltypes.fields(type_).values():
            yield from _keys(inner)
    elif type_.startswith("ARRAY"):
        yield from _keys(sqltypes.element(type_) or "")
    elif type_.startswith("MAP"):
        key, value = sqltypes.entry(type_)
        yield key
        yield from _keys(value)


#: Wider types that take all values of a type unchanged.
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
    """Whether an existing column takes all values of the wanted type unchanged.

    Otherwise PostgreSQL would round or truncate values, or fail after the step was committed.

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


def refused(column: Column) -> Iterator[Refusal]:
    """Yield which values of a column can't be written, because PostgreSQL or Python does not have them."""
    name, type_ = quoted(column.name), column.type or ""
    if column_type(column) == "jsonb":
        what, hint = "U+0000 in a text", "leave it out, or cast the column to BINARY"
        if condition := _has_nul(name, type_):
            yield Refusal(column.name, condition, what, hint)
        return
    element = (sqltypes.element(type_) or "") if type_.startswith("ARRAY") else type_
    for condition, what, hint in _refused_values(element):
        some = f"exists({name}, e -> {condition.format('e')})" if element != type_ else condition.format(name)
        yield Refusal(column.name, some, what, hint.format(name if element == type_ else "…"))


def _has_nul(sql: str, type_: str, depth: int = 0) -> str:
    """Return the SQL condition that some string in a value has a NUL character, which JSON in PostgreSQL can't have.

    >>> _has_nul("x", "STRUCT<a: INT, b: ARRAY<STRING>>")
    'exists(x.b, e0 -> contains(e0, chr(0)))'
    """
    if type_ == "STRING":
        return f"contains({sql}, chr(0))"
    parts = []
    if type_.startswith("STRUCT"):
        parts = [_has_nul(f"{sql}.{quoted(name)}", inner, depth) for name, inner in sqltypes.fields(type_).items()]
    else:
        lists = {sql: sqltypes.element(type_) or ""} if type_.startswith("ARRAY") else {}
        if type_.startswith("MAP"):
            key, value = sqltypes.entry(type_)
            lists = {f"map_keys({sql})": key, f"map_values({sql})": value}
        for list_, element in lists.items():
            if condition := _has_nul(f"e{depth}", element, depth + 1):
                parts.append(f"exists({list_}, e{depth} -> {condition})")
    return " OR ".join(filter(None, parts))


def _refused_values(type_: str) -> list[tuple[str, str, str]]:
    """Return conditions on values of a type, each with a description of the values and a hint."""
    if type_ == "STRING":
        return [
            ("contains({}, chr(0))", "U+0000 in a text", "replace({}, chr(0), '')"),
            ("NOT is_valid_utf8({})", "bytes that are no UTF-8 in a text", "make_valid_utf8({})"),
        ]
    if type_ in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        low, high = (from_units(f"{within(bound, type_)}L", type_) for bound in (-(2**70), 2**70))
        return [(f"{{0}} < {low} OR {{0}} > {high}", "years before 1 or after 9999", "CAST({} AS STRING)")]
    return []
