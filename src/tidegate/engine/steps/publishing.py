"""Publishing: making the results of a commit visible, right after it, or at the next start after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidegate.engine.attempt import Attempt
from tidegate.engine.commits.by_step import MANIFEST, PENDING, directory_of, manifest_of, place_of
from tidegate.engine.commits.commit import Commit, Publication
from tidegate.engine.steps.owner import check_owned, is_owned
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.storage.disk import sync
from tidegate.engine.storage.errors import BadCheckpoint, SinkFailed
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import check_files, damage, damaged, located
from tidegate.engine.storage.published import PROMISES
from tidegate.engine.storage.state import check_part
from tidegate.errors import TidegateError

__all__ = ["publish", "seal", "staged"]


def staged(directory: str, step: Attempt) -> str:
    """Return where the results of a step are written before its commit. Readers ignore it."""
    return (
        f"{directory}/{PENDING}/{step.number}-{step.suffix}" if directory else f"{PENDING}/{step.number}-{step.suffix}"
    )


def seal(files: Files, commit: Commit, before: Commit | None, *, growing: Sequence[str] = ()) -> None:
    """Wait until everything new in a commit is on the disk; raise if something is missing.

    New is what the commit ``before`` did not name. In ``growing`` directories, only files that are new have to be
    synced.
    """
    old = before.paths if before else set()
    new = [part for part in commit.parts if part.path not in old]
    for part in new:
        check_part(files, part)
    paths = files.unsynced([part.path for part in new], growing=growing)
    for publication in commit.publish:
        place = place_of(files, publication)
        check_files(place, publication.staged, publication.files, "the output")
        if not publication.call:
            place.put(f"{publication.staged}/{MANIFEST}", _manifest(commit, publication))
        paths |= place.unsynced([publication.staged])
    sync(paths)


def publish(
    run: Prepared,
    commit: Commit,
    *,
    probe: Callable[[str], None] = lambda point: None,  # noqa: ARG005
    whole: bool = False,
) -> None:
    """Make the results of a commit visible; raise if some of them are missing.

    What is visible already stays as it is.

    ``probe`` is called before each publication, and when it is visible. ``whole`` checks the whole of each file.
    """
    files = run.files
    roots = {place.root for place in run.directories.values()}
    for publication in commit.publish:
        probe("publishing")
        place = place_of(files, publication)
        if place.root in roots:
            check_owned(place)
        elif place.root != files.root and not is_owned(place):
            # The sink writes to another place now, and its directory here was deleted.
            continue
        if publication.call:
            _deliver(run, commit, publication, probe, whole=whole)
        else:
            _move(place, commit, publication, probe, whole=whole)
        # Everything is in its place, so what is left here is a copy, or nothing.
        place.delete(publication.staged)
    # Promises come last, so that a follower does not have to wait for the rows of a promise.
    for outlet in commit.outlets.values():
        place = files.at(outlet.root)
        if outlet.step == commit.step and is_owned(place):
            place.create(f"{PROMISES}/{outlet.step}.json", outlet.promise.line)


def _manifest(commit: Commit, publication: Publication) -> dict[str, Any]:
    """Return the manifest of a step: its files, and how many rows came before it."""
    totals = {(outlet.root, ""): outlet.rows for outlet in commit.outlets.values()}
    totals |= {(publication.root, directory): rows for directory, rows in commit.aside.items()}
    before = totals[publication.root, directory_of(publication)] - publication.rows
    return manifest_of(commit.step, before, publication.files)


def _move(place: Files, commit: Commit, publication: Publication, probe: Callable[[str], None], *, whole: bool) -> None:
    """Move what is staged to its place: all of it at once, or the rest of a move that was interrupted."""
    name = publication.name
    what = f"step {commit.step} is committed, and its output"
    found = located(place, publication.files, publication.staged, name, what, whole=whole)
    waiting = found[publication.staged]
    whole_move = waiting and not place.exists(name)
    if whole_move:
        _rename(place, publication.staged, name, commit.step)
    else:
        for entry in waiting:
            _rename(place, f"{publication.staged}/{entry.name}", f"{name}/{entry.name}", commit.step)
    if waiting:
        check_files(place, name, publication.files, what)
    if not place.exists(f"{name}/{MANIFEST}"):
        # An earlier version, which wrote no manifests, has committed this step.
        place.create(f"{name}/{MANIFEST}", _manifest(commit, publication))
    place.sync_names(directory_of(publication))
    if waiting and not whole_move:
        # The rest of an interrupted move was moved file by file.
        sync(place.unsynced([name]))
    probe("handed over")


def _rename(place: Files, name: str, to: str, step: int) -> None:
    # A run that was taken for dead and is alive may have moved it just now.
    if not place.rename(name, to) and not place.exists(to):
        raise BadCheckpoint(
            f"step {step} is committed, and {place.path(name)} could not be moved to {place.path(to)}",
            hint="make both writable, and start again: then what is committed is published",
        )


def _deliver(
    run: Prepared,
    commit: Commit,
    publication: Publication,
    probe: Callable[[str], None],
    *,
    whole: bool,
) -> None:
    """Hand over the rows of a step, unless a record says that they were; then write the record."""
    files = run.files
    if files.exists(publication.name):
        return
    what = f"step {commit.step} is committed, and its output for sink {publication.call!r}"
    lines = damage(files, publication.staged, publication.files, whole=whole)
    if files.exists(publication.name):
        # A run that was taken for dead and is alive has done it.
        return
    if lines:
        raise damaged(what, files.path(publication.staged), lines)
    _hand_over(run, commit, publication)
    probe("handed over")
    files.create(publication.name, {"step": commit.step, "rows": publication.rows})


def _hand_over(run: Prepared, commit: Commit, publication: Publication) -> None:
    """Give the rows of a step to the sink that they were computed for.

    If the flow does not have this sink any more, they are dropped.
    """
    sink = publication.call
    if sink not in run.outputs:
        return
    try:
        rows = run.host.results(run.files, publication.staged)
        run.outputs[sink].deliver(run.senders[sink], rows, commit.step)
    except TidegateError as error:
        raise error.at(f"sink {sink!r}").at(f"flow {run.flow.name!r}") from None
    except Exception as error:
        failed = SinkFailed(
            f"the rows of step {commit.step} could not be handed over: {run.host.describe_error(error).text}",
            hint="they are kept: the next start from this checkpoint hands them over",
        )
        raise failed.at(f"sink {sink!r}").at(f"flow {run.flow.name!r}") from error
