"""One step: from new rows to a commit that is ready to be written. Nothing of it counts before the commit exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.engine.attempt import Attempt
from tidegate.engine.commits.commit import Commit, Origin
from tidegate.engine.frontiers import Frontier
from tidegate.engine.marks import Marks, Seen
from tidegate.engine.relation import Relation
from tidegate.engine.steps.lateness import admit
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.steps.publishing import seal
from tidegate.engine.steps.results import (
    outlets,
    refuse_late,
    set_aside,
    set_aside_so_far,
    set_rejected_aside,
    write_results,
)
from tidegate.engine.steps.source_rows import SourceRows, observe
from tidegate.engine.steps.work import StepWork
from tidegate.engine.storage.log import Token
from tidegate.engine.storage.state import State
from tidegate.engine.tracking import Tracking

__all__ = ["POINTS", "Batch", "StepResult", "run_step"]

#: The named points of a step, in order, at which crash tests stop. A loop has one more, "round", in each round.
POINTS = (
    "begin",
    "writing",
    "between state and output",
    "before commit",
    "during commit",
    "after commit",
    "publishing",
    "handed over",
    "published",
    "cleaning",
)


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of a step: the rows of each source, where they come from, and the beats of the clock."""

    #: By source. At the end of the input there are none.
    rows: Mapping[str, SourceRows]
    origin: Origin
    beats: Relation | None = None
    #: State of the engine itself, by key.
    states: Mapping[str, tuple[State, ...]] = field(default_factory=dict)
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step: the commit that is to be written, and what was found in the rows of each source."""

    commit: Commit
    seen: Mapping[str, Seen]


def run_step(
    run: Prepared,
    step: Attempt,
    batch: Batch,
    last: Commit | None,
    marks: Mapping[str, Marks],
    tracking: Tracking,
    *,
    number: int,
    token: Token,
) -> StepResult:
    """Run a step after the commit ``last``. Return the commit to write next, and what was counted in the rows.

    When this returns, everything that the commit names is on the disk. ``marks`` are those before the step.
    ``tracking`` is moved to the frontiers after it. ``number`` is the number of the new commit in the log, and
    ``token`` names the run that writes it.
    """
    flow = run.flow
    work = StepWork(
        step,
        run.entries,
        run.kept,
        last.state if last else {},
        step.tables,
        run.host.describe_error,
        ended=batch.ended,
        fold_from=run.fold_from,
    )
    try:
        run.probe("writing", step.number)
        old = _frontiers(run, tracking)
        work.begin(batch.rows, old)
        seen_rows = observe(step.backend, batch.rows, batch.beats)
        by_source, late = admit(step, run.keepers, seen_rows, old)
        refuse_late(by_source, marks)
        seen = {name: found.seen for name, found in by_source.items()}
        if not batch.ended:
            # Some sources may have had no rows.
            seen = {s.id: seen.get(s.id) or Seen() for s in flow.sources}
        after = {s.id: marks[s.id].ended() if batch.ended else marks[s.id].after(s, seen[s.id]) for s in flow.sources}
        aside = set_aside(run, step, by_source, marks)
        tracking.move({source: mark.frontier for source, mark in after.items()})
        new = _frontiers(run, tracking)
        work.answer(seen, late, old, new)
        aside += set_rejected_aside(run, step, work.rejected())
        run.probe("between state and output", step.number)
        outputs, written = write_results(run, step, work.rows)
        commit = Commit(
            step.number,
            batch.origin,
            after,
            work.folded(new) | ({} if batch.ended else dict(batch.states)),
            (*aside, *written),
            outputs,
            run.meaning,
            batch.ended,
            outlets(run, last, step.number, outputs, tracking),
            set_aside_so_far(last, aside),
            number,
            token,
        )
        seal(run.files, commit, last, growing=run.host.records(run.files))
        run.probe("before commit", step.number)
    finally:
        work.release()
    return StepResult(commit, seen)


def _frontiers(run: Prepared, tracking: Tracking) -> dict[str, Frontier]:
    return {o.id: tracking.frontier(o) for o in run.flow if o.schema.time}
