"""Reads a checkpoint without changing it: its last commit, the trace of its last run, and its lock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.engine.orders import coordinates_in
from tidegate.engine.shape import Shape
from tidegate.engine.storage.dataclass_json import value_from_json
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Holder, holding
from tidegate.engine.storage.log import last_commit
from tidegate.engine.trace import DIRECTORY, FORMAT
from tidegate.flow.schema import Column, Schema

__all__ = ["Checkpoint", "Description", "checkpoint_at", "times_of_source"]

#: At most this many of the last steps are read.
_STEPS = 400
_KEYS = {"format": int, "flow": str, "shape": dict, "operators": list, "sinks": list, "state": dict, "asides": dict}
_NOW = {"lock": int, "since": float}
_HINT = "the next start of the flow writes it anew"


@dataclass(frozen=True, slots=True)
class Description:
    """What a run has written down about its flow: its shape, and ``whole``, all of it as JSON."""

    shape: Shape
    whole: Mapping[str, Any]

    @property
    def operators(self) -> dict[str, Mapping[str, Any]]:
        """What is written down about each operator, by its id."""
        return {operator["id"]: operator for operator in self.whole["operators"]}


class Checkpoint:
    """The directory of a checkpoint. Each method reads what is there now, and raises if that is damaged."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._described: tuple[Any, Description] | None = None
        self._lines: tuple[Any, list[dict[str, Any]]] | None = None

    @property
    def place(self) -> str:
        """The path of the directory, as people write it."""
        return self.files.root.removeprefix("file:")

    def commit(self) -> Mapping[str, Any] | None:
        """Return the last commit as JSON; None if there is none."""
        return last_commit(self.files)

    def committed(self) -> Mapping[str, Any]:
        """Return the last commit as JSON; raise if there is none."""
        found = self.commit()
        if found is None:
            raise BadCheckpoint(
                f"expected a checkpoint with commits in {self.place}, got none",
                hint="the directory that was given as checkpoint= or --checkpoint",
            )
        return found

    def holder(self) -> Holder | None:
        """Return the process that holds the lock, and whether it is alive; None if no process holds it."""
        return holding(self.files)

    def description(self) -> Description | None:
        """Return what the last run has written down about its flow; None if an earlier version of Tidegate ran it."""
        name = f"{DIRECTORY}/flow"
        version = self._version_of(name)
        if version is None:
            return None
        if self._described is None or self._described[0] != version:
            self._described = (version, self._read_description(name))
        return self._described[1]

    def activity(self) -> Mapping[str, Any]:
        """Return what the last run has last written down about what it is doing; empty if it has written nothing."""
        name = f"{DIRECTORY}/now"
        for _ in range(3):
            # The run overwrites this file. A reader may find a mix of old and new content, and then reads again.
            with suppress(BadCheckpoint):
                return self.files.read(name, "what a run does", _NOW, hint=_HINT) if self.files.exists(name) else {}
        return self.files.read(name, "what a run does", _NOW, hint=_HINT)

    def steps(self) -> list[dict[str, Any]]:
        """Return the metrics of the last steps, the earliest first. Lines that are cut off are left out."""
        names = (f"{DIRECTORY}/steps.before", f"{DIRECTORY}/steps")
        version = tuple(map(self._version_of, names))
        if self._lines is None or self._lines[0] != version:
            lines = [line for name in names if self.files.exists(name) for line in self.files.text(name).split("\n")]
            found = [step for line in lines[-_STEPS:] if (step := _step(line)) is not None]
            self._lines = (version, found)
        return self._lines[1]

    def _version_of(self, name: str) -> Any:
        """Return a value that changes whenever a file does; None if there is no file."""
        assert self.files.local is not None, "only disks of this machine are looked at"
        try:
            found = (self.files.local / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read_description(self, name: str) -> Description:
        found = self.files.read(name, "the description of a flow", _KEYS, hint=_HINT, required=True)
        if found["format"] != FORMAT:
            raise BadCheckpoint(
                f"expected a description of format {FORMAT} in {self.files.path(name)}, got one of format "
                f"{found['format']}",
                hint="another version of Tidegate wrote it: use that one",
            )
        try:
            return Description(Shape.from_json(found["shape"]), found)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadCheckpoint(
                f"expected the shape of a flow in {self.files.path(name)}, got one that can't be read: "
                f"{type(error).__name__}: {error}",
                hint=_HINT,
            ) from None


def checkpoint_at(path: str | Path) -> Checkpoint:
    """Return the checkpoint in a directory of this machine; raise if the path is on another file system."""
    text = str(path)
    if "://" in text.removeprefix("file://"):
        raise BadCheckpoint(
            f"expected a checkpoint on a disk of this machine, got {text}",
            hint="open it on a machine that has it as a directory, or open a copy",
        )
    return Checkpoint(Files(Path(text.removeprefix("file://").removeprefix("file:"))))


def times_of_source(commit: Mapping[str, Any], name: str) -> Schema:
    """Return the time columns of a source, with their order, from a commit."""
    found = value_from_json(Mapping[str, Any], commit["sources"][name], f"the marks of source {name}")
    times = value_from_json(tuple[tuple[str, str | None], ...], found.get("time"), f"the time of source {name}")
    columns = tuple(Column(column, type_) for column, type_ in times)
    at = coordinates_in(name, columns, commit["flow"])
    return Schema(at.columns, at.names, at) if at else Schema(columns, tuple(column.name for column in columns))


def _step(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(found, dict) and isinstance(found.get("step"), int) and isinstance(found.get("seconds"), float)
    return found if whole else None
