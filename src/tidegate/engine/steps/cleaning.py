"""Deleting what no commit needs any more.

A run that was taken for dead may be alive. It can't commit any more, but it may still delete. What it sweeps when it
starts belongs to earlier runs, never to the run that replaced it. What it deletes after a commit cannot be named by any
later commit.
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
    """Delete state that the last two commits do not name, and the records of hand-overs of the commit before.

    ``unneeded`` are the paths that the commit before those two named, and those that this step wrote and merged again.
    """
    for path in unneeded - (before.paths if before else set()) - commit.paths:
        files.delete(path)
    for publication in before.publish if before else ():
        if publication.call:
            files.delete(publication.name)


def sweep(run: Prepared, commit: Commit, lock: int, before: float) -> None:
    """Delete what the last commit does not name: leftovers of attempts that were not committed, and of older commits.

    ``lock`` is the number of this run's lock. Temporary files of commits are deleted if they were written ``before`` a
    time.
    """
    files = run.files
    files.sweep("commits", before=before)
    sweep_log(files, commit.number)
    for directory in [*run.asides.values(), *(f"output/{sink.name}" for sink in run.flow.sinks)]:
        sweep_attempts(files, f"{directory}/{PENDING}", lock)
    for sink in files.names("output"):
        for name, size in files.sizes(f"output/{sink}").items():
            step = step_of(name)
            # Records are files; anything else in there is not ours. If another run has replaced this one, its records
            # are of later steps.
            if size >= 0 and step is not None and step < commit.step:
                files.delete(f"output/{sink}/{name}")
    for key in files.names("state"):
        for port in files.names(f"state/{key}"):
            sweep_attempts(files, f"state/{key}/{port}", lock, named=commit.paths)


def sweep_attempts(files: Files, directory: str, lock: int, *, named: Set[str] = frozenset()) -> None:
    """Delete the leftovers of attempts of earlier runs in a directory, except what the last commit names.

    Earlier runs can't commit any more. A later run, which has replaced this one, can, so its attempts stay. The name of
    an attempt begins with the number of its step; anything else in the directory is not ours.
    """
    for name in files.names(directory):
        step, other = name.partition("-")[0], name.rpartition("-")[2].rpartition(".")[0]
        earlier = not other.isdecimal() or int(other) <= lock
        if f"{directory}/{name}" not in named and step.isdecimal() and earlier:
            files.delete(f"{directory}/{name}")
