"""Metrics: what a step took in and gave out, how long it took, and how far it got."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeAlias

from tidegate.engine.commits.by_step import directory_of
from tidegate.engine.commits.commit import Commit
from tidegate.engine.error_messages import first_line
from tidegate.engine.frontiers import Frontier, parts_of, shown
from tidegate.engine.marks import Seen
from tidegate.engine.steps.prepared import Prepared
from tidegate.flow.errors import BadArgument
from tidegate.flow.schema import Schema

__all__ = ["Reporter", "StepMetrics", "metrics_of", "reporter", "state_sizes"]

#: What is called with the metrics of each step.
Reporter: TypeAlias = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """What a step took in and gave out. Rows are by source, outputs by sink, frontiers by source.

    What operators reject is under their names.
    """

    flow: str
    step: int
    #: When the step was over, by the clock, in UTC.
    at: str
    seconds: float
    rows: Mapping[str, int]
    late: Mapping[str, int]
    rejected: Mapping[str, int]
    outputs: Mapping[str, int]
    state_rows: int
    #: The least times that may still come.
    frontiers: Mapping[str, str]
    #: By how many seconds those are before the clock; None where times are not instants, or nothing is complete yet.
    behind: Mapping[str, float | None]


def metrics_of(run: Prepared, commit: Commit, seen: Mapping[str, Seen], seconds: float, now: datetime) -> StepMetrics:
    """Return what a step did, from its commit and what it saw of each source."""
    flow, published = run.flow, {directory_of(found): found.rows for found in commit.publish}
    frontiers = {source: (flow[source].schema, marks.frontier) for source, marks in commit.marks.items()}
    return StepMetrics(
        flow.name,
        commit.step,
        now.isoformat(timespec="milliseconds"),
        seconds,
        {name: s.rows for name, s in seen.items()},
        {name: s.late for name, s in seen.items()},
        {name: s.rejected for name, s in seen.items()}
        | {name: published.get(place, 0) for name, place in run.rejecting.items()},
        dict(commit.outputs),
        sum(state.rows for states in commit.state.values() for state in states),
        {source: shown(schema, frontier) for source, (schema, frontier) in frontiers.items()},
        {source: _behind(schema, frontier, now) for source, (schema, frontier) in frontiers.items()},
    )


def state_sizes(commit: Commit) -> dict[str, tuple[int, int]]:
    """Return the number of rows and of bytes of each state after a step, by the key of the state."""
    return {
        key: (
            sum(state.rows for state in states),
            sum(entry.bytes for state in states for part in state.parts for entry in part.files),
        )
        for key, states in commit.state.items()
    }


def _behind(schema: Schema, frontier: Frontier, now: datetime) -> float | None:
    """Return how long ago the least times of a frontier are; the first time column counts."""
    firsts = [parts_of(schema, t)[0] for t in frontier]
    if not firsts or not all(isinstance(t, date) and t != type(t).min for t in firsts):
        return None
    least = min(t if isinstance(t, datetime) else datetime(t.year, t.month, t.day) for t in firsts)
    return (now.astimezone(UTC).replace(tzinfo=None) - least).total_seconds()


def reporter(target: str | Path | Reporter | None) -> Callable[[StepMetrics], None]:
    """Return what is done with the metrics of a step: a line of JSON in a file, or a call.

    What goes wrong there is logged: the step is committed, and stands.
    """
    if target is None:
        return lambda metrics: None  # noqa: ARG005
    if not (callable(target) or isinstance(target, Path) or (isinstance(target, str) and target)):
        raise BadArgument(f"expected a path or a function for metrics, got {target!r}", hint='metrics="metrics.jsonl"')
    if not callable(target):
        try:
            with Path(target).open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise BadArgument(
                f"expected a file for metrics that can be written to, got {target}: {error.strerror}",
                hint="a path in a directory that is there",
            ) from None

    def report(metrics: StepMetrics) -> None:
        try:
            if callable(target):
                target(asdict(metrics))
            else:
                with Path(target).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(metrics)) + "\n")
        except Exception as error:
            logging.getLogger("tidegate").warning(
                "the metrics of step %d got lost: %s", metrics.step, first_line(error)
            )

    return report
