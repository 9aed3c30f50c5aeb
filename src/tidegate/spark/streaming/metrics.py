"""Metrics: what a step took in and gave out, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.spark.streaming.commits import Commit
from tidegate.spark.streaming.marks import Seen

__all__ = ["StepMetrics", "metrics_of"]


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """What a step took in and gave out."""

    step: int
    seconds: float
    rows: Mapping[str, int]
    late: Mapping[str, int]
    rejected: Mapping[str, int]
    outputs: Mapping[str, int]
    state_rows: int


def metrics_of(commit: Commit, seen: Mapping[str, Seen], seconds: float) -> StepMetrics:
    """Answer what a step did, from its commit and what it saw of each source."""
    return StepMetrics(
        commit.step,
        seconds,
        {name: s.rows for name, s in seen.items()},
        {name: s.late for name, s in seen.items()},
        {name: s.rejected for name, s in seen.items()},
        dict(commit.outputs),
        sum(state.rows for states in commit.state.values() for state in states),
    )
