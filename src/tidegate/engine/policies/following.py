"""`published`: the frontier that another flow publishes beside its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, decoded
from tidegate.engine.inputs import STEP
from tidegate.engine.policies.policy import SIGNAL, Policy, Seen, narrowed
from tidegate.engine.relation import Call
from tidegate.engine.storage.published import Following, Promise
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.flow.watermarks import Published

__all__ = ["SIGNAL_LINE", "ByPromises"]

#: The column of signals, which are read beside rows: a promise or a beat as a line of text. In rows, it is NULL.
SIGNAL_LINE = "__signal_line"


class ByPromises(Policy[Following]):
    """A promise of the other flow is applied when all rows that it counts were read."""

    extra = (STEP, SIGNAL_LINE)
    reads_lines = True

    def __init__(self, source: Source, published: Published) -> None:
        super().__init__(source)
        self.path = published.path

    def kinds(self) -> list[tuple[str, int]]:
        """Return the condition that tells lines from rows."""
        return [(f"{SIGNAL_LINE} IS NOT NULL", SIGNAL)]

    def apart(self) -> tuple[str, str]:
        """Return the column with the step of the other flow that a row is from."""
        return STEP, "BIGINT"

    def observes(self) -> dict[str, Call]:
        """Return aggregates that count the rows of each step and collect the lines."""
        return {"rows": call("count_if", f"__kind != {SIGNAL}"), "lines": call("collect_list", SIGNAL_LINE)}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the number of rows of each step, and the lines."""
        steps = tuple((int(part["part"]), part["rows"]) for part in parts if part["part"] is not None)
        return replace(counts, steps=steps, lines=tuple(text for part in parts for text in part["lines"] or ()))

    def after(self, memory: Following | None, frontier: Frontier, seen: Seen) -> tuple[Following, Frontier]:
        """Move the frontier to the last promise whose rows were all read."""
        try:
            promises = [Promise.parse(text) for text in seen.lines]
            following, promise = (memory or Following()).after(dict(seen.steps), promises)
        except BadInput as error:
            raise error.at(f"source {self.source.id!r}, which follows {self.path}") from None
        if promise is not None:
            try:
                promised = decoded(self.schema, promise.frontier)
            except BadInput as error:
                raise error.at(f"source {self.source.id!r}, which follows {self.path}") from None
            frontier = narrowed(self.schema, frontier, promised)
        return following, frontier

    def because(self, memory: Following | None) -> str:
        """Return in words which promise waits for rows."""
        if memory is None or not memory.waiting:
            return ""
        step, rows = memory.missing
        return f"the frontier that step {step} of the other flow published waits for {rows} rows"

    def coded(self, memory: Following | None) -> dict[str, Any]:
        """Return how far the output of the other flow was read."""
        return {"following": None if memory is None else memory.coded()}

    def decode(self, found: Mapping[str, Any]) -> Following | None:
        """Return how far the output of the other flow was read."""
        following = found.get("following")
        return None if following is None else Following.decode(following)
