"""`tg.ordered`: time columns whose values are ordered by a `Poset`, a `Sum` or a `Lexicographic`; and their schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from math import prod
from typing import Any, ClassVar

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadArgument, BadTime
from tidegate.flow.orders.realizer import canonical
from tidegate.flow.schema import Column, Schema, parse_schema
from tidegate.flow.spans import units, within
from tidegate.time import Inl, Inr, Int, Lexicographic, Nat, Order, Poset, Sum

__all__ = ["NOT_IN_ORDER", "Ordered", "ordered", "ordered_schema"]

#: How the reason for rejecting a row ends.
NOT_IN_ORDER = " is not in the order"
#: A flow with more elements would take too long to start.
_MOST = 300
#: The types that the values of a finite order may have in Python, by the type of their column.
_VALUES: dict[str, type] = {"STRING": str, "DATE": date} | dict.fromkeys(sqltypes.INTEGERS, int)
#: What tells the sides of a sum apart.
LEFT, RIGHT = "left", "right"
#: Beyond all times of all types, in units.
_BEYOND = 2**70
#: The greatest number of times of a lexicographic order: times are numbered, and a number has 38 digits.
_NUMBERS = 10**38


@dataclass(frozen=True, slots=True)
class Ordered:
    """Time columns, and the order of their values; in a schema, also their types.

    Only a `Lexicographic` has several columns.
    """

    columns: tuple[str, ...]
    order: Poset | Sum | Lexicographic
    types: tuple[str, ...] = ()
    #: Whether times are points, as in the plans of engines.
    on_axes: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"ordered({(self.columns[0] if len(self.columns) == 1 else self.columns)!r}, {self.order!r})"

    @property
    def name(self) -> str:
        """The column, or the columns, as text for users."""
        return self.columns[0] if len(self.columns) == 1 else f"({', '.join(self.columns)})"

    @property
    def column(self) -> str:
        """The one column."""
        (column,) = self.columns
        return column

    @property
    def type(self) -> str:
        """The type of the one column."""
        (type_,) = self.types
        return type_

    @property
    def by_columns(self) -> bool:
        """Whether times are ordered by the values of their columns; a `Poset` orders values in a way of its own."""
        return isinstance(self.order, Lexicographic)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and the last value of each column of a `Lexicographic`, in units."""
        assert isinstance(self.order, Lexicographic)
        return tuple(
            (0 if isinstance(part, Nat) else within(-_BEYOND, type_), within(_BEYOND, type_))
            for part, type_ in zip(self.order.parts, self.types, strict=True)
        )

    @property
    def sides(self) -> tuple[str, str]:
        """The types of the two sides of a sum."""
        fields = dict(sqltypes.fields(self.type))
        return (fields["value"],) * 2 if "value" in fields else (fields[LEFT], fields[RIGHT])

    def contains(self, t: Any) -> bool:
        """Whether ``t`` is a time of the order that the columns can hold."""
        if not self.order.contains(t) or not isinstance(self.order, Lexicographic):
            return self.order.contains(t)
        counts = (units(part, type_) for part, type_ in zip(t, self.types, strict=True))
        return all(low <= count <= high for count, (low, high) in zip(counts, self.ranges, strict=True))

    def time_of(self, *values: Any) -> Any:
        """Return the time that is given by values of the columns; None if it is not a time of the order."""
        if isinstance(self.order, Lexicographic):
            return values if self.contains(values) else None
        (value,) = values
        if value is None or isinstance(self.order, Poset):
            return value if self.order.contains(value) else None
        side = value.get("side")
        held = value["value"] if "value" in value else value.get(side)
        if value.get({LEFT: RIGHT, RIGHT: LEFT}.get(side, "")) is not None:
            return None
        t = {LEFT: Inl, RIGHT: Inr}[side](held) if side in (LEFT, RIGHT) else None
        return t if self.order.contains(t) else None

    def at(self, t: Any) -> dict[str, Any]:
        """Return the columns of a row at a time."""
        if isinstance(self.order, Lexicographic):
            return dict(zip(self.columns, t, strict=True))
        return {self.column: self._value_of(t)}

    def _value_of(self, t: Any) -> Any:
        """Return a time as a value of the one column."""
        if isinstance(self.order, Poset):
            return t
        side, other = (LEFT, RIGHT) if t.is_left else (RIGHT, LEFT)
        if "value" in dict(sqltypes.fields(self.type)):
            return {"side": side, "value": t.t}
        held = {side: t.t, other: None}
        return {"side": side, LEFT: held[LEFT], RIGHT: held[RIGHT]}


