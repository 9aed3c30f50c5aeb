"""Results in a directory of Parquet files, which the run fills by itself: a step becomes visible by a rename."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tidegate.engine.outputs.output import Output, Results, Sender
from tidegate.engine.outputs.outside import check_outside
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.flow.arguments import checked_directory

__all__ = ["Parquet", "parquet"]


@dataclass(frozen=True, slots=True)
class Parquet(Output):
    """A directory with one directory of Parquet files for each step that had rows."""

    path: str

    needs_workers = False

    @property
    def directory(self) -> str:
        """The directory itself."""
        return self.path

    def check(self, checkpoint: Files, sink: str) -> None:
        """Raise if files cannot be moved there in one operation, or the checkpoint would sweep them away."""
        checkpoint.check_fit(self.path, f"the output of sink {sink!r}")
        check_outside(checkpoint, sink, self.path, checkpoint.at(self.path).root)

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:  # noqa: ARG002
        """Raise: a step that is to be handed over was written for another output, which the sink had before."""
        raise BadCheckpoint(
            f"rows of step {step} were to be handed over, and the output is a directory now",
            hint="start once more with the output that it had, so that nothing is lost; then change it",
        )


def parquet(path: str | os.PathLike[str]) -> Parquet:
    """Write results to ``path``, a directory ``step=N`` for each step; `read` reads what is committed.

    Each row is there exactly once, whatever happens. The directory must be empty, or belong to the same checkpoint.
    """
    return Parquet(checked_directory(path, "parquet(…)", hint='parquet("out/hourly")'))
