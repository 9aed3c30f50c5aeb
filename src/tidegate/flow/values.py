"""Values of columns: which are equal as keys, and in which order they come, as in Spark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["freeze", "ordered", "sort_key"]


def freeze(value: Any) -> Any:
    """Return a value as a key: NaN equals itself, and -0.0 equals 0.0; structs and arrays can be keys too.

    >>> freeze([1, {"a": -0.0}]) == freeze([1, {"a": 0.0}])
    True
    """
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Mapping):
        return ("{", *((freeze(k), freeze(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return ("[", *map(freeze, value))
    return value


def sort_key(value: Any) -> Any:
    """Return what to sort a value of a column by: nulls first, NaN last.

    >>> sorted([2.0, float("nan"), None, 1.0], key=sort_key)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    if isinstance(value, Mapping):
        return (1, [sort_key(v) for v in value.values()])
    if isinstance(value, list | tuple):
        return (1, [sort_key(v) for v in value])
    return (1, value)


def ordered(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Any]:
    """Return rows sorted by all columns. Time columns come first, so this agrees with the order of times.

    >>> ordered([{"t": 2, "x": 1}, {"t": 1, "x": None}, {"t": 1, "x": 0}], ["t", "x"])
    [{'t': 1, 'x': None}, {'t': 1, 'x': 0}, {'t': 2, 'x': 1}]
    """
    return sorted(rows, key=lambda row: [sort_key(row[name]) for name in names])
