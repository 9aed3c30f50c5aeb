"""Metrics of steps: how many rows came and went, how long it took, and how far each source is."""

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

#: A user's function that is called with the metrics of each step, as a dict with the fields of `StepMetrics`. It is
#: called after the step is committed and its rows are published, in the process of the driver and in the thread that
#: runs the step.
Reporter: TypeAlias = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """How many rows came and went in one step, how long it took, and the frontiers after it."""

    flow: str
    #: The number of the step.
    step: int
    #: When the step ended, by the clock of the driver, in ISO format and UTC.
    at: str
    #: How long the step took, in seconds, from reading rows to publishing results.
    seconds: float
    #: By source: how many rows came. Late and rejected rows are among them.
    rows: Mapping[str, int]
    #: By source: how many of those rows were late.
    late: Mapping[str, int]
    #: By source: how many of those rows were rejected. Operators that reject rows are listed, too, by their names.
    rejected: Mapping[str, int]
    #: By sink: how many rows were written.
    outputs: Mapping[str, int]
    #: How many rows all operators together hold as state after the step.
    state_rows: int
    #: By source, as text: the least times that may still come.
    frontiers: Mapping[str, str]
    #: By source: how many seconds the frontier is behind the clock. None if times are not dates or timestamps, if
    #: nothing is complete yet, or if everything is.
    behind: Mapping[str, float | None]


def metrics_of(run: Prepared, commit: Commit, seen: Mapping[str, Seen], seconds: float, now: datetime) -> StepMetrics:
    """Return the metrics of a step, from its commit and from what was found in the new rows of each source.

    ``seconds`` is how long the step took, and ``now`` is when it ended.
    """
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
    """Return how many seconds the earliest time of a frontier is before ``now``, by the first time column."""
    firsts = [parts_of(schema, t)[0] for t in frontier]
    if not firsts or not all(isinstance(t, date) and t != type(t).min for t in firsts):
        return None
    least = min(t if isinstance(t, datetime) else datetime(t.year, t.month, t.day) for t in firsts)
    return (now.astimezone(UTC).replace(tzinfo=None) - least).total_seconds()


def reporter(target: str | Path | Reporter | None) -> Callable[[StepMetrics], None]:
    """Return the function that reports the metrics of a step: it appends a line of JSON to a file, or calls ``target``.

    ``target`` is what the user gave as ``metrics=``; with None, nothing is reported. An error of the file or of the
    function is logged, and the run goes on, because the step is committed already.
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
                hint="give a path in a directory that exists",
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
