"""By hand: whoever runs the flow, such as a test, declares times complete, in lines beside the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tidegate.engine.frontiers import Frontier, time_from_json, time_to_json
from tidegate.engine.policies.lines import ByLines
from tidegate.engine.policies.policy import Seen, completed
from tidegate.flow.schema import Schema

__all__ = ["ByDeclaredTimes", "line_of"]


def line_of(schema: Schema, times: Iterable[Any]) -> str:
    """Return the line that declares some times complete, and all at or below them. Times are as engines keep them.

    >>> from tidegate.flow.schema import parse_schema
    >>> from tidegate.time import TOP
    >>> line_of(parse_schema("v INT, w DATE", time=("v", "w")), [(3, TOP)])
    '[[3, "TOP"]]'
    """
    return json.dumps([time_to_json(schema, t) for t in times])


class ByDeclaredTimes(ByLines[None]):
    """The frontier moves by such lines only, after the rows of the step that reads them."""

    def after(self, memory: None, frontier: Frontier, seen: Seen) -> tuple[None, Frontier]:
        """Make the times of all lines complete."""
        done = [time_from_json(self.schema, element) for text in seen.lines for element in json.loads(text)]
        return memory, completed(self.schema, frontier, done) if done else frontier
