"""By hand: whoever runs a flow says beside the rows which times are complete, as a test does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, parts_of, time_of
from tidegate.engine.inputs import STEP
from tidegate.engine.policies.following import TOLD
from tidegate.engine.policies.policy import SIGNAL, Policy, Seen, completed
from tidegate.engine.relation import Call
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.time import Bound

__all__ = ["ByTelling", "line_of"]


def line_of(schema: Schema, times: Iterable[Any]) -> str:
    """Return the line that says that some times, and all at or below them, are complete; times as engines have them.

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
    """Nothing is remembered but the frontier. What is told takes effect after the rows of its step."""

    extra = (STEP, TOLD)
    told = True

    def kinds(self) -> list[tuple[str, int]]:
        """Tell lines from rows."""
        return [(f"{TOLD} IS NOT NULL", SIGNAL)]

    def apart(self) -> tuple[str, str]:
        """Look at the lines by themselves."""
        return STEP, "BIGINT"

    def observes(self) -> dict[str, Call]:
        """Collect the lines, and count the rows besides them."""
        return {"rows": call("count_if", f"__kind != {SIGNAL}"), "told": call("collect_list", TOLD)}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the lines."""
        return replace(counts, told=tuple(text for part in parts for text in part["told"] or ()))

    def after(self, memory: None, frontier: Frontier, seen: Seen) -> tuple[None, Frontier]:
        """Complete what was told."""
        done = [time_of(self.schema, element) for text in seen.told for element in json.loads(text)]
        return memory, completed(self.schema, frontier, done) if done else frontier
