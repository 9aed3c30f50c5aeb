"""Γ, the window of an Aggregate (when instances begin, their length, their key, the lateness), and γ, an instance."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from tidegate.errors import BadValue
from tidegate.spec.aggregate.ticks import Ticks

__all__ = ["Key", "Window", "WindowInstance", "no_key", "whole"]

#: The key-by function f_K, of a time and its data.
Key = Callable[[Any, Any], Hashable]


def no_key(t: Any, d: Any) -> Hashable:
    """Return the same key for everything."""
    del t, d
    return ()


def whole(t: Any, d: Any) -> Hashable:
    """Return the whole tuple as key: only identical tuples share an instance."""
    return (t, d)


@dataclass(frozen=True, slots=True)
class Window:
    """Instances cover ``[k * advance, k * advance + size)``, one for each key; each takes late data for ``lateness``.

    Spans are in units δ of the order. Instances begin at times of the order: on `Nat` none begins before 0, since the
    paper's ℓ is a natural number; on `Int` and `EventTime` ℓ may be negative. An ``advance`` of 0 would mean endlessly
    many equal instances, and one beyond the ``size`` would lose data between two of them: both are errors.

    >>> from tidegate.time import Nat
    >>> Window(2, 4).starts(5, Ticks(Nat())), Window(2, 4).starts(1, Ticks(Nat()))
    ([2, 4], [0])
    >>> Window(5, 3)
    Traceback (most recent call last):
    tidegate.errors.BadValue: expected an advance of at most the size 3, got 5: what falls between ...
      hint: filter first, and then use windows without gaps
    """

    advance: int
    size: int
    key: Key = no_key
    lateness: int = 0

    def __post_init__(self) -> None:
        for name, least in (("advance", 1), ("size", 1), ("lateness", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise BadValue(
                    f"expected {'an' if name == 'advance' else 'a'} {name} of at least {least} units, got {value!r}"
                    + (": the same instance would begin endlessly often" if name == "advance" and value == 0 else ""),
                    hint="give spans as whole numbers of units: 1 for numbers, else microseconds or days",
                )
        if self.advance > self.size:
            raise BadValue(
                f"expected an advance of at most the size {self.size}, got {self.advance}: "
                "what falls between two instances would be lost",
                hint="filter first, and then use windows without gaps",
            )

    def starts(self, n: int, ticks: Ticks) -> list[int]:
        """Return where the instances begin that tick ``n`` falls into, in ascending order."""
        first = (n - self.size) // self.advance + 1
        starts = (k * self.advance for k in range(first, n // self.advance + 1))
        return [l for l in starts if ticks.has(l)]

    def last_times(self, t: Any, ticks: Ticks) -> list[Any]:
        """Return the last times of the instances that ``t`` falls into, at which these answer."""
        return [ticks.time(l + self.size - 1) for l in self.starts(ticks.of(t), ticks)]


@dataclass(frozen=True, slots=True)
class WindowInstance:
    """γ, one instance of a `Window`: its left boundary, its key, and the tuples ``(t, d)`` that fell into it."""

    l: Any
    key: Hashable
    tuples: tuple[tuple[Any, Any], ...]
