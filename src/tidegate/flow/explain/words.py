"""Parts of what `explain` says of operators that look at all rows so far, or choose some of them."""

from __future__ import annotations

from tidegate.flow import plan as p
from tidegate.flow.plan import PlanOperator
from tidegate.flow.spans import show_span
from tidegate.time import Lexicographic, Poset

__all__ = [
    "chosen",
    "emitted",
    "fewer_times",
    "for_how_long",
    "forgets",
    "on_product",
    "per_time",
    "rows_of",
]


def emitted(operator: p.Accumulate | p.Top) -> str:
    """Return when an operator over all rows so far gives answers."""
    schema = operator.schema
    periods = ", ".join(f"{show_span(n, schema[c].type or '')} of {c}" for c, n in operator.every)
    return f"emit {operator.emit}{f', every {periods}' if periods else ''}{forgets(operator)}"


def forgets(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None = None) -> str:
    """Return after how long a silence a key starts again; an empty text if it never does."""
    if operator.forget is None:
        return ""
    return f", anew after {_silence(operator, over)} of silence"


def _silence(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None) -> str:
    return show_span(operator.forget or 0, operator.schema[over or operator.schema.time[0]].type or "")


def for_how_long(operator: p.Accumulate | p.Top | p.Deduplicate | p.Process, over: str | None = None) -> str:
    """Return how long the state of a key is kept."""
    return "for ever" if operator.forget is None else f"until {_silence(operator, over)} after its last row"


def rows_of(n: int) -> str:
    """Return a number of rows in words: ``"a row"`` or ``"3 rows"``."""
    return f"{n} rows" if n > 1 else "a row"


def chosen(operator: p.Top | p.WindowTop) -> str:
    """Return which rows are chosen, and by which order."""
    groups = f" for each {', '.join(map(str, operator.by))}" if operator.by else ""
    first = ("last" if operator.backwards else "first") + (f" {operator.n} rows" if operator.n > 1 else " row")
    if operator.backwards:
        return f"the {first}{groups}"
    entries = []
    for e, down, nulls_first in zip(operator.order, operator.descending, operator.nulls_first, strict=True):
        nulls = "" if nulls_first != down else f" NULLS {'FIRST' if nulls_first else 'LAST'}"
        entries.append(f"{e.sql}{' DESC' if down else ''}{nulls}")
    return f"the {first} by {', '.join(entries)}{groups}"


def per_time(operator: PlanOperator) -> str:
    """Return how long state is kept separately for each time; an empty text if one time is always the later."""
    if (given := operator.schema.ordered) and not isinstance(given.order, Lexicographic):
        # A Poset may get more elements later, above those that are complete.
        return "; per element" if isinstance(given.order, Poset) else "; per side, and per time until it is complete"
    return "; per time until later times cannot tell them apart" if on_product(operator) else ""


def on_product(operator: PlanOperator) -> bool:
    """Whether times have several columns, and are ordered in each."""
    return len(operator.schema.time) > 1 and operator.schema.ordered is None


def fewer_times(operator: PlanOperator, how: str) -> str:
    """Return what to do about too many answers; ``how`` says how to have fewer times."""
    return 'emit="update"' if operator.schema.ordered else f'emit="update", or fewer times: {how}'
