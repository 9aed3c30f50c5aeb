"""Frontiers as conditions in Spark SQL, and as JSON in commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, TypeAlias

from tidegate.engine.units import number, to_units
from tidegate.flow import sqltypes
from tidegate.flow.errors import BadInput
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, units
from tidegate.time import BOTTOM, TOP, Antichain, Bound

__all__ = [
    "COMPLETE",
    "Frontier",
    "complete",
    "complete_at",
    "frontier_from_json",
    "frontier_to_json",
    "is_complete",
    "moving",
    "newly_complete",
    "of_user",
    "parts_of",
    "settled",
    "shown",
    "start_of",
    "time_from_json",
    "time_to_json",
]

#: The least times that may still come: values, or tuples of values, in which `BOTTOM` and `TOP` can occur.
Frontier: TypeAlias = Antichain[Any]
#: What is shown for an empty frontier: no more rows can come.
COMPLETE = "everything is complete"


def start_of(schema: Schema) -> Frontier:
    """Return the frontier at which every time may still come."""
    return settled(schema, Antichain(schema.order, schema.order.bottoms()))


def settled(schema: Schema, frontier: Frontier) -> Frontier:
    """Return a frontier without elements that no time of the order is at or above.

    Coordinates have points that are not times of the user's order; such elements hold nothing back. The same times may
    still come. If none can, the result is empty.
    """
    at = schema.coordinates
    if at is None:
        return frontier
    points = at.settled(parts_of(schema, f) for f in frontier)
    return Antichain(schema.order, [point if len(point) > 1 else point[0] for point in points])


def of_user(schema: Schema, frontier: Frontier) -> Frontier:
    """Return a frontier in the user's times, not in coordinates."""
    at = schema.coordinates
    return frontier if at is None else Antichain(at.order, [at.bound_of_user(f) for f in frontier])


def complete(schema: Schema, frontier: Frontier, times: Sequence[str] = ()) -> str:
    """Return the SQL condition that a row's time is complete: no element of the frontier is at or below it.

    ``times`` has the SQL for the time columns, if it is not just their names.

    >>> from tidegate.flow.schema import parse_schema
    >>> pair = parse_schema("v INT, w INT", time=("v", "w"))
    >>> complete(pair, Antichain(pair.order, [(BOTTOM, 7)]))
    'NOT ((CAST(w AS BIGINT) >= __moving(CAST(w AS BIGINT), 7L)))'
    """
    columns = list(times) or [sqltypes.quoted(name) for name in schema.time]
    return _complete(schema, frontier, [to_units(t, c.type or "") for t, c in zip(columns, schema.times, strict=True)])


def _complete(schema: Schema, frontier: Frontier, counts: Sequence[str]) -> str:
    """Return the SQL condition that a time is complete; ``counts`` is SQL for it, in units of each time column."""
    types = [c.type or "" for c in schema.times]
    above = []
    for f in sorted(frontier, key=schema.order.key):
        parts = parts_of(schema, f)
        if any(part is TOP or _beyond(part, type_) for part, type_ in zip(parts, types, strict=True)):
            continue
        tests = [
            f"{count} >= {moving(count, units(part, type_), type_)}"
            for count, type_, part, least in zip(counts, types, parts, parts_of(schema, _bottom(schema)), strict=True)
            if part is not BOTTOM and part != least
        ]
        if not tests:
            return "false"
        above.append(f"({' AND '.join(tests)})")
    return f"NOT ({' OR '.join(above)})" if above else "true"


def complete_at(schema: Schema, frontier: Frontier, over: str, count: str) -> str:
    """Return the SQL condition that a row's time is complete, with the column ``over`` replaced by ``count``.

    ``count`` is SQL for a number of units. It may be beyond what the column's type can hold, and is then after all
    times.
    """
    own = {c.name: to_units(sqltypes.quoted(c.name), c.type or "") for c in schema.times}
    return _complete(schema, frontier, [f"({count})" if name == over else sql for name, sql in own.items()])


