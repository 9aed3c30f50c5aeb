"""`punctuated`: rows that satisfy a condition are watermarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier
from tidegate.engine.policies.policy import REJECTED, WATERMARK, Policy, Seen, completed, time_from
from tidegate.engine.relation import Call
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Source
from tidegate.flow.spans import within
from tidegate.flow.sqltypes import quoted
from tidegate.flow.watermarks import Punctuated

__all__ = ["ByWatermarks"]

#: A number of units that is beyond all times of all types.
_BEYOND = 2**70


class ByWatermarks(Policy[None]):
    """The frontier moves by watermarks only, and nothing else is remembered."""

    def __init__(self, source: Source, punctuated: Punctuated) -> None:
        super().__init__(source)
        condition = punctuated.condition
        self.condition = condition.sql if isinstance(condition, Expression) else condition

    def kinds(self) -> list[tuple[str, int]]:
        """Return the condition that tells watermarks from rows."""
        found = [(self.condition, WATERMARK)]
        if len(self.schema.time) == 1 or self.schema.coordinates:
            # In one of several time columns, NULL stands for all values. With a single time column it says nothing.
            missing = f"({self.condition}) AND {quoted(self.schema.time[0])} IS NULL"
            found.insert(0, (missing, REJECTED))
        return found

    def observes(self) -> dict[str, Call]:
        """Return aggregates that count and collect the watermarks."""
        times = f"IF(__kind = {WATERMARK}, array({', '.join(self.units)}), NULL)"
        return {"watermarks": call("count_if", f"__kind = {WATERMARK}"), "marks": call("collect_set", times)}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the watermarks."""
        return replace(counts, marks=tuple(tuple(mark) for part in parts for mark in part.get("marks") or ()))

    def after(self, memory: None, frontier: Frontier, seen: Seen) -> tuple[None, Frontier]:
        """Make all times at or below the watermarks complete."""
        schema = self.schema
        # A watermark before the type's first time completes nothing; one after its last time completes everything.
        first = [within(-_BEYOND, c.type or "") for c in schema.times]
        marks = [m for m in seen.marks if all(p is None or p >= least for p, least in zip(m, first, strict=True))]
        if not marks:
            return memory, frontier
        return memory, completed(schema, frontier, [time_from(schema, mark) for mark in marks])
