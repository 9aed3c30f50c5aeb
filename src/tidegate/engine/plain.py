"""Plain values as JSON text and back, with tags for types that JSON does not have. Reading runs no code."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tidegate.flow.errors import BadResult
from tidegate.flow.processed import Row

__all__ = ["plain_text", "plain_value"]

_AS_THEY_ARE = (bool, int, float, str, type(None))

#: Types that JSON does not have: their tags, how they are written, and how they are read.
_TAGGED: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    datetime: ("instant", datetime.isoformat, datetime.fromisoformat),
    date: ("date", date.isoformat, date.fromisoformat),
    timedelta: ("span", lambda d: [d.days, d.seconds, d.microseconds], lambda parts: timedelta(*parts)),
    Decimal: ("decimal", str, Decimal),
    bytes: ("bytes", lambda b: b64encode(b).decode(), b64decode),
    tuple: ("tuple", lambda t: [_to_json(v) for v in t], lambda values: tuple(map(_from_json, values))),
    set: ("set", lambda s: [_to_json(v) for v in s], lambda values: set(map(_from_json, values))),
    frozenset: ("frozen", lambda s: [_to_json(v) for v in s], lambda values: frozenset(map(_from_json, values))),
    dict: (
        "dict",
        lambda d: [[_to_json(k), _to_json(v)] for k, v in d.items()],
        lambda pairs: {_from_json(k): _from_json(v) for k, v in pairs},
    ),
}
_READ = {tag: read for tag, _, read in _TAGGED.values()}


def plain_text(value: Any) -> str:
    """Return a plain value as text: numbers, strings, dates and instants, and lists, tuples, sets and dicts of these.

    >>> plain_text({"n": 2, "last": [1.5, None]})
    '{"n": 2, "last": [1.5, null]}'
    >>> plain_value(plain_text({(1, "a"): date(2026, 1, 2)}))
    {(1, 'a'): datetime.date(2026, 1, 2)}
    """
    return json.dumps(_to_json(value))


def plain_value(text: str) -> Any:
    """Return the value from its text."""
    return _from_json(json.loads(text))


def _to_json(value: Any) -> Any:
    kind: type = dict if isinstance(value, Row) else type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is list:
        return [_to_json(v) for v in value]
    if kind is dict and "?" not in value and all(type(key) is str for key in value):
        return {key: _to_json(v) for key, v in value.items()}
    if kind not in _TAGGED:
        raise BadResult(
            f"expected a plain value, got {value!r} ({kind.__name__})",
            hint="numbers, texts, bytes, instants, decimals, and lists, tuples, sets and dicts of such",
        )
    tag, write, _ = _TAGGED[kind]
    return {"?": tag, "v": write(value)}


def _from_json(found: Any) -> Any:
    if isinstance(found, list):
        return [_from_json(v) for v in found]
    if isinstance(found, dict):
        return _READ[found["?"]](found["v"]) if "?" in found else {key: _from_json(v) for key, v in found.items()}
    return found
