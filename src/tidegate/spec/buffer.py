"""An immutable list with a fast append, for the buffers of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

__all__ = ["Buffer"]

X = TypeVar("X")


class Buffer(Generic[X]):
    """A list that never changes; appending returns a new one in constant time.

    Buffers that were made from each other share one growing list, and each sees its own length of it. Only the longest
    may append in place; any other copies what it sees.

    >>> a = Buffer([1, 2])
    >>> b = a.append(3)
    >>> c = a.append(4)
    >>> list(a), list(b), list(c)
    ([1, 2], [1, 2, 3], [1, 2, 4])
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, items: Iterable[X] = ()) -> None:
        self._shared: list[X] = list(items)
        self._length = len(self._shared)

    def append(self, item: X) -> Buffer[X]:
        """Return this buffer with one more item."""
        return self.extend((item,))

    def extend(self, items: Sequence[X]) -> Buffer[X]:
        """Return this buffer with more items."""
        grown: Buffer[X] = Buffer.__new__(Buffer)
        grown._shared = self._shared if len(self._shared) == self._length else self._shared[: self._length]
        grown._shared.extend(items)
        grown._length = self._length + len(items)
        return grown

    def split(self, condition: Callable[[X], bool]) -> tuple[list[X], Buffer[X]]:
        """Return the items that satisfy the condition, and a buffer of the others."""
        taken: list[X] = []
        kept: list[X] = []
        for item in self:
            (taken if condition(item) else kept).append(item)
        return taken, (Buffer(kept) if taken else self)

    def __iter__(self) -> Iterator[X]:
        shared = self._shared
        for i in range(self._length):
            yield shared[i]

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self._length == other._length and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
