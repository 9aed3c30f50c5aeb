"""Dataclasses as JSON and back: an object with a key for each field, or a list of the values of the fields.

A dataclass inside another is always a list. A value is read by the type of its field, and must have that type: neither
true nor 1.0 is an int.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tidegate.engine.storage.errors import BadCheckpoint

__all__ = ["as_list", "as_object", "from_list", "from_object", "not_as_written", "value_from_json"]

T = TypeVar("T")

# What the types of values are called in errors, if not by their own names.
_NAMES = {tuple: "a list", Mapping: "an object"}

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
    expected = f"{kind.__name__} as an object with {', '.join(types)}"
    if not isinstance(found, Mapping):
        raise not_as_written(expected, found)
    if missing := [name for name in types if name not in found]:
        raise not_as_written(expected, found, f"one without {', '.join(missing)}: ")
    read = {name: value_from_json(type_, found[name], f"{name} of {kind.__name__}") for name, type_ in types.items()}
    return kind(**read)


def from_list(kind: type[T], found: Sequence[Any]) -> T:
    """Return the dataclass from its JSON list."""
    names = _types(kind)
    if not isinstance(found, list) or len(found) != len(names):
        raise not_as_written(f"{kind.__name__} as a list of {', '.join(names)}", found)
    return from_object(kind, dict(zip(names, found, strict=True)))


def value_from_json(type_: Any, found: Any, what: str) -> Any:
    """Return a value of a type from JSON; raise if it does not have that type. ``what`` names it in the error.

    >>> value_from_json(tuple[tuple[int, int], ...], [[1, 2], [3, 4]], "the steps")
    ((1, 2), (3, 4))
    """
    if is_dataclass(type_):
        return from_list(type_, found)  # type: ignore[arg-type]
    plain, inner = get_origin(type_) or type_, get_args(type_)
    if plain is UnionType:
        # The only unions are those with None.
        return None if found is None else value_from_json(inner[0], found, what)
    if plain is tuple and isinstance(found, list):
        types = [inner[0]] * len(found) if inner[-1] is Ellipsis else list(inner)
        if len(types) != len(found):
            raise not_as_written(f"a list of {len(types)} values as {what}", found)
        return tuple(value_from_json(t, element, what) for t, element in zip(types, found, strict=True))
    if plain is Mapping and isinstance(found, Mapping):
        return {key: value_from_json(inner[1], value, f"{key} in {what}") for key, value in found.items()}
    # In Python, True and False are ints, too.
    if plain is not Any and (not isinstance(found, plain) or (plain is int and isinstance(found, bool))):
        raise not_as_written(f"{_NAMES.get(plain, plain.__name__)} as {what}", found)
    return found


def not_as_written(expected: str, found: Any, got: str = "") -> BadCheckpoint:
    """Return the error for a value in a checkpoint that no version has written so; ``got`` says more of the value."""
    return BadCheckpoint(
        f"expected {expected} in a checkpoint, got {got}{str(found)[:80]!r}",
        hint="it was changed after it was written: restore it from a copy, or begin with a new checkpoint and output",
    )


def _written(value: Any) -> Any:
    if is_dataclass(value):
        return as_list(value)
    if isinstance(value, tuple):
        return [_written(element) for element in value]
    return dict(value) if isinstance(value, Mapping) else value
