"""Deleting what no commit needs any more.

A run that was taken for dead and lives can't commit any more, but it may still delete. What it sweeps when it starts is
of earlier runs, never of the one that replaced it. What it deletes after a commit, no later commit can name.
"""

from __future__ import annotations

from collections.abc import Set

from tidegate.engine.commits.by_step import PENDING, step_of
from tidegate.engine.commits.commit import Commit
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import sweep_log

__all__ = ["clean", "sweep", "sweep_attempts"]


def clean(files: Files, before: Commit | None, commit: Commit, unneeded: Set[str]) -> None:
    """Delete state that the last two commits do not name, and records that what was committed before is handed over.

    ``unneeded`` is what the commit before those named, and what this step wrote and folded at once.
    """
    for path in unneeded - (before.paths if before else set()) - commit.paths:
        files.delete(path)
    for publication in before.publish if before else ():
        if publication.call:
            files.delete(publication.name)


def sweep(run: Prepared, commit: Commit, lock: int, before: float) -> None:
    """Delete what the last commit does not name: of attempts that did not get so far, and of commits before it.

    ``lock`` is the number of this run's lock; temporary files of commits are swept if they are from ``before``.
    """
    files = run.files
    files.sweep("commits", before=before)
    sweep_log(files, commit.number)
    for directory in [*run.asides.values(), *(f"output/{sink.name}" for sink in run.flow.sinks)]:
        sweep_attempts(files, f"{directory}/{PENDING}", lock)
    for sink in files.names("output"):
        for name, size in files.sizes(f"output/{sink}").items():
            step = step_of(name)
            # Records are files, and what is there besides is not ours. A run that has replaced this one has later
            # records by now.
            if size >= 0 and step is not None and step < commit.step:
                files.delete(f"output/{sink}/{name}")
    for key in files.names("state"):
        for port in files.names(f"state/{key}"):
            sweep_attempts(files, f"state/{key}/{port}", lock, named=commit.paths)


def sweep_attempts(files: Files, directory: str, lock: int, *, named: Set[str] = frozenset()) -> None:
    """Delete what attempts of earlier runs have left in a directory, and the last commit does not name.

    No earlier run can commit any more; a later one, which has replaced this one, can. What is not named as an attempt
    is named, by the number of its step first, is not ours.
    """
    for name in files.names(directory):
        step, other = name.partition("-")[0], name.rpartition("-")[2].rpartition(".")[0]
        earlier = not other.isdecimal() or int(other) <= lock
        if f"{directory}/{name}" not in named and step.isdecimal() and earlier:
            files.delete(f"{directory}/{name}")
