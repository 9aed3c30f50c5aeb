"""Strategies whose frontier moves by lines of text, which a source gives beside its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tidegate.engine.calls import call
from tidegate.engine.inputs import STEP
from tidegate.engine.policies.policy import SIGNAL, Policy, Seen
from tidegate.engine.relation import Call

__all__ = ["SIGNAL_LINE", "ByLines"]

#: The column of the lines; NULL in rows. Beats of the clock come in the same column.
SIGNAL_LINE = "__signal_line"

M = TypeVar("M")


class ByLines(Policy[M]):
    """The base of such strategies. They also count the rows of each step of another flow that a source follows."""

    extra = (STEP, SIGNAL_LINE)
    reads_lines = True

    def kinds(self) -> list[tuple[str, int]]:
        """Return the condition that a row is a line."""
        return [(f"{SIGNAL_LINE} IS NOT NULL", SIGNAL)]

    def apart(self) -> tuple[str, str]:
        """Return the column with the step of the other flow that a row is from; NULL if no flow is followed."""
        return STEP, "BIGINT"

    def observes(self) -> dict[str, Call]:
        """Return aggregates that count the rows of each step and collect the lines."""
        return {"rows": call("count_if", f"__kind != {SIGNAL}"), "lines": call("collect_list", SIGNAL_LINE)}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the number of rows of each step, and the lines."""
        steps = tuple((int(part["part"]), part["rows"]) for part in parts if part["part"] is not None)
        return replace(counts, steps=steps, lines=tuple(text for part in parts for text in part["lines"] or ()))
