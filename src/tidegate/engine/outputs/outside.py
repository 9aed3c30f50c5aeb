"""Places in directories that a checkpoint keeps for itself: results would be swept away there."""

from __future__ import annotations

from tidegate.engine.storage.files import Files
from tidegate.flow.errors import BadArgument

__all__ = ["check_outside"]

#: What a checkpoint keeps, and deletes when it is not needed any more.
_OWN = ("clock", "commits", "id", "late", "lock", "locks", "output", "spark", "state", "ticks")


def check_outside(checkpoint: Files, sink: str, path: str, root: str) -> None:
    """Raise if an output is in a directory that the checkpoint keeps; ``root`` is its path with the scheme."""
    inside = root.removeprefix(f"{checkpoint.root}/")
    if inside != root and inside.partition("/")[0] in _OWN:
        raise BadArgument(
            f"expected a place outside of what the checkpoint {checkpoint.root} keeps for sink {sink!r}, got {path}",
            hint=f"a directory that is not below {checkpoint.root}: what a checkpoint does not know, it may delete",
        )
