"""The committed steps of an output, for readers."""

from __future__ import annotations

from tidegate.engine.commits.by_step import checked_steps, directory_of
from tidegate.engine.commits.commit import Publication, publications_in
from tidegate.engine.steps.owner import owner_of
from tidegate.engine.storage.dataclass_json import from_object
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.identity import checkpoint_id
from tidegate.engine.storage.log import in_file_of, last_commit
from tidegate.engine.storage.published import Outlet

__all__ = ["committed_steps"]


def committed_steps(files: Files) -> tuple[str, list[str]]:
    """Return the schema of an output, as JSON, and the checked directories of its committed steps.

    A committed step that was not moved to its place yet is read from where it was written.
    """
    owner = owner_of(files)
    checkpoint = files.at(owner["checkpoint"])
    if not checkpoint.exists("id") or checkpoint_id(checkpoint) != owner["id"]:
        raise BadCheckpoint(
            f"{files.root} was written with the checkpoint {checkpoint.root}, which is not there any more",
            hint="spark.read.parquet(path), or read_parquet of DuckDB, reads what is visible",
        )
    commit = last_commit(checkpoint)
    if commit is None:
        return owner["schema"], []
    with in_file_of(checkpoint, commit):
        publications = publications_in(commit)
        outlets = [from_object(Outlet, outlet) for outlet in commit["outlets"].values()]
    own = [p for p in publications if _is_in(files, p)]
    totals = [outlet.rows for outlet in outlets if outlet.root == files.root]
    found = checked_steps(files, "", commit["step"], {p.name: p for p in own}, totals[0] if totals else None)
    return owner["schema"], found


def _is_in(files: Files, publication: Publication) -> bool:
    """Whether a publication is of this directory, whose path may be spelled in another way now."""
    own = not directory_of(publication)
    return own and (publication.root == files.root or files.exists(publication.staged))
