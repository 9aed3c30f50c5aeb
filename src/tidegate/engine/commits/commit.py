"""Commits: one file for each step, with everything that is needed to continue after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.engine.marks import Marks
from tidegate.engine.storage.dataclass_json import as_object, from_object, not_as_written, value_from_json
from tidegate.engine.storage.errors import Superseded
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import FORMAT, NOBODY, Token, append
from tidegate.engine.storage.manifest import FileEntry
from tidegate.engine.storage.published import Outlet
from tidegate.engine.storage.state import Part, State
from tidegate.flow.plan import Plan

__all__ = ["Commit", "Origin", "Publication", "origin_in", "publications_in", "states_in", "write_commit"]


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


@dataclass(frozen=True, slots=True)
class _Position:
    """How far the local engine has read a source: what kind of source it is, and the position in its terms."""

    kind: str
    at: Mapping[str, Any] | None


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

    def to_json(self, flow: Plan) -> dict[str, Any]:
        """Return the commit as JSON."""
        return {
            "format": FORMAT,
            "step": self.step,
            **as_object(self.origin),
            "sources": {source.id: self.marks[source.id].to_json(source) for source in flow.sources},
            "state": {key: [state.to_json() for state in states] for key, states in self.state.items()},
            "publish": [as_object(publication) for publication in self.publish],
            "outputs": dict(self.outputs),
            "flow": dict(self.flow),
            "ended": self.ended,
            "outlets": {sink: as_object(outlet) for sink, outlet in self.outlets.items()},
            "aside": dict(self.aside),
        }

    @classmethod
    def from_json(cls, flow: Plan, found: Mapping[str, Any]) -> Commit:
        """Return the commit from JSON."""
        return cls(
            found["step"],
            origin_in(found),
            _marks_in(flow, found),
            states_in(found),
            publications_in(found),
            value_from_json(Mapping[str, int], found["outputs"], "the rows of each sink"),
            found["flow"],
            found["ended"],
            {sink: from_object(Outlet, outlet) for sink, outlet in found["outlets"].items()},
            value_from_json(Mapping[str, int], found.get("aside", {}), "the rows that were set aside"),
            found["number"],
            from_object(Token, found["token"]),
        )


def origin_in(commit: Mapping[str, Any]) -> Origin:
    """Return the origin from the JSON of a commit. Those of earlier formats were all made on Spark."""
    earlier = {"engine": "spark", "positions": {}} if commit["format"] < 3 else {}
    origin = from_object(Origin, earlier | dict(commit))
    for position in origin.positions.values():
        from_object(_Position, position)
    return origin


def publications_in(commit: Mapping[str, Any]) -> tuple[Publication, ...]:
    """Return the publications from the JSON of a commit. Those of the first format do not list their files."""
    earlier: dict[str, Any] = {"files": []} if commit["format"] == 1 else {}
    found = value_from_json(tuple[Mapping[str, Any], ...], commit["publish"], "the publications")
    return tuple(from_object(Publication, earlier | publication) for publication in found)


def states_in(commit: Mapping[str, Any]) -> dict[str, tuple[State, ...]]:
    """Return the states from the JSON of a commit.

    A state that is missing would be taken for one without rows, so those of all operators must be there. After the end
    of the input there are none.
    """
    found = value_from_json(Mapping[str, tuple[Any, ...]], commit["state"], "the states")
    named = value_from_json(Mapping[str, Any], commit["flow"].get("state", {}), "the operators with state")
    missing = [str(text) for key, text in named.items() if key not in found]
    if missing and not commit["ended"]:
        there = [str(named.get(key, key)) for key in found]
        raise not_as_written(f"the state of {', '.join(missing)}", there, "only ")
    return {key: tuple(map(State.from_json, states)) for key, states in found.items()}


def _marks_in(flow: Plan, commit: Mapping[str, Any]) -> dict[str, Marks]:
    """Return the marks by source. Sources are matched by position, since they may have been renamed."""
    sources, found = flow.sources, commit["sources"]
    if len(sources) != len(found):
        raise not_as_written(f"{len(sources)} sources", list(found))
    return {s.id: Marks.from_json(s, marks) for s, marks in zip(sources, found.values(), strict=True)}


def write_commit(files: Files, flow: Plan, commit: Commit, *, before: int, midway: Callable[[], None]) -> Commit:
    """Write the commit of a step; raise if another run has taken its number in the log.

    ``before`` is the number of the previous commit. Return the commit with the number that it was given.
    """
    number = append(files, commit.number, commit.to_json(flow), commit.token, before=before, midway=midway)
    if number is None:
        raise Superseded(
            f"step {commit.step} of flow {flow.name!r} can't be committed: another run has taken over {files.root}",
            hint="let only one run work on a checkpoint",
        )
    return replace(commit, number=number)
