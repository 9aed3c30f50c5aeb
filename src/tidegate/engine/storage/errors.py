"""The errors of a running flow: one exception for each kind."""

from __future__ import annotations

from tidegate.flow.errors import FlowError

__all__ = [
    "BadCheckpoint",
    "CheckpointClosed",
    "CheckpointInUse",
    "FlowChanged",
    "LateRow",
    "PickleRefused",
    "RowRefused",
    "RunFailed",
    "RunStopped",
    "SinkFailed",
    "Superseded",
    "UnfitFileSystem",
]


class BadCheckpoint(FlowError, ValueError):
    """A checkpoint lacks a part, or its parts do not belong together."""


class CheckpointClosed(FlowError, ValueError):
    """The input of this checkpoint has ended: everything is complete, and nothing can follow."""


class CheckpointInUse(FlowError, RuntimeError):
    """Another run works on this checkpoint."""


class FlowChanged(FlowError, ValueError):
    """The flow is not the one that made the checkpoint."""


class LateRow(FlowError, ValueError):
    """A row came after its time was complete, at a source that was declared with ``late="fail"``."""


class RunFailed(FlowError, RuntimeError):
    """A run failed in its engine, or in a function of the user. ``__cause__`` is the original error.

    ``step`` is None if it did not fail in a step. ``operators`` are those that may have raised the error; there is one
    if it is known which.
    """

    def __init__(self, what: str, *, operators: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.operators = operators
        self.step: int | None = None


class RunStopped(FlowError, RuntimeError):
    """A run that was stopped is asked to do something that only a running one can do."""


class RowRefused(FlowError, ValueError):
    """A row has a value that its sink cannot take. Nothing of its step is committed."""


class SinkFailed(FlowError, RuntimeError):
    """Rows could not be handed over. They are kept, and handed over when the flow is started again."""


class Superseded(FlowError, RuntimeError):
    """Another run has replaced this one, which can't commit any more and has to stop."""


class UnfitFileSystem(FlowError, ValueError):
    """A checkpoint or an output is on a file system that does not create and rename in one operation."""


class PickleRefused(FlowError, PermissionError):
    """A checkpoint has pickled state, and the user has not allowed to read pickles."""
