"""All that can be read of a checkpoint at one moment, and what is wrong with the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from tidegate.engine.shape import Shape
from tidegate.engine.storage.lock import Holder
from tidegate.engine.storage.log import in_file_of
from tidegate.errors import TidegateError
from tidegate.live.checkpoint import Checkpoint, Description
from tidegate.live.progress import CommittedProgress

__all__ = ["View", "read_view"]

_NO_DESCRIPTION = (
    "no run has written down what its flow looks like: an earlier version of Tidegate ran it. What its last commit has "
    "is shown; the next start of the flow adds the rest"
)


@dataclass(slots=True)
class View:
    """What was read of a checkpoint. What could not be read is None or empty, and ``problems`` says why."""

    commit: Mapping[str, Any] | None = None
    description: Description | None = None
    progress: CommittedProgress | None = None
    holder: Holder | None = None
    now: Mapping[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """``running``, ``dead``, ``ended``, ``failed``, ``stopped`` or ``unknown``; ``empty`` without a run."""
        ended = bool(self.commit and self.commit["ended"])
        if self.holder and self.holder.alive:
            return "running"
        if ended:
            return "ended"
        if self.holder:
            return "dead" if self.holder.alive is False else "unknown"
        if self.failure:
            return "failed"
        return "stopped" if self.commit or self.description else "empty"

    @property
    def failure(self) -> str:
        """The error of the last run; empty if it did not fail."""
        return str(self.now.get("failure") or "") if self.now.get("over") else ""

    @property
    def running_step(self) -> Mapping[str, Any]:
        """What the run has written down about its current step; empty if it is in no step, or is not alive."""
        alive = self.holder is not None and self.holder.alive and self.now.get("lock") == self.holder.number
        due = self.commit["step"] + 1 if self.commit else 0
        return self.now if alive and self.now.get("step") == due else {}

    @property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """The marks of each source in the last commit, by the current name of the source."""
        marks = self.commit["sources"] if self.commit else {}
        if self.progress is None or len(marks) != len(self.progress.sources):
            return dict(marks)
        return {stage.id: found for stage, found in zip(self.progress.sources, marks.values(), strict=True)}

    def attempt(self, what: str, read: Callable[[], Any], otherwise: Any) -> Any:
        """Return the result of ``read``. If it raises, add the error to ``problems``, and return ``otherwise``."""
        try:
            return read()
        except TidegateError as error:
            self.problems.append(str(error))
        except Exception as error:
            # The page must also be shown if a file is damaged in a way that we did not foresee.
            self.problems.append(f"{what} can't be read: {type(error).__name__}: {error}")
        return otherwise


def read_view(checkpoint: Checkpoint, known: CommittedProgress | None = None) -> View:
    """Return all that can be read of a checkpoint. ``known`` is the progress of the previous view, to be used again."""
    view = View()
    if not view.attempt("the directory", lambda: checkpoint.files.is_directory(""), False):
        view.problems.append(f"there is no directory {checkpoint.place}: no run has begun there yet")
        return view
    view.commit = view.attempt("the last commit", checkpoint.commit, None)
    view.description = view.attempt("the description of the flow", checkpoint.description, None)
    view.holder = view.attempt("the lock", checkpoint.holder, None)
    view.now = view.attempt("what the run does", checkpoint.activity, {})
    view.steps = view.attempt("the last steps", checkpoint.steps, [])
    if view.description is None:
        view.problems += [_NO_DESCRIPTION] if view.commit and not view.problems else []
        return view
    shape = view.description.shape
    view.progress = view.attempt("the frontiers", lambda: _progress_at(checkpoint, view, known, shape), None)
    return view


def _progress_at(
    checkpoint: Checkpoint, view: View, known: CommittedProgress | None, shape: Shape
) -> CommittedProgress:
    progress = known if known is not None and known.shape is shape else CommittedProgress(shape)
    with in_file_of(checkpoint.files, view.commit) if view.commit else nullcontext():
        progress.move(view.commit, view.running_step.get("round"))
    return progress
