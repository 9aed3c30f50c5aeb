"""Commits: one file for each step, with everything that is needed to continue after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.engine.marks import Marks
from tidegate.engine.storage.errors import Superseded
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import FORMAT, NOBODY, Token, append
from tidegate.engine.storage.manifest import FileEntry, decode_files
from tidegate.engine.storage.published import Outlet
from tidegate.engine.storage.state import Part, State
from tidegate.flow.plan import Plan

__all__ = ["Commit", "Origin", "Publication", "write_commit"]


@dataclass(frozen=True, slots=True)
class Publication:
    """A directory of results that is published after the commit: moved to ``name``, or given to the sink's function."""

    root: str
    staged: str
    name: str
    #: The sink whose function is called; empty if the directory is moved.
    call: str = ""
    files: tuple[FileEntry, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows in it."""
        return sum(entry.rows for entry in self.files)

    def coded(self) -> dict[str, Any]:
        """Return the publication as JSON."""
        files = [entry.coded() for entry in self.files]
        return {"root": self.root, "staged": self.staged, "name": self.name, "call": self.call, "files": files}

    @classmethod
    def decode(cls, found: Mapping[str, Any]) -> Publication:
        """Return the publication from JSON."""
        files = decode_files(found.get("files", ()))
        return cls(found["root"], found["staged"], found["name"], found["call"], files)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of a step came from, in terms of the engine that ran it. Only the same engine can continue."""

    engine: str = "spark"
    #: Spark's number of the micro-batch, None before the first; the id of the query; and a hash of the offsets at which
    #: this batch begins and ends.
    batch: int | None = None
    query: str = ""
    offsets: str = ""
    #: How far the local engine has read each source.
    positions: Mapping[str, Any] = field(default_factory=dict)

    def coded(self) -> dict[str, Any]:
        """Return the origin as JSON."""
        return {
            "engine": self.engine,
            "batch": self.batch,
            "query": self.query,
            "offsets": self.offsets,
            "positions": dict(self.positions),
        }

    @classmethod
    def decode(cls, found: Mapping[str, Any]) -> Origin:
        """Return the origin from JSON. Commits of earlier formats were all made on Spark."""
        positions = found.get("positions", {})
        return cls(found.get("engine", "spark"), found["batch"], found["query"], found["offsets"], positions)


@dataclass(frozen=True, slots=True)
class Commit:
    """What a step did, and where everything stands after it."""

    step: int
    origin: Origin
    marks: Mapping[str, Marks]
    state: Mapping[str, tuple[State, ...]]
    publish: tuple[Publication, ...]
    outputs: Mapping[str, int]
    #: The flow that the state belongs to: its sources in order, and the fingerprints of its operators with state.
    flow: Mapping[str, Any]
    ended: bool = False
    #: How many rows are in the directories of sinks, and the frontiers published there.
    outlets: Mapping[str, Outlet] = field(default_factory=dict)
    #: How many rows were set aside so far, by directory.
    aside: Mapping[str, int] = field(default_factory=dict)
    #: Its number in the log, and the run that made it.
    number: int = 0
    token: Token = NOBODY

    @property
    def parts(self) -> list[Part]:
        """The parts of state that the commit names."""
        return [part for states in self.state.values() for state in states for part in state.parts]

    @property
    def paths(self) -> set[str]:
        """The directories of state that the commit names."""
        return {part.path for part in self.parts}

    def coded(self, flow: Plan) -> dict[str, Any]:
        """Return the commit as JSON."""
        return {
            "format": FORMAT,
            "step": self.step,
            **self.origin.coded(),
            "sources": {source.id: self.marks[source.id].coded(source) for source in flow.sources},
            "state": {key: [state.coded() for state in states] for key, states in self.state.items()},
            "publish": [publication.coded() for publication in self.publish],
            "outputs": dict(self.outputs),
            "flow": dict(self.flow),
            "ended": self.ended,
            "outlets": {sink: outlet.coded() for sink, outlet in self.outlets.items()},
            "aside": dict(self.aside),
        }

    @classmethod
    def decode(cls, flow: Plan, found: Mapping[str, Any]) -> Commit:
        """Return the commit from JSON."""
        return cls(
            found["step"],
            Origin.decode(found),
            # Sources are matched by position, since they may have been renamed.
            {s.id: Marks.decode(s, marks) for s, marks in zip(flow.sources, found["sources"].values(), strict=True)},
            {key: tuple(State.decode(state) for state in states) for key, states in found["state"].items()},
            tuple(map(Publication.decode, found["publish"])),
            found["outputs"],
            found["flow"],
            found["ended"],
            {sink: Outlet.decode(outlet) for sink, outlet in found["outlets"].items()},
            found.get("aside", {}),
            found["number"],
            Token(**found["token"]),
        )


def write_commit(files: Files, flow: Plan, commit: Commit, *, before: int, midway: Callable[[], None]) -> Commit:
    """Write the commit of a step; raise if another run has taken its number in the log.

    ``before`` is the number of the previous commit. Return the commit with the number that it was given.
    """
    number = append(files, commit.number, commit.coded(flow), commit.token, before=before, midway=midway)
    if number is None:
        raise Superseded(
            f"step {commit.step} of flow {flow.name!r} can't be committed: another run has taken over {files.root}",
            hint="let only one run work on a checkpoint",
        )
    return replace(commit, number=number)
