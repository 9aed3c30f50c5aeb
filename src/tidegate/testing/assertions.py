"""What pytest prints if ``assert test.rows(sink) == [...]`` fails."""

from __future__ import annotations

from typing import Any

from tidegate.testing.differences import Rows, difference
from tidegate.testing.hints import hints

__all__ = ["explain_difference"]


def explain_difference(left: Any, right: Any) -> list[str] | None:
    """Return lines that say how the rows of a trial differ from others; None if one side is not rows."""
    rows, other = (left, right) if isinstance(left, Rows) else (right, left)
    if not isinstance(other, list) or not all(isinstance(row, dict) for row in other):
        return None
    names = tuple(dict.fromkeys([*rows.names, *(name for row in other for name in row)]))
    found = difference(other, rows, names, rows.names[:1])
    lines = [f"rows of {rows.origin[1]!r}" if rows.origin else "rows", *found.table(names, rows.names[:1]).splitlines()]
    if not found:
        lines.append("the same rows, in another order or with other types: test.expect(…) does not mind the order")
    if rows.origin:
        trial, sink = rows.origin
        times = trial._schema(sink).user_time
        lines += [f"hint: {hint}" for hint in hints(trial, sink, found, times)]
    return lines
