"""Commits: one file for each step that says all there is to know to go on after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tidegate.flow.plan import Plan
from tidegate.spark.streaming.errors import BadCheckpoint, Superseded
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.marks import Marks
from tidegate.spark.streaming.published import Outlet
from tidegate.spark.streaming.state import State

__all__ = ["Commit", "Publication", "last_commit", "last_step", "write_commit"]

_KEPT = 100


@dataclass(frozen=True, slots=True)
class Publication:
    """A directory that becomes visible after the commit: moved to ``name``, or handed to the sink's function."""

    root: str
    staged: str
    name: str
    #: The sink whose function is called; empty if the directory is moved.
    call: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a step did. ``batch`` is Spark's number for its rows, None for the end of the input."""

    step: int
    batch: int | None
    #: Spark's id of the query, and a hash of where this batch begins and ends in the sources.
    query: str
    offsets: str
    marks: Mapping[str, Marks]
    state: Mapping[str, tuple[State, ...]]
    publish: tuple[Publication, ...]
    outputs: Mapping[str, int]
    #: What the state belongs to: sources in order, and operators with state, by their fingerprints.
    flow: Mapping[str, Any]
    ended: bool = False
    #: What is in the directories of sinks, and promised there.
    outlets: Mapping[str, Outlet] = field(default_factory=dict)

    @property
    def paths(self) -> set[str]:
        """The directories of state that it names."""
        return {part.path for states in self.state.values() for state in states for part in state.parts}

    def coded(self, flow: Plan) -> dict[str, Any]:
        """Answer the commit as JSON has it."""
        return {
            "format": 1,
            "step": self.step,
            "batch": self.batch,
            "query": self.query,
            "offsets": self.offsets,
            "sources": {source.id: self.marks[source.id].coded(source) for source in flow.sources},
            "state": {key: [state.coded() for state in states] for key, states in self.state.items()},
            "publish": [asdict(publication) for publication in self.publish],
            "outputs": dict(self.outputs),
            "flow": dict(self.flow),
            "ended": self.ended,
            "outlets": {sink: outlet.coded() for sink, outlet in self.outlets.items()},
        }

    @classmethod
    def decode(cls, flow: Plan, found: Mapping[str, Any]) -> Commit:
        """Answer the commit that JSON has."""
        return cls(
            found["step"],
            found["batch"],
            found["query"],
            found["offsets"],
            # By position: a source may have another name now.
            {s.id: Marks.decode(s, marks) for s, marks in zip(flow.sources, found["sources"].values(), strict=True)},
            {key: tuple(State.decode(state) for state in states) for key, states in found["state"].items()},
            tuple(Publication(**publication) for publication in found["publish"]),
            found["outputs"],
            found["flow"],
            found["ended"],
            {sink: Outlet.decode(outlet) for sink, outlet in found["outlets"].items()},
        )


def last_step(files: Files) -> int | None:
    """Answer the number of the last commit, or None."""
    return max((int(name) for name in files.names("commits") if name.isdigit()), default=None)


def last_commit(files: Files) -> dict[str, Any] | None:
    """Answer the last commit as it is in its file, or None."""
    step = last_step(files)
    if step is None:
        return None
    try:
        found: dict[str, Any] = files.read(f"commits/{step}")
        if found["step"] != step or found["format"] != 1:
            raise ValueError(f"it says step {found['step']}, format {found['format']}")
    except (ValueError, KeyError, TypeError) as error:
        raise BadCheckpoint(
            f"expected a commit in {files.path(f'commits/{step}')}, got something that can't be read: {error}",
            hint="the file was cut short or changed; restore it from a copy, or begin with a new checkpoint and output",
        ) from None
    return found


def write_commit(files: Files, flow: Plan, commit: Commit, midway: Callable[[], None]) -> None:
    """Write the commit of a step, once and for all; raise if another run was first."""
    if not files.create(f"commits/{commit.step}", commit.coded(flow), midway):
        raise Superseded(
            f"step {commit.step} of flow {flow.name!r} was committed by another run",
            hint="let only one run work on a checkpoint",
        )
    old = commit.step - _KEPT
    if old >= 0:
        files.delete(f"commits/{old}")
