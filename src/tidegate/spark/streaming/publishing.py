"""Publishing: what a commit names becomes visible, now or, after a crash, at the next start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.commits import Commit, Publication
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.sinks import Foreach, Output

if TYPE_CHECKING:
    from tidegate.spark.streaming.operators import Step

__all__ = ["publish", "staged"]


def staged(files: Files, directory: str, step: Step) -> str:  # noqa: ARG001
    """Answer where the results of a step are written before its commit; readers overlook it."""
    before = f"{directory}/" if directory else ""
    return f"{before}_pending/{step.number}-{step.suffix}"


def publish(
    files: Files,
    runtime: Runtime,
    commit: Commit,
    outputs: Mapping[str, Output],
    *,
    again: bool = False,
    probe: Callable[[], None] = lambda: None,
) -> None:
    """Make visible what a commit names; what is visible already stays as it is.

    With ``again``, also remove what attempts that were not committed have left.
    """
    pending: dict[str, str] = {}
    for publication in commit.publish:
        probe()
        place = files if publication.root == files.root else Files(runtime.session, publication.root)
        if place.exists(publication.staged) and not place.exists(publication.name):
            if publication.call:
                _call(place, runtime, commit, publication, outputs)
                place.delete(publication.staged)
            else:
                place.rename(publication.staged, publication.name)
        pending[publication.root] = publication.staged.rsplit("/", 1)[0]
    if again:
        for root, directory in pending.items():
            Files(runtime.session, root).delete(directory)


def _call(
    files: Files, runtime: Runtime, commit: Commit, publication: Publication, outputs: Mapping[str, Output]
) -> None:
    output = outputs.get(publication.call)
    if isinstance(output, Foreach):
        rows = runtime.session.read.parquet(files.path(publication.staged))
        output.function(rows, commit.step)
