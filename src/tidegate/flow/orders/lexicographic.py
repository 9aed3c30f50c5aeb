"""Coordinates of a lexicographic order: each time becomes one number, and the numbers compare as the times do.

Each column has a fixed number of values. So a time is like a number in which each column is a digit with its own base,
the first column being the highest digit. Numbers that do not fit into a BIGINT are decimals of 38 digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import prod
from typing import Any

from tidegate.flow.orders.coordinates import AXIS, Coordinates
from tidegate.flow.orders.ordered import Ordered
from tidegate.flow.schema import Column
from tidegate.flow.spans import from_units, units
from tidegate.flow.sqltypes import INTEGERS, WIDE, quoted
from tidegate.flow.units import from_units as sql_from_units
from tidegate.flow.units import number, to_units
from tidegate.time import BOTTOM, TOP, Bound, Lexicographic, Nat

__all__ = ["LexicographicCoordinates"]

_AXIS = f"{AXIS}0"


@dataclass(frozen=True, slots=True)
class LexicographicCoordinates(Coordinates):
    """The numbers of times of a lexicographic order."""

    given: Ordered

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column(_AXIS, self._type),)

    @property
    def encode_sql(self) -> tuple[str, ...]:
        return (self._coded([len(self.given.columns)]),)

    @property
    def encode_watermark_sql(self) -> tuple[str, ...]:
        # NULL in the last columns stands for all of their values: all numbers up to the last of these are complete.
        return (self._coded(range(len(self.given.columns), 0, -1)),)

    @property
    def decode_sql(self) -> tuple[str, ...]:
        found = []
        for i, ((low, high), step, type_) in enumerate(
            zip(self.given.ranges, self._steps, self.given.types, strict=True)
        ):
            if self._type == WIDE:
                numbers = ", ".join(number(n, WIDE) for n in (step, high - low + 1, low))
                digit = f"__digit({_AXIS}, {numbers})"
            else:
                digit = f"({_AXIS} DIV {step}L)" if step > 1 else _AXIS
                digit = f"{digit} % {high - low + 1}L" if i else digit
                digit = f"({digit} {'-' if low < 0 else '+'} {abs(low)}L)"
            found.append(sql_from_units(digit, type_))
        return tuple(found)

    def encode(self, t: Any) -> tuple[Any, ...]:
        found = 0
        parts = zip(t, self.given.ranges, self._steps, self.given.types, strict=True)
        for part, (low, high), step, type_ in parts:
            count = {BOTTOM: low, TOP: high}[part] if isinstance(part, Bound) else units(part, type_)
            if count < low:
                return (found,)
            if count > high:
                return (found + (high - low + 1) * step,)
            found += (count - low) * step
        return (found,)

    def decode(self, point: Sequence[Any]) -> Any:
        return tuple(
            from_units(low + int(point[0]) // step % (high - low + 1), type_)
            for (low, high), step, type_ in zip(self.given.ranges, self._steps, self.given.types, strict=True)
        )

    def bound(self, point: Sequence[Any]) -> Any:
        parts = list(self.decode(point))
        assert isinstance(self.order, Lexicographic)
        for i in reversed(range(len(parts))):
            if units(parts[i], self.given.types[i]) != self.given.ranges[i][0]:
                break
            (parts[i],) = self.order.parts[i].bottoms()
        return tuple(parts)

    def settled(self, frontier: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        first = [0 if f is BOTTOM else f for (f,) in frontier]
        return [(max(n, 0),) for n in sorted(first)[:1] if n is not TOP and n < self._size]

    def written(self, t: Any) -> list[Any]:
        pairs = zip(t, self.given.types, strict=True)
        return [part.name if isinstance(part, Bound) else units(part, type_) for part, type_ in pairs]

    def read(self, found: Sequence[Any]) -> Any:
        pairs = zip(found, self.given.types, strict=True)
        return tuple(Bound[part] if isinstance(part, str) else from_units(part, type_) for part, type_ in pairs)

    def shown(self, t: Any) -> str:
        firsts = (part is BOTTOM or (isinstance(part, date) and part == type(part).min) for part in t)
        return f"({', '.join('any' if first else str(part) for first, part in zip(firsts, t, strict=True))})"

    @property
    def _type(self) -> str:
        return "BIGINT" if self._size <= 2**63 else WIDE

    @property
    def _sizes(self) -> list[int]:
        return [high - low + 1 for low, high in self.given.ranges]

    @property
    def _size(self) -> int:
        return prod(self._sizes)

    @property
    def _steps(self) -> list[int]:
        """For each column, by how much the number grows when the column grows by one."""
        sizes = self._sizes
        return [prod(sizes[i + 1 :]) for i in range(len(sizes))]

    def _coded(self, known: Iterable[int]) -> str:
        """Return SQL for the number of a time. ``known`` says how many first columns may be set; the rest are NULL."""
        names = [quoted(name) for name in self.given.columns]
        counts = [to_units(name, type_) for name, type_ in zip(names, self.given.types, strict=True)]
        whens = []
        for size in known:
            tests = [self._inside(i) for i in range(size)] + [f"{name} IS NULL" for name in names[size:]]
            last = [number(high, self._type) for _, high in self.given.ranges[size:]]
            whens.append(f"WHEN {' AND '.join(tests)} THEN {self._packed([*counts[:size], *last])}")
        return f"CASE {' '.join(whens)} END"

    def _inside(self, i: int) -> str:
        name, type_, (low, high) = quoted(self.given.columns[i]), self.given.types[i], self.given.ranges[i]
        assert isinstance(self.order, Lexicographic)
        if type_ in INTEGERS:
            return f"{name} >= 0" if isinstance(self.order.parts[i], Nat) else f"{name} IS NOT NULL"
        # Spark has dates and timestamps that Python does not have.
        first, last = (sql_from_units(number(n, type_), type_) for n in (low, high))
        return f"{name} BETWEEN {first} AND {last}"

    def _packed(self, counts: Sequence[str]) -> str:
        steps = self._steps
        begin = -sum(low * step for (low, _), step in zip(self.given.ranges, steps, strict=True))
        if self._type == WIDE:
            pairs = (f"CAST({count} AS {WIDE}), {number(s, WIDE)}" for count, s in zip(counts, steps, strict=True))
            return f"__packed({number(begin, WIDE)}, {', '.join(pairs)})"
        terms = (f"{count} * {step}L" if step > 1 else count for count, step in zip(counts, steps, strict=True))
        return " + ".join([f"{begin}L", *terms])
