"""Marks: what a source has promised so far, and how many rows it has given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.engine.frontiers import Frontier, frontier_from_json, frontier_to_json, settled, shown, start_of
from tidegate.engine.policies import Seen, policy_of
from tidegate.engine.storage.dataclass_json import from_object, value_from_json
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.flow.schema import Schema
from tidegate.time import Antichain

__all__ = ["CommittedMarks", "Marks", "Seen", "committed_frontier"]

_COUNTS = ("rows", "late", "rejected", "watermarks")


@dataclass(frozen=True, slots=True)
class CommittedMarks:
    """What a commit says of a source, whichever version wrote it. It can be read without the flow."""

    #: As `frontier_to_json` returns it, and as text for people.
    frontier: tuple[Any, ...]
    shown: str
    rows: int
    late: int
    rejected: int
    watermarks: int

    @classmethod
    def of(cls, name: str, found: Mapping[str, Any]) -> CommittedMarks:
        """Return the marks of the source ``name`` from JSON."""
        try:
            return from_object(cls, found)
        except BadCheckpoint as error:
            raise error.at(f"source {name!r}") from None


@dataclass(frozen=True, slots=True)
class Marks:
    """A source's frontier, what its policy remembers, and how many rows of each kind came so far."""

    frontier: Frontier
    memory: Any = None
    rows: int = 0
    late: int = 0
    rejected: int = 0
    watermarks: int = 0

    @classmethod
    def start(cls, source: Source) -> Marks:
        """Return the marks before anything was read."""
        return cls(start_of(source.schema), policy_of(source).start())

    def after(self, source: Source, seen: Seen) -> Marks:
        """Return the marks after the rows of a step. The frontier never goes back."""
        memory, frontier = policy_of(source).after(self.memory, self.frontier, seen)
        counts = {name: getattr(self, name) + getattr(seen, name) for name in _COUNTS}
        return Marks(settled(source.schema, frontier), memory, **counts)

    def ended(self) -> Marks:
        """Return the marks at the end of the input: no more rows can come."""
        return replace(self, frontier=Antichain(self.frontier.order, []))

    def because(self, source: Source) -> str:
        """Return in words what holds the source back beside its rows, as a slow partition does; or an empty text."""
        return policy_of(source).because(self.memory)

    def to_json(self, source: Source) -> dict[str, Any]:
        """Return the marks as JSON for a commit."""
        return {
            "frontier": frontier_to_json(source.schema, self.frontier),
            "shown": shown(source.schema, self.frontier),
            "because": self.because(source),
            "time": source.schema.time_columns,
            **{name: getattr(self, name) for name in _COUNTS},
            **policy_of(source).to_json(self.memory),
        }

    @classmethod
    def from_json(cls, source: Source, found: Mapping[str, Any]) -> Marks:
        """Return the marks from a commit. The source may have another strategy now than it had then."""
        policy = policy_of(source)
        known = CommittedMarks.of(source.id, found)
        try:
            memory = policy.from_json(found)
        except BadCheckpoint as error:
            raise error.at(f"source {source.id!r}") from None
        frontier = committed_frontier(source.id, source.schema, found)
        counts = {name: getattr(known, name) for name in _COUNTS}
        return cls(frontier, policy.start() if memory is None else memory, **counts)


def committed_frontier(name: str, schema: Schema, found: Mapping[str, Any]) -> Frontier:
    """Return the frontier of the source ``name`` from its marks in a commit; raise if it is none of its times."""
    try:
        marks = value_from_json(Mapping[str, Any], found, "the marks")
        elements = value_from_json(tuple[Any, ...], marks.get("frontier"), "the frontier")
        return frontier_from_json(schema, elements)
    except BadCheckpoint as error:
        raise error.at(f"source {name!r}") from None
    except BadInput as error:
        raise BadCheckpoint(error.what, hint=error.hint).at(f"source {name!r}") from None
