"""Directories of results, with one directory ``step=N`` for each step that had rows: they are checked, then read.

Each has a manifest of its own, which outlives the commit of its step: which files it has, and how many rows the steps
before it have. What all steps together have is in the last commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tidegate.engine.commits.commit import Publication
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, check_files, damaged, decode_files, list_files, located

__all__ = [
    "MANIFEST",
    "PENDING",
    "check_none_after",
    "checked_steps",
    "directory_of",
    "manifest_of",
    "place_of",
    "step_of",
]

#: The list of files in the directory of a step. Spark overlooks names that begin so.
MANIFEST = "_files.json"
#: The directory of what is not published yet. Spark overlooks names that begin so.
PENDING = "_pending"
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """A step: where its files are, how many rows they have, and how many the steps before say that they have."""

    step: int
    paths: list[str]
    rows: int
    before: int | None


def step_of(name: str) -> int | None:
    """Return the step that a directory is of; None if it is of none.

    >>> step_of("late/s/step=12"), step_of("_pending"), step_of("step=²")
    (12, None, None)
    """
    last = name.rpartition("/")[2]
    number = last.removeprefix("step=")
    return int(number) if number != last and number.isascii() and number.isdecimal() else None


def directory_of(publication: Publication) -> str:
    """Return the directory, below the root, that a step is published in."""
    return publication.name.rpartition("/")[0]


def place_of(files: Files, publication: Publication) -> Files:
    """Return where a publication is: rows set aside or handed over are in the checkpoint, wherever that is by now."""
    return files if directory_of(publication) else files.at(publication.root)


def check_none_after(files: Files, directory: str, last: int) -> None:
    """Raise if a directory has a step that comes after the last commit: that is from an earlier moment."""
    steps = [step for name in files.names(directory) if (step := step_of(name)) is not None and step > last]
    if steps:
        raise BadCheckpoint(
            f"{files.path(directory)} has the rows of step {min(steps)}, and the last commit is of step {last}",
            hint="was the checkpoint put back from an earlier moment? put back what it wrote of the same moment, "
            "or begin with a new checkpoint and other outputs",
        )


def manifest_of(step: int, before: int, entries: Sequence[FileEntry]) -> dict[str, Any]:
    """Return what the directory of a step says about itself; ``before`` is how many rows the steps before it have."""
    return {"step": step, "before": before, "files": [entry.coded() for entry in entries]}


def checked_steps(
    files: Files, directory: str, last: int, pending: Mapping[str, Publication], total: int | None
) -> list[str]:
    """Return the paths of what the steps up to ``last`` have written to a directory; raise if some of it is not there.

    ``pending`` are the publications of the last step, by name, which may still be on their way; ``total`` is how many
    rows there are in all, None if nobody knows.
    """
    inside = f"{directory}/" if directory else ""
    # Before the others are listed: what is moved meanwhile is in its place then.
    moving = {name: _where(files, publication) for name, publication in pending.items()}
    steps = {step for name in files.names(directory) if (step := step_of(name)) is not None and step <= last}
    names = [f"{inside}step={step}" for step in sorted(steps)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        listed = pool.map(lambda name: _checked(files, name), [name for name in names if name not in moving])
        found = sorted([*listed, *moving.values()], key=lambda part: part.step)
    rows = 0
    for part in found:
        if part.before is not None and part.before != rows:
            raise _gap(files.path(directory), part.before, rows, f"before step {part.step}")
        rows += part.rows
    if total is not None and rows != total:
        raise _gap(files.path(directory), total, rows, f"up to step {last}")
    return [path for part in found for path in part.paths]


def _checked(files: Files, name: str) -> _Found:
    step = step_of(name)
    assert step is not None, "only directories of steps are listed"
    manifest = f"{name}/{MANIFEST}"
    if not files.exists(manifest):
        # An earlier version wrote none; what is lost of it is missing in the sum.
        return _Found(step, [files.path(name)], sum(entry.rows for entry in list_files(files, name)), None)
    found = files.read(manifest, "the files of a step", {"step": int, "before": int, "files": list}, required=True)
    if found["step"] != step:
        raise damaged("the output", files.path(name), [f"it is that of step {found['step']}"])
    entries = decode_files(found["files"])
    check_files(files, name, entries, "the output")
    return _Found(step, [files.path(name)], sum(entry.rows for entry in entries), found["before"])


def _where(files: Files, publication: Publication) -> _Found:
    """Return where the files of a publication are: before or after they are moved, or some in each place."""
    step = step_of(publication.name)
    assert step is not None, "what is published is of a step"
    staged, name = publication.staged, publication.name
    entries = publication.files or list_files(files, staged) or list_files(files, name)
    found = located(files, entries, staged, name, f"the output of step {step}")
    if len(found[name]) == len(entries):
        paths = [files.path(name)]
    elif not found[name]:
        paths = [files.path(staged)]
    else:
        paths = [files.path(f"{directory}/{entry.name}") for directory in found for entry in found[directory]]
    return _Found(step, paths, sum(entry.rows for entry in entries), None)


def _gap(place: str, expected: int, found: int, where: str) -> BadCheckpoint:
    return BadCheckpoint(
        f"expected {expected:,} rows in {place} {where}, got {found:,}: "
        f"the directory of a step {'is gone' if found < expected else 'was put there'}",
        hint="nothing was deleted, and nothing is answered from it; restore it from a copy, "
        "or begin with a new checkpoint and other outputs. spark.read.parquet(path) reads what is left",
    )
