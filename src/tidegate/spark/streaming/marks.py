"""Marks: what a source has promised so far, and how that follows from the rows that were seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow.plan import Source
from tidegate.flow.spans import from_units
from tidegate.flow.watermarks import Bounded, Published
from tidegate.spark.streaming.frontiers import Frontier, decoded, encoded, shown, start_of
from tidegate.spark.streaming.published import Following, Promise
from tidegate.time import TOP, Antichain, complete_times, frontier_times, maximal

__all__ = ["Marks", "Seen"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one pass over the new rows of a source saw; times are tuples of units."""

    rows: int = 0
    late: int = 0
    rejected: int = 0
    watermarks: int = 0
    #: The greatest value of each time column.
    greatest: tuple[int, ...] | None = None
    #: Watermarks; None stands for every value.
    marks: tuple[tuple[int | None, ...], ...] = ()
    #: How many rows there were of each step of another flow, and the lines that it published.
    steps: tuple[tuple[int, int], ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """A source's frontier, the greatest times that it follows from, and how many rows of each kind came so far."""

    frontier: Frontier
    greatest: tuple[int, ...] | None = None
    rows: int = 0
    late: int = 0
    rejected: int = 0
    watermarks: int = 0
    following: Following | None = None

    @classmethod
    def start(cls, source: Source) -> Marks:
        """Answer the marks before anything was read."""
        return cls(start_of(source.schema))

    def after(self, source: Source, seen: Seen) -> Marks:
        """Answer the marks after a step has taken its rows. A frontier never goes back."""
        greatest = self.greatest
        if seen.greatest is not None:
            greatest = seen.greatest if greatest is None else tuple(map(max, greatest, seen.greatest))
        following, promise = self.following, None
        if isinstance(source.watermark, Published):
            told = [Promise.parse(text) for text in seen.told]
            following, promise = (following or Following()).after(dict(seen.steps), told)
        return Marks(
            _moved(source, self.frontier, greatest, seen, promise),
            greatest,
            self.rows + seen.rows,
            self.late + seen.late,
            self.rejected + seen.rejected,
            self.watermarks + seen.watermarks,
            following,
        )

    def ended(self) -> Marks:
        """Answer the marks at the end of the input: nothing may appear any more."""
        return replace(self, frontier=Antichain(self.frontier.order, []))

    def coded(self, source: Source) -> dict[str, Any]:
        """Answer the marks for a commit."""
        return {
            "frontier": encoded(source.schema, self.frontier),
            "shown": shown(source.schema, self.frontier),
            "time": [[column.name, column.type] for column in source.schema.times],
            "greatest": None if self.greatest is None else list(self.greatest),
            "rows": self.rows,
            "late": self.late,
            "rejected": self.rejected,
            "watermarks": self.watermarks,
            "following": None if self.following is None else self.following.coded(),
        }

    @classmethod
    def decode(cls, source: Source, found: dict[str, Any]) -> Marks:
        """Answer the marks that a commit holds."""
        greatest = found["greatest"]
        return cls(
            decoded(source.schema, found["frontier"]),
            None if greatest is None else tuple(greatest),
            **{name: found[name] for name in ("rows", "late", "rejected", "watermarks")},
            following=None if found["following"] is None else Following.decode(found["following"]),
        )


def _moved(
    source: Source, frontier: Frontier, greatest: tuple[int, ...] | None, seen: Seen, promise: Promise | None = None
) -> Frontier:
    schema = source.schema
    types = [c.type or "" for c in schema.times]
    single = len(types) == 1
    done: list[Any] = []
    if isinstance(source.watermark, Bounded) and greatest is not None:
        delays = source.watermark.delays
        bound = tuple(from_units(g - d, t) for g, d, t in zip(greatest, delays, types, strict=True))
        done = list(complete_times(schema.order, [bound[0] if single else bound]))
    for mark in seen.marks:
        parts = tuple(TOP if m is None else from_units(m, t) for m, t in zip(mark, types, strict=True))
        done.append(parts[0] if single else parts)
    if promise is not None:
        done += complete_times(schema.order, decoded(schema, promise.frontier))
    if not done:
        return frontier
    return frontier_times(schema.order, maximal(schema.order, [*complete_times(schema.order, frontier), *done]))
