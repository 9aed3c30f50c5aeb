"""What identifies an operator in a checkpoint: the fields of its dataclass, and of those in it, as plain data.

A field takes part with its value, unless its declaration says otherwise.

>>> from dataclasses import dataclass, field
>>> @dataclass(frozen=True)
... class Chosen:
...     name: str
...     sql: str = field(metadata=AS_SQL)
...     type: str = field(default="INT", metadata=LEFT_OUT)
...     rows: int = field(default=0, metadata=IF_GIVEN)
>>> plain(Chosen("N", "SUM(X)"))
{'': 'Chosen', 'name': 'N', 'sql': 'sum(x)'}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any

from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql
from tidegate.time import Lexicographic, Sum

__all__ = ["AS_SQL", "IF_GIVEN", "LEFT_OUT", "content", "plain"]

_KEY = "tidegate.fingerprint"
#: The metadata of a field that does not change what state means: it can be derived, or only says how work is done.
LEFT_OUT: Mapping[str, str] = MappingProxyType({_KEY: "left out"})
#: The metadata of a field that holds Spark SQL, or a tuple of it: the case of words in it means nothing.
AS_SQL: Mapping[str, str] = MappingProxyType({_KEY: "as SQL"})
#: The metadata of a field that was added later: with its default value, the fingerprint is that of before.
IF_GIVEN: Mapping[str, str] = MappingProxyType({_KEY: "if given"})


def content(value: Any, *, exact: bool = False) -> dict[str, Any]:
    """Return the fields of a dataclass that take part, by name, as `plain` has them."""
    found: dict[str, Any] = {}
    for each in fields(value):
        rule = each.metadata.get(_KEY)
        held = getattr(value, each.name)
        if rule == IF_GIVEN[_KEY] and held == each.default:
            continue
        if rule != LEFT_OUT[_KEY]:
            found[each.name] = _normal(held) if rule == AS_SQL[_KEY] else plain(held, exact=exact)
    return found


def plain(value: Any, *, exact: bool = False) -> Any:
    """Return a value as lists, dicts and texts, the same for the same meaning in every process.

    With ``exact``, functions and other objects are told apart even if they have one name, in this process.
    """
    if isinstance(value, Schema):
        # A Poset may grow. Whether a checkpoint still fits the present one is decided where the checkpoint is read.
        kind = [] if value.ordering is None else [type(value.ordering.order).__name__]
        if value.ordering is not None and isinstance(value.ordering.order, Lexicographic | Sum):
            # This one does not grow: how its times are numbered depends on its parts.
            kind = [repr(value.ordering.order)]
        return [[c.name, c.type] for c in value.columns] + [list(value.time)] + kind
    if is_dataclass(value) and not isinstance(value, type):
        return {"": type(value).__name__} | content(value, exact=exact)
    if isinstance(value, tuple | list):
        return [plain(v, exact=exact) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if callable(value):
        name = f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
        return f"{name} {id(getattr(value, '__func__', value))}" if exact else name
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{name} {id(value)}" if exact else name


def _normal(sql: str | tuple[str, ...] | None) -> str | list[Any] | None:
    """Return Spark SQL in one spelling."""
    if isinstance(sql, tuple):
        return [_normal(part) for part in sql]
    return sql if sql is None else Sql.of(sql).normal()
