"""`tg.ordered`: a time column whose values are ordered by a `Poset` or a `Sum`, and what its schema says of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadArgument, BadTime
from tidegate.flow.orders.realizer import canonical
from tidegate.flow.schema import Column, Schema
from tidegate.time import Inl, Inr, Int, Nat, Order, Poset, Sum

__all__ = ["NOT_IN_ORDER", "Ordered", "ordered", "ordered_schema"]

#: How the reason ends for which a row is rejected.
NOT_IN_ORDER = " is not in the order"
#: More elements would take longer to place than a flow should take to start.
_MOST = 300
#: What the values of a finite order may be, in Python, by the type of their column.
_VALUES: dict[str, type] = {"STRING": str, "DATE": date} | dict.fromkeys(sqltypes.INTEGERS, int)
#: What tells the sides of a sum apart.
LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class Ordered:
    """A column, and the order of its values; in a schema, with the column's type."""

    column: str
    order: Poset | Sum
    type: str = ""

    def __repr__(self) -> str:
        return f"ordered({self.column!r}, {self.order!r})"

    @property
    def sides(self) -> tuple[str, str]:
        """The types of the two sides of a sum."""
        fields = dict(sqltypes.fields(self.type))
        return (fields["value"],) * 2 if "value" in fields else (fields[LEFT], fields[RIGHT])

    def time_of(self, value: Any) -> Any:
        """Return the time that a value of the column is; None if it is none."""
        if value is None or isinstance(self.order, Poset):
            return value if self.order.contains(value) else None
        side = value.get("side")
        held = value["value"] if "value" in value else value.get(side)
        t = {LEFT: Inl, RIGHT: Inr}[side](held) if side in (LEFT, RIGHT) else None
        return t if self.order.contains(t) else None

    def value_of(self, t: Any) -> Any:
        """Return a time as a value of the column."""
        if isinstance(self.order, Poset):
            return t
        side, other = (LEFT, RIGHT) if t.is_left else (RIGHT, LEFT)
        if "value" in dict(sqltypes.fields(self.type)):
            return {"side": side, "value": t.t}
        held = {side: t.t, other: None}
        return {"side": side, LEFT: held[LEFT], RIGHT: held[RIGHT]}


def ordered(column: str, order: Order[Any]) -> Ordered:
    """Let the values of a column be times of a `Poset` or a `Sum`.

    ``flow.source("edits", "t STRING, page STRING", time=tg.ordered("t", Poset([("draft", "final")])))``. In a `Poset`,
    values are texts, integers or dates. In a `Sum`, the column is ``STRUCT<side: STRING, value: …>``, where the side is
    ``left`` or ``right``; if values of the sides have different types, ``STRUCT<side: STRING, left: …, right: …>``.
    Rows whose time is not in the order are rejected.

    >>> from tidegate.time import Poset
    >>> ordered("t", Poset([("draft", "final")]))
    ordered('t', Poset([('draft', 'final')]))
    """
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
        return Ordered(name, order)
    if isinstance(order, Sum):
        for part in (order.left, order.right):
            if not part.total or isinstance(part, Poset):
                raise BadArgument(
                    f"expected a Sum of total orders of numbers, days or instants, got {order!r}",
                    hint="Sum(Int(), EventTime()); a Poset inside of a Sum can be written as one Poset",
                )
        return Ordered(name, order)
    raise BadArgument(
        f"expected a Poset or a Sum in ordered({name!r}, …), got {order!r}",
        hint="from tidegate.time import Poset; columns ordered by their values are given by name, time=(…, …)",
    )


def ordered_schema(time: Ordered, declared: Schema) -> Schema:
    """Return the columns of a source whose time is ordered by something else than its value."""
    column = declared[time.column]
    order = _checked_poset(time.order, column) if isinstance(time.order, Poset) else _checked_sum(time.order, column)
    found = Ordered(column.name, order, column.type or "")
    return Schema((column, *(c for c in declared.columns if c != column)), (column.name,), found)


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
        if not fits:
            raise BadTime(
                f"expected elements that {column} can have, got {x!r} ({type(x).__name__})",
                hint=f"elements of type {kind.__name__}, or another type of the column",
            )
    return canonical(order)


def _checked_sum(order: Sum, column: Column) -> Sum:
    fields = dict(sqltypes.fields(column.type or "")) if (column.type or "").startswith("STRUCT") else {}
    names = [name.lower() for name in fields]
    if fields.get("side") != "STRING" or names not in (["side", "value"], ["side", LEFT, RIGHT]):
        raise BadTime(
            f"expected a struct of side and value for a Sum, got {column}",
            hint=f"{column.name} STRUCT<side: STRING, value: INT>, or STRUCT<side: STRING, left: INT, right: DATE>",
        )
    types = [fields["value"]] * 2 if "value" in fields else [fields[LEFT], fields[RIGHT]]
    for part, type_ in zip((order.left, order.right), types, strict=True):
        allowed = sqltypes.order_of(type_)
        if allowed is None or not (part == allowed or (isinstance(part, Nat) and isinstance(allowed, Int))):
            raise BadTime(
                f"expected in {order!r} the order of {type_}, which the column {column.name} has there, got {part!r}",
                hint=f"{allowed!r} is the order of {type_}" if allowed else "an integer type, DATE or TIMESTAMP",
            )
    return replace(order)
