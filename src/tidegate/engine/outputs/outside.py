"""Paths inside of the directories that a checkpoint uses itself: results would be deleted there."""

from __future__ import annotations

from tidegate.engine.storage.files import Files
from tidegate.flow.errors import BadArgument

__all__ = ["check_outside"]

#: The directories that a checkpoint uses, and deletes from when something is not needed any more.
_OWN = ("clock", "commits", "id", "late", "lock", "locks", "output", "spark", "state", "ticks")


def check_outside(checkpoint: Files, sink: str, path: str, root: str) -> None:
    """Raise if an output is in a directory that the checkpoint uses; ``root`` is its path with the scheme."""
    inside = root.removeprefix(f"{checkpoint.root}/")
    if inside != root and inside.partition("/")[0] in _OWN:
        raise BadArgument(
            f"expected a place outside of what the checkpoint {checkpoint.root} keeps for sink {sink!r}, got {path}",
            hint=f"a directory that is not below {checkpoint.root}: a checkpoint may delete what it does not know",
        )
