"""Commits of earlier versions: what they do not contain is looked up on the disk once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidegate.engine.commits.by_step import directory_of, place_of, step_of
from tidegate.engine.commits.commit import Commit, Publication
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, damaged, list_files
from tidegate.engine.storage.state import State

__all__ = ["UPGRADES", "upgraded"]


def upgraded(files: Files, commit: Commit, format_: int) -> Commit:
    """Return a commit of an earlier format in the current format."""
    for upgrade in UPGRADES[format_ - 1 :]:
        commit = upgrade(files, commit)
    return commit


def _with_files(files: Files, commit: Commit) -> Commit:
    """Add the files of the directories that a commit of the first format names, as they are now.

    Their rows are compared with the counts in the commit. There was no record of rows handed to a function: if their
    files are gone, they were handed over.
    """
    publish = [_publication(files, commit, publication) for publication in commit.publish]
    kept = tuple(publication for publication in publish if publication.files or not publication.call)
    return replace(
        commit,
        state={key: tuple(_state(files, state) for state in states) for key, states in commit.state.items()},
        publish=kept,
        aside={f"late/{name}": _set_aside(files, f"late/{name}", kept) for name in files.names("late")},
    )


def _state(files: Files, state: State) -> State:
    return State(tuple(replace(p, files=_listed(files, [p.path], "the state", p.rows)) for p in state.parts))


def _publication(files: Files, commit: Commit, publication: Publication) -> Publication:
    place = place_of(files, publication)
    rows = {outlet.root: commit.outputs.get(sink) for sink, outlet in commit.outlets.items()}
    expected = None if publication.call else rows.get(publication.root)
    # If a move was interrupted, some files are in each directory.
    found = _listed(place, [publication.staged, publication.name], f"the output of step {commit.step}", expected)
    return replace(publication, files=found)


def _listed(files: Files, directories: list[str], what: str, rows: int | None) -> tuple[FileEntry, ...]:
    found = {entry.name: entry for directory in directories for entry in list_files(files, directory)}
    seen = sum(entry.rows for entry in found.values())
    if rows is not None and seen != rows:
        places = " and ".join(files.path(directory) for directory in directories)
        raise damaged(what, places, [f"it has {seen:,} rows, expected {rows:,}"])
    return tuple(found.values())


def _set_aside(files: Files, directory: str, publish: tuple[Publication, ...]) -> int:
    """Return how many rows of a source were set aside, including those that are about to be published."""
    pending = {p.name: p.rows for p in publish if directory_of(p) == directory}
    names = [f"{directory}/{name}" for name in files.names(directory) if step_of(name) is not None]
    published = sum(entry.rows for name in names if name not in pending for entry in list_files(files, name))
    return published + sum(pending.values())


def _of_spark(files: Files, commit: Commit) -> Commit:  # noqa: ARG001
    """Return a commit of the second format as it is: `origin_in` has already marked it as one of Spark."""
    return commit


#: The upgrades from the first format to the second, and so on. Each adds what the format before did not have.
UPGRADES: tuple[Callable[[Files, Commit], Commit], ...] = (_with_files, _of_spark)
