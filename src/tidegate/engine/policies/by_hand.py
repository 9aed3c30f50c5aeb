"""By hand: whoever runs the flow, such as a test, says which times are complete, in lines beside the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, parts_of, time_of
from tidegate.engine.inputs import STEP
from tidegate.engine.policies.following import SIGNAL_LINE
from tidegate.engine.policies.policy import SIGNAL, Policy, Seen, completed
from tidegate.engine.relation import Call
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.time import Bound

__all__ = ["ByTelling", "line_of"]


def line_of(schema: Schema, times: Iterable[Any]) -> str:
    """Return the line that makes some times, and all at or below them, complete. Times are as engines keep them.

    >>> from tidegate.flow.schema import parse_schema
    >>> from tidegate.time import TOP
    >>> line_of(parse_schema("v INT, w DATE", time=("v", "w")), [(3, TOP)])
    '[[3, "TOP"]]'
    """
    return json.dumps(
        [
            [
                p.name if isinstance(p, Bound) else units(p, c.type or "")
                for p, c in zip(parts, schema.times, strict=True)
            ]
            for parts in (parts_of(schema, t) for t in times)
        ]
    )


class ByTelling(Policy[None]):
    """The frontier moves by such lines only, after the rows of the step that reads them."""

    extra = (STEP, SIGNAL_LINE)
    reads_lines = True

    def kinds(self) -> list[tuple[str, int]]:
        """Return the condition that tells lines from rows."""
        return [(f"{SIGNAL_LINE} IS NOT NULL", SIGNAL)]

    def apart(self) -> tuple[str, str]:
        """Return the column of steps, which such sources have as those of `ByPromises` do."""
        return STEP, "BIGINT"

    def observes(self) -> dict[str, Call]:
        """Return aggregates that collect the lines and count the rows."""
        return {"rows": call("count_if", f"__kind != {SIGNAL}"), "lines": call("collect_list", SIGNAL_LINE)}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the lines."""
        return replace(counts, lines=tuple(text for part in parts for text in part["lines"] or ()))

    def after(self, memory: None, frontier: Frontier, seen: Seen) -> tuple[None, Frontier]:
        """Make the times of all lines complete."""
        done = [time_of(self.schema, element) for text in seen.lines for element in json.loads(text)]
        return memory, completed(self.schema, frontier, done) if done else frontier