def is_complete(schema: Schema, frontier: Frontier, at: Sequence[int]) -> bool:
    """Whether a time, given in units, is complete.

    >>> from tidegate.flow.schema import parse_schema
    >>> pair = parse_schema("v INT, w INT", time=("v", "w"))
    >>> [is_complete(pair, Antichain(pair.order, [(3, 2), (BOTTOM, 7)]), t) for t in [(9, 1), (2, 9), (3, 2)]]
    [True, False, False]
    """
    types = [c.type or "" for c in schema.times]

    def above(f: Any) -> bool:
        parts = zip(parts_of(schema, f), types, at, strict=True)
        return all(part is BOTTOM or (part is not TOP and units(part, type_) <= n) for part, type_, n in parts)

    return not any(map(above, frontier))


def newly_complete(schema: Schema, old: Frontier, new: Frontier) -> str:
    """Return the SQL condition that a row's time is complete by the new frontier, and was not by the old one."""
    return f"({complete(schema, new)}) AND NOT ({complete(schema, old)})"


def frontier_to_json(schema: Schema, frontier: Iterable[Any]) -> list[list[Any]]:
    """Return the elements of a frontier as JSON, in their order."""
    if at := schema.coordinates:
        return at.written_frontier(parts_of(schema, t) for t in sorted(frontier, key=schema.order.key))
    return [time_to_json(schema, t) for t in sorted(frontier, key=schema.order.key)]


def frontier_from_json(schema: Schema, elements: Sequence[Sequence[Any]]) -> Frontier:
    """Return the frontier from JSON; raise if it is not one that `frontier_to_json` could have returned."""
    at = schema.coordinates
    try:
        if at:
            again = [at.written(at.read(element)) for element in elements]
            found = at.read_frontier(elements)
        else:
            found = [time_from_json(schema, element) for element in elements]
            again = [time_to_json(schema, t) for t in found]
        # The texts are compared, since 1, 1.0 and True are equal in Python.
        if json.dumps(again) == json.dumps(elements):
            return Antichain(schema.order, found)
    except BadInput:
        # The order of the user lacks an element.
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    raise BadInput(
        f"expected a frontier with times of {', '.join(schema.user_time)}, got {json.dumps(elements)[:80]}",
        hint="it was changed after it was written: restore its file from a copy",
    )


def shown(schema: Schema, frontier: Iterable[Any]) -> str:
    """Return a frontier as text, for people.

    >>> from tidegate.flow.schema import parse_schema
    >>> pair = parse_schema("v INT, w DATE", time=("v", "w"))
    >>> shown(pair, frontier_from_json(pair, [[3, "BOTTOM"], [1, 7]]))
    '(1, 1970-01-08) or (3, any)'
    """
    if at := schema.coordinates:
        return " or ".join(sorted(at.shown(at.bound_of_user(t)) for t in frontier)) or COMPLETE
    texts = sorted(", ".join("any" if _first(p) else str(p) for p in parts_of(schema, t)) for t in frontier)
    return " or ".join(f"({text})" if len(schema.time) > 1 else text for text in texts) or COMPLETE


def _first(part: Any) -> bool:
    """Whether no time can be before this part."""
    return part is BOTTOM or (isinstance(part, date) and part == type(part).min)


def time_to_json(schema: Schema, t: Any) -> list[Any]:
    """Return a time as a list of its units in each column, with `BOTTOM` and `TOP` by their names."""
    pairs = zip(parts_of(schema, t), schema.times, strict=True)
    return [part.name if isinstance(part, Bound) else units(part, c.type or "") for part, c in pairs]


def time_from_json(schema: Schema, element: Sequence[Any]) -> Any:
    """Return the time from JSON."""
    pairs = zip(element, schema.times, strict=True)
    parts = tuple(Bound[part] if isinstance(part, str) else from_units(part, c.type or "") for part, c in pairs)
    return parts[0] if len(parts) == 1 else parts


def _bottom(schema: Schema) -> Any:
    (least,) = schema.order.bottoms()
    return least


def parts_of(schema: Schema, t: Any) -> tuple[Any, ...]:
    """Return the components of a time, one for each time column."""
    if isinstance(t, Bound):
        return (t,) * len(schema.time)
    return (t,) if len(schema.time) == 1 else t


def _beyond(part: Any, type_: str) -> bool:
    """Whether a number of units is too large for a BIGINT."""
    return isinstance(part, int) and part >= 2**63 and type_ != sqltypes.WIDE


def moving(at: str, count: int, type_: str) -> str:
    """Return SQL for a number of units that is compared with ``at`` and differs from step to step."""
    return number(count, type_) if type_ == sqltypes.WIDE else f"__moving({at}, {number(count, type_)})"
