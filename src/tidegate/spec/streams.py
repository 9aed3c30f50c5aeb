"""Streams: any iterable of events, possibly endless, and `Lasso`, an endless one that can be reasoned about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, cycle
from typing import Generic, TypeVar

from tidegate.errors import BadValue

__all__ = ["Lasso", "tail"]

E = TypeVar("E")


class Lasso(Generic[E]):
    """An endless stream: a prefix, then a cycle for ever.

    >>> from itertools import islice
    >>> list(islice(Lasso([1], [2, 3]), 6))
    [1, 2, 3, 2, 3, 2]
    """

    __slots__ = ("cycle", "dropped", "prefix")

    def __init__(self, prefix: Iterable[E], cycle: Iterable[E]) -> None:
        #: How many events were dropped before the first one, for messages.
        self.dropped = 0
        self.prefix = tuple(prefix)
        self.cycle = tuple(cycle)
        if not self.cycle:
            raise BadValue(
                "expected at least one event in the cycle of a Lasso, got none",
                hint="a stream that ends is a plain list",
            )

    def __iter__(self) -> Iterator[E]:
        return chain(self.prefix, cycle(self.cycle))

    def unroll(self, rounds: int) -> list[E]:
        """Return the prefix and ``rounds`` times the cycle."""
        return [*self.prefix, *self.cycle * rounds]

    def drop(self, n: int) -> Lasso[E]:
        """Return what is left after the first ``n`` events."""
        into = (n - len(self.prefix)) % len(self.cycle)
        late = self.cycle[into:] if into else ()
        rest = Lasso(self.prefix[n:] if n <= len(self.prefix) else late, self.cycle)
        rest.dropped = self.dropped + n
        return rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lasso) and self.prefix == other.prefix and self.cycle == other.cycle

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Lasso({list(self.prefix)!r}, {list(self.cycle)!r})"


def tail(stream: Iterable[E], iterator: Iterator[E], taken: int) -> Iterable[E]:
    """Return what is left of ``stream`` after ``taken`` events were drawn from ``iterator``, which runs over it."""
    return stream.drop(taken) if isinstance(stream, Lasso) else iterator
