"""Publishing: what a commit names becomes visible, now or, after a crash, at the next start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.commits import Commit, Publication
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.identity import checkpoint_id
from tidegate.spark.streaming.published import PROMISES
from tidegate.spark.streaming.sinks import Foreach, Output, Sender, Transactional

if TYPE_CHECKING:
    from tidegate.spark.streaming.operators import Step

__all__ = ["PENDING", "publish", "sender_of", "staged"]

#: The directory of what is not published yet. Spark overlooks names that begin so.
PENDING = "_pending"


def staged(directory: str, step: Step) -> str:
    """Answer where the results of a step are written before its commit; readers overlook it."""
    return (
        f"{directory}/{PENDING}/{step.number}-{step.suffix}" if directory else f"{PENDING}/{step.number}-{step.suffix}"
    )


def publish(
    flow: Plan,
    files: Files,
    runtime: Runtime,
    commit: Commit,
    outputs: Mapping[str, Output],
    *,
    probe: Callable[[str], None] | None = None,
) -> None:
    """Make visible what a commit names; what is visible already stays as it is.

    ``probe`` is called before each part, and when it is visible. Without one, the commit is of a step that
    was broken off, perhaps after it was published.
    """
    for publication in commit.publish:
        if probe:
            probe("publishing")
        place = files if publication.root == files.root else files.at(publication.root)
        if place.exists(publication.staged) and not place.exists(publication.name):
            if publication.call:
                _hand_over(flow, place, runtime, commit, publication, outputs)
            elif not place.rename(publication.staged, publication.name) and not place.exists(publication.name):
                raise BadCheckpoint(
                    f"step {commit.step} is committed, and {place.path(publication.staged)} could not be moved to "
                    f"{place.path(publication.name)}",
                    hint="see that both can be written to, and start again: what is committed is published then",
                )
            if probe:
                probe("handed over")
            # Of what was moved, nothing is there any more.
            place.delete(publication.staged)
        elif probe and not place.exists(publication.name):
            raise BadCheckpoint(
                f"step {commit.step} is committed, and its rows are not in {place.path(publication.staged)}",
                hint="something deleted them: only the run may touch what is in its checkpoint and its outputs",
            )
    # Only now: who follows a promise should not have to wait for its rows.
    for outlet in commit.outlets.values():
        if outlet.step == commit.step:
            files.at(outlet.root).create(f"{PROMISES}/{outlet.step}.json", outlet.promise.line)


def sender_of(flow: Plan, checkpoint: Files, sink: str) -> Sender:
    """Answer as whom a sink writes to places that others may write to as well."""
    time = next(flow[s.input].schema.time for s in flow.sinks if s.name == sink)
    return Sender(checkpoint_id(checkpoint), flow.name, sink, time)


def _hand_over(
    flow: Plan,
    files: Files,
    runtime: Runtime,
    commit: Commit,
    publication: Publication,
    outputs: Mapping[str, Output],
) -> None:
    """Give the rows of a step to the sink that they were computed for; they are dropped if the flow has it no more."""
    output = outputs.get(publication.call)
    if output is None:
        return
    rows = runtime.session.read.parquet(files.path(publication.staged))
    try:
        if isinstance(output, Foreach):
            output.function(rows, commit.step)
        elif isinstance(output, Transactional):
            output.deliver(sender_of(flow, files, publication.call), rows, commit.step)
        else:
            raise BadCheckpoint(
                f"rows of step {commit.step} were to be handed over, and the output is a directory now",
                hint="start once more with the output that it had, so that nothing is lost; then change it",
            )
    except TidegateError as error:
        raise error.at(f"sink {publication.call!r}").at(f"flow {flow.name!r}") from None
