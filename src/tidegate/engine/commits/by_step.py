"""Directories of results, with a directory ``step=N`` for each step that had rows: they are checked, then read.

Each step has its own manifest, which is kept longer than the commit of the step. It lists the step's files and counts
the rows of all steps before it. The count of all steps together is in the last commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tidegate.engine.commits.commit import Publication
from tidegate.engine.storage.dataclass_json import as_list, from_list
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, check_files, damaged, list_files, located

__all__ = [
    "MANIFEST",
    "PENDING",
    "check_none_after",
    "checked_steps",
    "directory_of",
    "files_in",
    "manifest_of",
    "place_of",
    "step_of",
]

#: The list of files in the directory of a step. Spark ignores names with an underscore at the start.
MANIFEST = "_files.json"
#: The directory of what is not published yet. Spark ignores it, too.
PENDING = "_pending"
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """A step: the paths of its files, how many rows they have, and how many rows the steps before it should have."""

    step: int
    paths: list[str]
    rows: int
    before: int | None


def step_of(name: str) -> int | None:
    """Return the number of the step that a directory belongs to; None if it is not the directory of a step.

    >>> step_of("late/s/step=12"), step_of("_pending"), step_of("step=²")
    (12, None, None)
    """
    last = name.rpartition("/")[2]
    number = last.removeprefix("step=")
    return int(number) if number != last and number.isascii() and number.isdecimal() else None


def directory_of(publication: Publication) -> str:
    """Return the directory below the root to which a step is published."""
    return publication.name.rpartition("/")[0]


def place_of(files: Files, publication: Publication) -> Files:
    """Return where a publication is. Rows set aside or handed over are in the checkpoint, which may have been moved."""
    return files if directory_of(publication) else files.at(publication.root)


def check_none_after(files: Files, directory: str, last: int) -> None:
    """Raise if a directory has a step after the last commit: the checkpoint is then older than its output."""
    steps = [step for name in files.names(directory) if (step := step_of(name)) is not None and step > last]
    if steps:
        raise BadCheckpoint(
            f"{files.path(directory)} has the rows of step {min(steps)}, and the last commit is of step {last}",
            hint="was the checkpoint restored from an older copy? restore its outputs from the same time, "
            "or begin with a new checkpoint and other outputs",
        )


def manifest_of(step: int, before: int, entries: Sequence[FileEntry]) -> dict[str, Any]:
    """Return the manifest of a step; ``before`` is the number of rows of the steps before it."""
    return {"step": step, "before": before, "files": [as_list(entry) for entry in entries]}


def files_in(manifest: Mapping[str, Any], path: str) -> tuple[FileEntry, ...]:
    """Return the files that the manifest of a step lists; ``path`` names the manifest in errors."""
    try:
        return tuple(from_list(FileEntry, entry) for entry in manifest["files"])
    except BadCheckpoint as error:
        raise error.at(path) from None


def checked_steps(
    files: Files, directory: str, last: int, pending: Mapping[str, Publication], total: int | None
) -> list[str]:
    """Return the paths of the files of all steps up to ``last`` in a directory; raise if some are missing.

    ``pending`` are the publications of the last step, by name, which may not be in their place yet. ``total`` is the
    number of rows of all steps, None if it is not known.
    """
    inside = f"{directory}/" if directory else ""
    # This comes first: what is moved while the others are listed is then found in its new place.
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
        # An earlier version wrote no manifest. Lost files show up in the total number of rows.
        return _Found(step, [files.path(name)], sum(entry.rows for entry in list_files(files, name)), None)
    found = files.read(manifest, "the files of a step", {"step": int, "before": int, "files": list}, required=True)
    if found["step"] != step:
        raise damaged("the output", files.path(name), [f"it is that of step {found['step']}"])
    entries = files_in(found, files.path(manifest))
    check_files(files, name, entries, "the output")
    return _Found(step, [files.path(name)], sum(entry.rows for entry in entries), found["before"])


def _where(files: Files, publication: Publication) -> _Found:
    """Return where the files of a publication are: where they were staged, in their place, or some in each."""
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