def ordered(column: str | tuple[str, ...] | list[str], order: Order[Any]) -> Ordered:
    """Return time columns with an order of your own, for ``time=`` of a source.

    ``flow.source("edits", "t STRING, page STRING", time=tg.ordered("t", Poset([("draft", "final")])))``. Rows whose
    time is not in the order are rejected.

    - In a `Poset`, values of the column are texts, integers or dates.
    - In a `Sum`, the column is ``STRUCT<side: STRING, value: …>``, where the side is ``left`` or ``right``. If the
      sides have different types, it is ``STRUCT<side: STRING, left: …, right: …>``.
    - In a `Lexicographic`, there is a column for each part. The first column in which two times differ decides.

    >>> from tidegate.time import Poset
    >>> ordered("t", Poset([("draft", "final")]))
    ordered('t', Poset([('draft', 'final')]))
    >>> from tidegate.time import Int, Lexicographic
    >>> ordered(("epoch", "n"), Lexicographic(Int(), Int()))
    ordered(('epoch', 'n'), Lexicographic(Int(), Int()))
    """
    if isinstance(order, Lexicographic):
        return _lexicographic(column, order)
    if not isinstance(column, str):
        raise BadArgument(f"expected the name of a column in ordered(…), got {column!r}", hint='ordered("t", order)')
    name = column
    if isinstance(order, Poset):
        if not order.elements:
            raise BadArgument("expected a Poset with elements, got one without", hint='Poset([("a", "b")])')
        if len(order.elements) > _MOST:
            raise BadArgument(
                f"expected a Poset of at most {_MOST} elements, got one of {len(order.elements)}",
                hint="a product of columns, time=(…, …), has no such limit",
            )
        return Ordered((name,), order)
    if isinstance(order, Sum):
        for part in (order.left, order.right):
            if not part.total or isinstance(part, Poset):
                raise BadArgument(
                    f"expected a Sum of total orders of numbers, days or instants, got {order!r}",
                    hint="Sum(Int(), EventTime()); a Poset inside of a Sum can be written as one Poset",
                )
        return Ordered((name,), order)
    raise BadArgument(
        f"expected a Poset, a Sum or a Lexicographic in ordered({name!r}, …), got {order!r}",
        hint="from tidegate.time import Poset; columns ordered by their values are given by name, time=(…, …)",
    )


def ordered_schema(time: Ordered, declared: Schema) -> Schema:
    """Return the schema of a source whose times have an order of their own; raise if the order does not fit."""
    if isinstance(time.order, Lexicographic):
        return _lexicographic_schema(time.columns, time.order, declared)
    column = declared[time.column]
    order = _checked_poset(time.order, column) if isinstance(time.order, Poset) else _checked_sum(time.order, column)
    found = Ordered((column.name,), order, (column.type or "",))
    return Schema((column, *(c for c in declared.columns if c != column)), (column.name,), found)


def _lexicographic(columns: Any, order: Lexicographic) -> Ordered:
    if not isinstance(columns, tuple | list) or not all(isinstance(name, str) for name in columns):
        raise BadArgument(
            f"expected the names of columns for {order!r}, got {columns!r}", hint='ordered(("a", "b"), order)'
        )
    if len(columns) != len(order.parts) or len(columns) < 2:
        raise BadArgument(
            f"expected a column for each part of {order!r}, and two at least, got {', '.join(columns) or 'none'}",
            hint='ordered(("a", "b"), Lexicographic(Int(), Int())); one column is ordered by its value: time="a"',
        )
    return Ordered(tuple(columns), order)


def _lexicographic_schema(names: tuple[str, ...], order: Lexicographic, declared: Schema) -> Schema:
    plain = parse_schema(declared, time=names)
    types = tuple(column.type or "" for column in plain.times)
    for part, column in zip(order.parts, plain.times, strict=True):
        _check_part(part, column.type or "", f"which the column {column.name} has", order)
    found = Ordered(plain.time, order, types)
    if prod(high - low + 1 for low, high in found.ranges) >= _NUMBERS:
        raise BadTime(
            f"expected columns with fewer than 10^38 values together for a Lexicographic, got "
            f"{', '.join(map(str, plain.times))}",
            hint="a BIGINT has 10^19 of them, or half with Nat(), a TIMESTAMP 10^17, an INT 10^9: take narrower types",
        )
    return Schema(plain.columns, plain.time, found)


def _check_part(part: Order[Any], type_: str, where: str, order: Order[Any]) -> None:
    """Raise unless a part of an order is the order of a type, or of its natural numbers."""
    allowed = sqltypes.order_of(type_)
    if allowed is None or not (part == allowed or (isinstance(part, Nat) and isinstance(allowed, Int))):
        raise BadTime(
            f"expected in {order!r} the order of {type_}, {where}, got {part!r}",
            hint=f"{allowed!r} is the order of {type_}" if allowed else "an integer type, DATE or TIMESTAMP",
        )


def _checked_poset(order: Poset, column: Column) -> Poset:
    kind = _VALUES.get(column.type or "")
    if kind is None:
        raise BadTime(
            f"expected a column of type STRING, DATE or of an integer type for a Poset, got {column}",
            hint="derive such a column before the rows come in",
        )
    for x in order.elements:
        fits = isinstance(x, kind) and not isinstance(x, bool | datetime)
        if fits and kind is int:
            size = 8 * 2 ** sqltypes.INTEGERS.index(column.type or "") - 1
            fits = -(2**size) <= x < 2**size
        if not fits or (isinstance(x, str) and "\0" in x):
            raise BadTime(
                f"expected elements that {column} can have, got {x!r} ({type(x).__name__})",
                hint=f"elements of type {kind.__name__}, or another type of the column",
            )
    return canonical(order)


def _checked_sum(order: Sum, column: Column) -> Sum:
    fields = dict(sqltypes.fields(column.type or "")) if (column.type or "").startswith("STRUCT") else {}
    names = list(fields)
    if fields.get("side") != "STRING" or names not in (["side", "value"], ["side", LEFT, RIGHT]):
        raise BadTime(
            f"expected a struct of side and value for a Sum, got {column}",
            hint=f"{column.name} STRUCT<side: STRING, value: INT>, or STRUCT<side: STRING, left: INT, right: DATE>",
        )
    types = [fields["value"]] * 2 if "value" in fields else [fields[LEFT], fields[RIGHT]]
    for part, type_ in zip((order.left, order.right), types, strict=True):
        _check_part(part, type_, f"which the column {column.name} has there", order)
    return replace(order)
