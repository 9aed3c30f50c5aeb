"""Publishing: what a commit names becomes visible, now or, after a crash, at the next start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.commits import Commit, Publication
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.sinks import Foreach, Output

if TYPE_CHECKING:
    from tidegate.spark.streaming.operators import Step

__all__ = ["PENDING", "publish", "staged"]

#: The directory of what is not published yet. Spark overlooks names that begin so.
PENDING = "_pending"


def staged(directory: str, step: Step) -> str:
    """Answer where the results of a step are written before its commit; readers overlook it."""
    return (
        f"{directory}/{PENDING}/{step.number}-{step.suffix}" if directory else f"{PENDING}/{step.number}-{step.suffix}"
    )


def publish(
    files: Files,
    runtime: Runtime,
    commit: Commit,
    outputs: Mapping[str, Output],
    *,
    probe: Callable[[], None] | None = None,
) -> None:
    """Make visible what a commit names; what is visible already stays as it is.

    ``probe`` is called before each part. Without one, the commit is of an earlier run, which may have published it.
    """
    for publication in commit.publish:
        if probe:
            probe()
        place = files if publication.root == files.root else Files(runtime.session, publication.root)
        if place.exists(publication.staged) and not place.exists(publication.name):
            if publication.call:
                _call(place, runtime, commit, publication, outputs)
                place.delete(publication.staged)
            elif not place.rename(publication.staged, publication.name):
                raise BadCheckpoint(
                    f"step {commit.step} is committed, and {place.path(publication.staged)} could not be moved to "
                    f"{place.path(publication.name)}",
                    hint="see that both can be written to, and start again: what is committed is published then",
                )
        elif probe and not place.exists(publication.name):
            raise BadCheckpoint(
                f"step {commit.step} is committed, and its rows are not in {place.path(publication.staged)}",
                hint="something deleted them: only the run may touch what is in its checkpoint and its outputs",
            )


def _call(
    files: Files, runtime: Runtime, commit: Commit, publication: Publication, outputs: Mapping[str, Output]
) -> None:
    output = outputs.get(publication.call)
    if isinstance(output, Foreach):
        rows = runtime.session.read.parquet(files.path(publication.staged))
        output.function(rows, commit.step)
