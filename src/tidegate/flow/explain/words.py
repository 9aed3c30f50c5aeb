"""Pieces of what is said of operators that look at all rows so far, or choose some."""

from __future__ import annotations

from tidegate.flow import plan as p
from tidegate.flow.spans import show_span

__all__ = ["chosen", "emitted", "for_how_long", "forgets", "rows_of"]


def emitted(operator: p.Accumulate | p.Top) -> str:
    """Return when there are answers over all rows so far."""
    schema = operator.schema
    periods = ", ".join(f"{show_span(n, schema[c].type or '')} of {c}" for c, n in operator.every)
    return f"emit {operator.emit}{f', every {periods}' if periods else ''}{forgets(operator)}"


def forgets(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None = None) -> str:
    """Return after which silence there is a new beginning, if there is one."""
    if operator.forget is None:
        return ""
    return f", anew after {_silence(operator, over)} of silence"


def _silence(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None) -> str:
    return show_span(operator.forget or 0, operator.schema[over or operator.schema.time[0]].type or "")


def for_how_long(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None = None) -> str:
    """Return for how long something is kept of a key."""
    return "for ever" if operator.forget is None else f"until {_silence(operator, over)} after its last row"


def rows_of(n: int) -> str:
    """Return how many rows, in words."""
    return f"{n} rows" if n > 1 else "a row"


def chosen(operator: p.Top | p.WindowTop) -> str:
    """Return which rows are chosen, by which order."""
    groups = f" for each {', '.join(map(str, operator.by))}" if operator.by else ""
    first = ("last" if operator.backwards else "first") + (f" {operator.n} rows" if operator.n > 1 else " row")
    if operator.backwards:
        return f"the {first}{groups}"
    entries = []
    for e, down, nulls_first in zip(operator.order, operator.descending, operator.nulls_first, strict=True):
        nulls = "" if nulls_first != down else f" NULLS {'FIRST' if nulls_first else 'LAST'}"
        entries.append(f"{e.sql}{' DESC' if down else ''}{nulls}")
    return f"the {first} by {', '.join(entries)}{groups}"
