"""Whether a run can continue from a commit: what is checked before the commit is compared with the flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.engine.commits.commit import origin_in
from tidegate.engine.storage.dataclass_json import from_object, not_as_written
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import in_file_of

__all__ = ["check_whole"]


@dataclass(frozen=True, slots=True)
class _CommittedFlow:
    """What commits say of their flow: see `meaning`."""

    name: str
    sources: tuple[tuple[str, str, str], ...]
    signals: tuple[str, ...]
    origins: Mapping[str, str]
    state: Mapping[str, str]
    #: Earlier versions did not write these two.
    kept: Mapping[str, Any]
    timezone: str


def check_whole(files: Files, commit: Mapping[str, Any]) -> None:
    """Raise if a commit does not describe its flow, or lacks how far the local engine has read a source.

    A source without a position would be read from its beginning, and all its rows would count twice.
    """
    with in_file_of(files, commit):
        flow = from_object(_CommittedFlow, {"kept": {}, "timezone": ""} | commit["flow"])
        origin = origin_in(commit)
        known = [flow.origins.get(name, name) for name in commit["sources"]]
        missing = [name for name in known if name not in origin.positions]
        if origin.engine == "local" and missing:
            raise not_as_written(f"a position for {', '.join(missing)}", list(origin.positions), "only those of ")
