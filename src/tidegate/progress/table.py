"""Immutable maps with a default value, for the configurations of protocols."""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["DefaultTable"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class DefaultTable(Generic[K, V]):
    """An immutable map that gives a default for keys without an entry. Two with the same values are equal.

    >>> table = DefaultTable(0, {"a": 1})
    >>> table["a"], table["b"], table.set("b", 2).set("a", 0) == DefaultTable(0, {"b": 2})
    (1, 0, True)
    """

    __slots__ = ("_entries", "_hash", "default")

    def __init__(self, default: V, entries: Mapping[K, V] | None = None) -> None:
        self.default = default
        self._entries = {k: v for k, v in entries.items() if v != default} if entries else {}
        self._hash: int | None = None

    def __getitem__(self, k: K) -> V:
        return self._entries.get(k, self.default)

    def set(self, k: K, v: V) -> DefaultTable[K, V]:
        """Return the map with ``v`` at ``k``, and the rest unchanged."""
        return DefaultTable(self.default, {**self._entries, k: v})

    def items(self) -> ItemsView[K, V]:
        """Return the entries that differ from the default."""
        return self._entries.items()

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultTable) and self.default == other.default and self._entries == other._entries

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._entries.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._entries)
