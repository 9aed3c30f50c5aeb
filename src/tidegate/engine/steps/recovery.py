"""Continuing from the last commit: check what it names, publish what was not published, delete the rest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tidegate.engine.commits.by_step import check_none_after
from tidegate.engine.commits.commit import Commit
from tidegate.engine.commits.upgrade import upgraded
from tidegate.engine.meaning import check_meaning
from tidegate.engine.orders import check_grown, check_orders
from tidegate.engine.steps.cleaning import sweep
from tidegate.engine.steps.owner import check_owned
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.steps.publishing import publish
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointClosed
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.log import in_file_of
from tidegate.engine.storage.state import check_part
from tidegate.engine.zones import check_zones

__all__ = ["RECOVERY", "recover"]

#: The named points of a recovery: before the commit's files are checked, before they are published again, and before
#: leftovers are deleted.
RECOVERY = ("checking", "recovering", "sweeping")


def recover(run: Prepared, found: Mapping[str, Any], lock: Lock | None) -> Commit:
    """Return the last commit, after publishing what was not published and deleting leftovers."""
    check_orders(run.flow, found["flow"])
    check_meaning(run.flow, found["flow"], run.meaning)
    with in_file_of(run.files, found):
        read = Commit.from_json(run.flow, found)
    commit = upgraded(run.files, read, found["format"])
    check_grown(run.flow, commit, found["flow"])
    check_zones(run, commit, found["flow"].get("zones", {}))
    run.probe("checking", commit.step)
    _check(run, commit)
    run.probe("recovering", commit.step)
    publish(run, commit, whole=True)
    run.probe("sweeping", commit.step)
    sweep(run, commit, lock.token.lock if lock else 0, before=lock.since if lock else time.time())
    if commit.ended:
        raise CheckpointClosed(
            f"the input of flow {run.flow.name!r} has ended: everything in {run.files.root} is complete",
            hint="take another checkpoint and other outputs to run the flow again",
        )
    return commit


def _check(run: Prepared, commit: Commit) -> None:
    """Raise if the state that a commit names is damaged, or if outputs have steps after it."""
    for id_, own in run.kept.items():
        found = commit.state.get(own.key, ())
        # After the end of the input there are no states.
        if not commit.ended and len(found) != own.keeper.ports:
            raise BadCheckpoint(
                f"expected {own.keeper.ports} states of {id_} in the last commit of {run.files.root}, got {len(found)}",
                hint="it was changed after it was written: restore it from a copy, or begin with a new checkpoint and "
                "other outputs",
            )
    for part in commit.parts:
        check_part(run.files, part, whole=True)
    for directory in [*run.asides.values(), *(f"output/{sink.name}" for sink in run.flow.sinks)]:
        check_none_after(run.files, directory, commit.step)
    roots = {outlet.root: outlet.rows for outlet in commit.outlets.values()}
    for place in run.directories.values():
        if roots.get(place.root):
            check_owned(place)
        if place.root in roots:
            check_none_after(place, "", commit.step)
