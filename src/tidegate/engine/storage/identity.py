"""The id of a checkpoint. Outputs name the checkpoint that they belong to by it."""

from __future__ import annotations

from uuid import uuid4

from tidegate.engine.storage.files import Files

__all__ = ["checkpoint_id", "identify"]


def identify(files: Files, flow: str) -> None:
    """Write an id for a checkpoint that has none."""
    files.create("id", {"id": uuid4().hex, "flow": flow})


def checkpoint_id(files: Files) -> str:
    """Return the id of a checkpoint."""
    hint = "restore the file from a copy: the id is in the file _tidegate.json of each Parquet output, too"
    found: str = files.read("id", "the id of a checkpoint", {"id": str}, hint=hint)["id"]
    return found
