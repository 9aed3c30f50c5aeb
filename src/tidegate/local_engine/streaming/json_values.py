"""Nested values as JSON, as Spark's ``to_json`` writes them: instants in UTC, fields without a value left out."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tidegate.flow import sqltypes

__all__ = ["json_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def json_text(value: Any, type_: str) -> str | None:
    """Return a Python value from Arrow as JSON; None if it is NULL.

    >>> json_text({"a": 1, "b": None, "c": [1.5, None]}, "STRUCT<a: INT, b: INT, c: ARRAY<DOUBLE>>")
    '{"a":1,"c":[1.5,null]}'
    """
    return None if value is None else _written(value, type_)


def _written(value: Any, type_: str) -> str:
    if value is None:
        return "null"
    if type_.startswith("STRUCT"):
        fields = sqltypes.fields(type_).items()
        parts = [(name, _written(value[name], inner)) for name, inner in fields if value[name] is not None]
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in parts) + "}"
    if type_.startswith("ARRAY"):
        element = sqltypes.element(type_) or "VOID"
        return "[" + ",".join(_written(item, element) for item in value) + "]"
    if type_.startswith("MAP"):
        key_type, value_type = sqltypes.entry(type_)
        entries = value.items() if isinstance(value, Mapping) else value
        parts = [(_key(key, key_type), _written(item, value_type)) for key, item in entries]
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in parts) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    if type_ == "FLOAT":
        return _shortest(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(_text(value, type_), ensure_ascii=False)


def _key(value: Any, type_: str) -> str:
    """Return a key of a map as a JSON string.

    Like Spark, it writes the inner value: days or microseconds since 1970.

    >>> _key(date(1970, 1, 3), "DATE"), _key(1e7, "DOUBLE"), _key(0.5, "FLOAT"), _key(True, "BOOLEAN")
    ('2', '1.0E7', '0.5', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _as_java(value, type_)
    if isinstance(value, datetime):
        return str((value.replace(tzinfo=value.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return str((value - _EPOCH.date()).days)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _as_java(value: float, type_: str) -> str:
    """Return a number as Java writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        whole = f"{Decimal(_shortest(value) if type_ == 'FLOAT' else repr(value)):f}"
        return whole if "." in whole else f"{whole}.0"
    sign, digits, exponent = Decimal(_shortest(value) if type_ == "FLOAT" else repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


def _text(value: Any, type_: str) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return plain.isoformat(timespec="microseconds") + ("Z" if type_ == "TIMESTAMP" else "")
    return value.isoformat() if isinstance(value, date) else str(value)


def _shortest(value: float) -> str:
    """Return a FLOAT with the fewest digits that identify it."""
    return next(text for digits in range(6, 10) if _as_float(text := f"{value:.{digits}g}") == value)


def _as_float(text: str) -> float:
    """Return a number with the precision of a FLOAT."""
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])
