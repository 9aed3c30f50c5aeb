"""Dataclasses as JSON and back: an object with a key for each field, or a list of the values of the fields.

A dataclass inside another is always a list. A value is read by the type of its field, and must have that type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tidegate.engine.storage.errors import BadCheckpoint

__all__ = ["as_list", "as_object", "from_list", "from_object"]

T = TypeVar("T")

# The names of the fields of a dataclass, in order, with their types.
_types: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def as_object(value: Any) -> dict[str, Any]:
    """Return a dataclass as a JSON object."""
    return {field.name: _written(getattr(value, field.name)) for field in fields(value)}


def as_list(value: Any) -> list[Any]:
    """Return a dataclass as a JSON list."""
    return list(as_object(value).values())


def from_object(kind: type[T], found: Mapping[str, Any]) -> T:
    """Return the dataclass from its JSON object. Keys that are no fields of it are ignored."""
    types = _types(kind)
    if not isinstance(found, Mapping) or not types.keys() <= found.keys():
        raise _wrong(f"{kind.__name__} as an object with {', '.join(types)}", found)
    return kind(**{name: _read(type_, found[name]) for name, type_ in types.items()})


def from_list(kind: type[T], found: Sequence[Any]) -> T:
    """Return the dataclass from its JSON list."""
    names = _types(kind)
    if not isinstance(found, list) or len(found) != len(names):
        raise _wrong(f"{kind.__name__} as a list of {', '.join(names)}", found)
    return from_object(kind, dict(zip(names, found, strict=True)))


def _written(value: Any) -> Any:
    if is_dataclass(value):
        return as_list(value)
    if isinstance(value, tuple):
        return [_written(element) for element in value]
    return dict(value) if isinstance(value, Mapping) else value


def _read(type_: Any, found: Any) -> Any:
    if is_dataclass(type_):
        return from_list(type_, found)  # type: ignore[arg-type]
    plain, inner = get_origin(type_) or type_, get_args(type_)
    if plain is UnionType:
        # The only unions are those with None.
        return None if found is None else _read(inner[0], found)
    if plain is tuple and isinstance(found, list):
        # All elements of a tuple have the type of the first.
        return tuple(_read(inner[0], element) for element in found)
    if plain is not Any and not isinstance(found, plain):
        raise _wrong("a list" if plain is tuple else plain.__name__, found)
    return found


def _wrong(expected: str, found: Any) -> BadCheckpoint:
    return BadCheckpoint(
        f"expected {expected} in a checkpoint, got {str(found)[:80]!r}",
        hint="it was changed after it was written: restore it from a copy, or begin with a new checkpoint and output",
    )
