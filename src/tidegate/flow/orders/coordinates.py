"""Coordinates: times of any order as points, with a column for each axis. Points are ordered as a product of columns.

Engines can order times only by one column, or by a product of columns. If the times of a flow are ordered otherwise,
engines run the flow on points, and keep the user's column beside them. In a finite order, the coordinates are the
numbers of a realizer. In a sum, the sides have (0, 1) and (1, 0), neither of which is below the other, and two more
columns hold the values of the sides. For a lexicographic order, see `tidegate.flow.orders.lexicographic`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, ClassVar

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput
from tidegate.flow.orders.ordered import LEFT, RIGHT, Ordered
from tidegate.flow.orders.realizer import Points
from tidegate.flow.schema import Column
from tidegate.flow.spans import from_units, units, within
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.units import from_units as sql_from_units
from tidegate.time import BOTTOM, TOP, Bound, Inl, Inr, Nat, Order, Sum, maximal, minimal

__all__ = ["AXIS", "Coordinates", "PosetCoordinates", "SumCoordinates", "points_stored", "stored"]

#: How the names of axes begin.
AXIS = "__axis"


class Coordinates(ABC):
    """How the times of an order become points, and how points become times again."""

    given: Ordered
    on_axes: ClassVar[bool] = True

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of the axes."""

    @property
    @abstractmethod
    def encode_sql(self) -> tuple[str, ...]:
        """Spark SQL for each axis, computed from the user's column; NULL if its value is not in the order."""

    @property
    @abstractmethod
    def decode_sql(self) -> tuple[str, ...]:
        """Spark SQL for each of the user's columns, computed from the axes."""

    @property
    def encode_watermark_sql(self) -> tuple[str, ...]:
        """Spark SQL for each axis of a watermark, in which NULL may stand for every value."""
        return self.encode_sql

    @abstractmethod
    def encode(self, t: Any) -> tuple[Any, ...]:
        """Return the point of a time."""

    @abstractmethod
    def decode(self, point: Sequence[Any]) -> Any:
        """Return the time of a point."""

    def bound(self, point: Sequence[Any]) -> Any:
        """Return the time of a point of a frontier. What can still come may be all values: then it has `BOTTOM`."""
        return self.decode(point)

    def time_on_axes(self, t: Any) -> Any:
        """Return a time as engines have it in their time columns: a point, or one number if there is only one axis."""
        point = self.encode(t)
        return point[0] if len(point) == 1 else point

    def time_of_user(self, t: Any) -> Any:
        """Return the user's time for a time of an engine's time columns."""
        return self.decode(_point(t))

    def bound_of_user(self, t: Any) -> Any:
        """Return the user's time for a time of an engine's frontier."""
        return self.bound(_point(t))

    @abstractmethod
    def settled(self, frontier: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Return the least points at or above a frontier that are times of the order: only these can still come."""

    def written_frontier(self, frontier: Iterable[Any]) -> list[list[Any]]:
        """Return an engine's frontier as it is written to a commit, or published for flows that follow."""
        return [self.written(self.bound_of_user(t)) for t in frontier]

    def read_frontier(self, found: Iterable[Sequence[Any]]) -> list[Any]:
        """Return an engine's frontier from what `written_frontier` gave."""
        return [self.time_on_axes(self.read(element)) for element in found]

    @abstractmethod
    def written(self, t: Any) -> list[Any]:
        """Return a time of a frontier as it is written to a commit."""

    @abstractmethod
    def read(self, found: Sequence[Any]) -> Any:
        """Return the time from what `written` gave."""

    @abstractmethod
    def shown(self, t: Any) -> str:
        """Return a time of a frontier as text for users."""

    @property
    def order(self) -> Order[Any]:
        """The order of the user's times."""
        return self.given.order

    @property
    def user(self) -> tuple[Column, ...]:
        """The user's columns."""
        return tuple(Column(*pair) for pair in zip(self.given.columns, self.given.types, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class PosetCoordinates(Coordinates):
    """The numbers of the elements of a finite order."""

    given: Ordered
    #: The numbers of each element. They are pairs and not a dict, so that they can be hashed.
    points: tuple[tuple[Hashable, tuple[int, ...]], ...]

    @classmethod
    def of(cls, given: Ordered, points: Points) -> PosetCoordinates:
        """Return the coordinates that give elements these numbers."""
        return cls(given, tuple(points.items()))

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"{AXIS}{i}", "BIGINT") for i in range(len(self.points[0][1])))

    @property
    def encode_sql(self) -> tuple[str, ...]:
        name = quoted(self.given.column)
        whens = [(f"{name} = {self._literal(x)}", point) for x, point in self.points]
        return tuple(_case((when, f"{point[i]}L") for when, point in whens) for i in range(len(self.columns)))

    @property
    def decode_sql(self) -> tuple[str, ...]:
        return (_case((f"{AXIS}0 = {point[0]}L", self._literal(x)) for x, point in self.points),)

    def encode(self, t: Any) -> tuple[Any, ...]:
        return _point_by_element(self.points)[t]

    def decode(self, point: Sequence[Any]) -> Any:
        return _element_by_point(self.points)[tuple(point)]

    def elements_from(self, frontier: Iterable[Sequence[Any]]) -> list[Any]:
        """Return the elements at or above a point of a frontier."""
        bounds = [tuple(point) for point in frontier]
        return [x for x, point in self.points if any(_reaches(bound, point) for bound in bounds)]

    def settled(self, frontier: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        return [self.encode(x) for x in minimal(self.order, self.elements_from(frontier))]

    def written_frontier(self, frontier: Iterable[Any]) -> list[list[Any]]:
        # Write what is complete, not what is open: for a follower whose order has more elements, those are open.
        open_ = set(self.elements_from(frontier))
        done = maximal(self.order, [x for x, _ in self.points if x not in open_])
        return [self.written(x) for x in sorted(done, key=self.order.key)]

    def read_frontier(self, found: Iterable[Sequence[Any]]) -> list[Any]:
        done = [self.read(element) for element in found]
        for x in done:
            if not self.order.contains(x):
                raise BadInput(
                    f"expected times of {self.given.column} that are in its order, got {x!r}, which is complete",
                    hint="declare the order that the published output, or the checkpoint, has",
                )
        left = [x for x, _ in self.points if not any(self.order.le(x, y) for y in done)]
        return [self.encode(x) for x in minimal(self.order, left)]

    def written(self, t: Any) -> list[Any]:
        return [t.isoformat() if isinstance(t, date) else t]

    def read(self, found: Sequence[Any]) -> Any:
        return date.fromisoformat(found[0]) if self.given.type == "DATE" else found[0]

    def shown(self, t: Any) -> str:
        return str(t) or "''"

    def _literal(self, x: Any) -> str:
        if isinstance(x, str):
            # Spark would replace ${…} by the value of a setting.
            parts = [literal(part) for part in x.replace("${", "$\0{").split("\0")]
            return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"
        return f"DATE '{x.isoformat()}'" if isinstance(x, date) else f"CAST('{x}' AS {self.given.type})"


@lru_cache(maxsize=64)
def _point_by_element(points: tuple[tuple[Hashable, tuple[int, ...]], ...]) -> dict[Hashable, tuple[int, ...]]:
    return dict(points)


@lru_cache(maxsize=64)
def _element_by_point(points: tuple[tuple[Hashable, tuple[int, ...]], ...]) -> dict[tuple[int, ...], Hashable]:
    return {point: x for x, point in points}


@dataclass(frozen=True, slots=True)
class SumCoordinates(Coordinates):
    """Points of a sum: two axes that say which side, and one axis for the values of each side.

    On the axis of the side that a time is not on, it has a constant.
    """

    given: Ordered

    @property
    def columns(self) -> tuple[Column, ...]:
        types = ("TINYINT", "TINYINT", *self.given.sides)
        return tuple(Column(f"{AXIS}{i}", type_) for i, type_ in enumerate(types))

    @property
    def encode_sql(self) -> tuple[str, ...]:
        whole = [f"({self._is(side)} AND {self._inside(side)})" for side in (LEFT, RIGHT)]
        sides = [_case(zip(whole, numbers, strict=True)) for numbers in (("0", "1"), ("1", "0"))]
        numbers = [f"CAST({sql} AS TINYINT)" for sql in sides]
        values = [
            f"IF({self._is(side)}, {self._value(side)}, {sql_from_units(f'{units(_constant(type_), type_)}L', type_)})"
            for side, type_ in zip((LEFT, RIGHT), self.given.sides, strict=True)
        ]
        return (*numbers, *values)

    @property
    def decode_sql(self) -> tuple[str, ...]:
        left = f"{AXIS}0 = 0"
        side = f"'side', IF({left}, {literal(LEFT)}, {literal(RIGHT)})"
        if self._one_type:
            return (f"named_struct({side}, 'value', IF({left}, {AXIS}2, {AXIS}3))",)
        return (f"named_struct({side}, 'left', IF({left}, {AXIS}2, NULL), 'right', IF({left}, NULL, {AXIS}3))",)

    def encode(self, t: Any) -> tuple[Any, ...]:
        left, right = map(_constant, self.given.sides)
        return (0, 1, t.t, right) if t.is_left else (1, 0, left, t.t)

    def decode(self, point: Sequence[Any]) -> Any:
        return Inl(point[2]) if point[0] == 0 else Inr(point[3])

    def settled(self, frontier: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        bounds = [tuple(point) for point in frontier]
        found = []
        order = self.given.order
        assert isinstance(order, Sum)
        for side, at, part in ((Inl, 2, order.left), (Inr, 3, order.right)):
            # A side is still open if its last time is at or above a point of the frontier.
            last = self.encode(side(TOP))
            values = [bound[at] for bound in bounds if _reaches(bound, last) and bound[at] is not TOP]
            found += [self.encode(side(_least(part, values)))] if values else []
        return found

    def written(self, t: Any) -> list[Any]:
        side, type_ = (LEFT, self.given.sides[0]) if t.is_left else (RIGHT, self.given.sides[1])
        return [side, t.t.name if isinstance(t.t, Bound) else units(t.t, type_)]

    def read(self, found: Sequence[Any]) -> Any:
        side, value = found
        kind, type_ = (Inl, self.given.sides[0]) if side == LEFT else (Inr, self.given.sides[1])
        return kind(Bound[value] if isinstance(value, str) else from_units(value, type_))

    def shown(self, t: Any) -> str:
        first = t.t is BOTTOM or (isinstance(t.t, date) and t.t == type(t.t).min)
        return f"{LEFT if t.is_left else RIGHT} {'any' if first else t.t}"

    @property
    def _one_type(self) -> bool:
        return "value" in sqltypes.fields(self.given.type)

    def _is(self, side: str) -> str:
        return f"coalesce({quoted(self.given.column)}.side = {literal(side)}, false)"

    def _value(self, side: str) -> str:
        return f"{quoted(self.given.column)}.{'value' if self._one_type else quoted(side)}"

    def _inside(self, side: str) -> str:
        order = self.given.order
        assert isinstance(order, Sum)
        part = order.left if side == LEFT else order.right
        value = self._value(side)
        tests = [f"{value} IS NOT NULL", *([f"{value} >= 0"] if isinstance(part, Nat) else [])]
        # A time is on one side, so the other must have no value.
        tests += [] if self._one_type else [f"{self._value(RIGHT if side == LEFT else LEFT)} IS NULL"]
        return " AND ".join(tests)


def _point(t: Any) -> tuple[Any, ...]:
    return t if isinstance(t, tuple) else (t,)


def _reaches(bound: Sequence[Any], point: Sequence[Any]) -> bool:
    """Whether a point is at or above a bound, which may have `TOP` or `BOTTOM` on an axis."""
    return all(
        b is BOTTOM or p is TOP or (not isinstance(b, Bound) and not isinstance(p, Bound) and b <= p)
        for b, p in zip(bound, point, strict=True)
    )


def _least(part: Order[Any], values: list[Any]) -> Any:
    least = part.bottoms()[0] if any(value is BOTTOM for value in values) else min(values)
    # A watermark may be below the first natural number.
    return max(least, 0) if isinstance(part, Nat) and not isinstance(least, Bound) else least


def _constant(type_: str) -> Any:
    """Return the constant for the axis of the other side: a very late value, so that no state waits for it."""
    if type_ in sqltypes.INTEGERS:
        return min(within(2**62, type_), 2**62 - 1)
    return date(9000, 1, 1) if type_ == "DATE" else datetime(9000, 1, 1)


def _case(pairs: Iterable[tuple[str, str]]) -> str:
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in pairs)} END"


def stored(coordinates: PosetCoordinates) -> list[list[Any]]:
    """Return the numbers of all elements as they are written to a commit."""
    return [[*coordinates.written(x), list(point)] for x, point in coordinates.points]


def points_stored(given: Ordered, found: Sequence[Sequence[Any]]) -> Points:
    """Return the numbers from what `stored` gave; none if the elements are of another type now."""
    reader = PosetCoordinates(given, ())
    try:
        return {reader.read(entry): tuple(entry[1]) for entry in found}
    except (ValueError, TypeError):
        return {}
