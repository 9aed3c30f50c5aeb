"""Directories of results: which sink owns them, and which columns they have."""

from __future__ import annotations

import json
from typing import Any

from tidegate.engine.orders import promised_order
from tidegate.engine.outputs import Fields
from tidegate.engine.storage.dataclass_json import value_from_json
from tidegate.engine.storage.errors import BadCheckpoint, FlowChanged
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.identity import checkpoint_id
from tidegate.engine.storage.published import PROMISES
from tidegate.flow.schema import Schema
from tidegate.flow.schema_json import type_shown

__all__ = ["check_owned", "claim", "is_owned", "owner_of"]

_OWNER = "_tidegate.json"
_KEYS = {"checkpoint": str, "id": str, "sink": str, "schema": str, "time": list}
_RESTORE = "restore the file from a copy; spark.read.parquet(path) reads what is visible in the directory"


def claim(files: Files, checkpoint: Files, sink: str, fields: Fields, times: Schema, *, exact: bool = False) -> None:
    """Mark a directory as the output of a checkpoint's sink, or raise if it belongs to another.

    ``fields`` are the columns. ``times`` has the time columns, for flows that follow this output's frontier. If the
    sink's columns have changed, the directory has both the old and the new ones. ``exact`` says whether names that
    differ only in case are different columns.
    """
    owner: dict[str, Any] = {
        "checkpoint": checkpoint.root,
        "id": checkpoint_id(checkpoint),
        "sink": sink,
        "schema": fields.json,
        "time": times.promised_times,
        **promised_order(times),
    }
    if not is_owned(files) and files.names():
        raise BadCheckpoint(
            f"expected an empty directory for sink {sink!r}, got {files.root} with {len(files.names())} entries",
            hint="choose another path",
        )
    files.make(PROMISES)
    if files.create(_OWNER, owner):
        return
    found = owner_of(files)
    if (found["id"], found["sink"]) != (owner["id"], sink):
        raise BadCheckpoint(
            f"{files.root} is the output of sink {found['sink']!r} of the checkpoint {found['checkpoint']}",
            hint="choose another path; or delete this one, if its checkpoint is gone",
        )
    if found["time"] != owner["time"]:
        old, new = (", ".join(" ".join(filter(None, column)) for column in o["time"]) for o in (found, owner))
        raise _changed(files.root, sink, f"the time columns were {old}, and now are {new}")
    before, now = json.loads(found["schema"]), json.loads(fields.json)
    both = now | {"fields": _both(before["fields"], now["fields"], files.root, sink, exact=exact)}
    owner["schema"] = json.dumps(both, separators=(",", ":"), sort_keys=True)
    if owner != found:
        files.replace(_OWNER, owner)


def owner_of(files: Files) -> dict[str, Any]:
    """Return the owner of a directory of results; raise if it has none."""
    if not is_owned(files):
        raise BadCheckpoint(
            f"expected the output of a flow in {files.root}, got none",
            hint="a path that was given to tg.parquet(…), of a flow that was started",
        )
    found = files.read(_OWNER, "the owner of an output", _KEYS, hint=_RESTORE)
    value_from_json(tuple[tuple[str, str | None], ...], found["time"], f"the time columns in {files.root}/{_OWNER}")
    return found


def is_owned(files: Files) -> bool:
    """Whether a directory is the output of a sink."""
    return files.exists(_OWNER)


def check_owned(files: Files) -> None:
    """Raise if a directory of results does not exist any more."""
    if not is_owned(files):
        raise BadCheckpoint(
            f"{files.root} was the output of this run, and {_OWNER} is not there any more: it was deleted or moved",
            hint="restore it, or give the sink another directory, which gets the rows from now on; then start again",
        )


def _both(
    before: list[dict[str, Any]], now: list[dict[str, Any]], root: str, sink: str, *, exact: bool
) -> list[dict[str, Any]]:
    """Return the current columns followed by those that were dropped; raise if the type of a column has changed."""

    def key(column: dict[str, Any]) -> str:
        return str(column["name"]) if exact else str(column["name"]).lower()

    known = {key(column): column for column in before}
    for column in now:
        # Nullability is not compared: in files, all columns are nullable.
        old, new = (type_shown(c["type"]).upper() for c in (known.pop(key(column), column), column))
        if old != new:
            raise _changed(root, sink, f"column {column['name']} was {old}, and now is {new}")
    return [*now, *known.values()]


def _changed(root: str, sink: str, what: str) -> FlowChanged:
    return FlowChanged(
        f"{root} has rows of sink {sink!r} that could not be read together with new ones: {what}",
        hint="cast it to the type that it had, or give the column another name; "
        "or give the sink another directory, which gets the rows from now on",
    )
