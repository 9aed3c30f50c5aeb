"""Marks: what a source has promised so far, and how that follows from the rows that were seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow.plan import Source
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, within
from tidegate.flow.watermarks import Bounded, Published
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.frontiers import Frontier, decoded, encoded, parts_of, shown, start_of
from tidegate.spark.streaming.partitions import Beat, Partitions
from tidegate.spark.streaming.published import Following, Promise
from tidegate.time import TOP, Antichain, complete_times, frontier_times, maximal

__all__ = ["Marks", "Seen"]


#: Beyond all times of all types, in units.
_BEYOND = 2**70


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
    #: The greatest value of each time column, by partition; None if its rows had no time.
    partitions: tuple[tuple[str | None, tuple[int, ...] | None], ...] = ()
    #: How many rows there were of each step of another flow; and the lines that it published, or the clock's.
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
    partitions: Partitions | None = None

    @classmethod
    def start(cls, source: Source) -> Marks:
        """Answer the marks before anything was read."""
        return cls(start_of(source.schema))

    def after(self, source: Source, seen: Seen) -> Marks:
        """Answer the marks after a step has taken its rows. A frontier never goes back."""
        greatest = self.greatest
        if seen.greatest is not None:
            greatest = seen.greatest if greatest is None else tuple(map(max, greatest, seen.greatest))
        moved = replace(
            self,
            greatest=greatest,
            rows=self.rows + seen.rows,
            late=self.late + seen.late,
            rejected=self.rejected + seen.rejected,
            watermarks=self.watermarks + seen.watermarks,
        )
        match source.watermark:
            case Published():
                return moved._followed(source, seen)
            case Bounded(by=str()) as bounded:
                return moved._by_partition(source, bounded, seen)
        return replace(moved, frontier=_moved(source, self.frontier, greatest, seen))

    def _followed(self, source: Source, seen: Seen) -> Marks:
        promises = [Promise.parse(text) for text in seen.told]
        following, promise = (self.following or Following()).after(dict(seen.steps), promises)
        frontier = self.frontier
        if promise is not None:
            schema = source.schema
            frontier = _joined(schema, frontier, complete_times(schema.order, decoded(schema, promise.frontier)))
        return replace(self, following=following, frontier=frontier)

    def _by_partition(self, source: Source, bounded: Bounded, seen: Seen) -> Marks:
        schema, idle = source.schema, bounded.idle
        beats = [Beat.parse(text) for text in seen.told]
        partitions = (self.partitions or Partitions()).after(dict(seen.partitions), beats, idle)
        bounds = [_time(schema, bound) for bound in partitions.bounds(bounded.delays, idle)]
        if not bounds:
            return replace(self, partitions=partitions)
        least = Antichain.minimal(schema.order, bounds)
        frontier = _joined(schema, self.frontier, complete_times(schema.order, least))
        # A silent partition that is behind the frontier has nothing to add, whether it is remembered or not.
        silent = set(partitions.members) - set(partitions.active(idle))
        behind = [
            member
            for member in silent
            if all(schema.order.le(_time(schema, _less(member.greatest, bounded.delays)), f) for f in frontier)
        ]
        return replace(self, partitions=partitions.without(behind), frontier=frontier)

    def ended(self) -> Marks:
        """Answer the marks at the end of the input: nothing may appear any more."""
        return replace(self, frontier=Antichain(self.frontier.order, []))

    def because(self, source: Source) -> str:
        """Answer what beside its rows holds a source back, for a reader; nothing if nothing does."""
        if self.following is not None and self.following.waiting:
            step, rows = self.following.missing
            return f"the frontier that step {step} of the other flow published waits for {rows} rows"
        if self.partitions is not None and isinstance(source.watermark, Bounded):
            slowest = self.partitions.slowest(source.watermark.idle)
            at = "" if slowest is None else shown(source.schema, [_time(source.schema, slowest.greatest)])
            if slowest is not None and len(self.partitions.members) > 1:
                value = "NULL" if slowest.value is None else slowest.value
                return f"{source.watermark.by} {value} is behind the others, at {at}"
        return ""

    def coded(self, source: Source) -> dict[str, Any]:
        """Answer the marks for a commit."""
        return {
            "frontier": encoded(source.schema, self.frontier),
            "shown": shown(source.schema, self.frontier),
            "because": self.because(source),
            "time": [[column.name, column.type] for column in source.schema.times],
            "greatest": None if self.greatest is None else list(self.greatest),
            "rows": self.rows,
            "late": self.late,
            "rejected": self.rejected,
            "watermarks": self.watermarks,
            "following": None if self.following is None else self.following.coded(),
            "partitions": None if self.partitions is None else self.partitions.coded(_by(source)),
        }

    @classmethod
    def decode(cls, source: Source, found: dict[str, Any]) -> Marks:
        """Answer the marks that a commit holds."""
        greatest, partitions = found["greatest"], None
        if found["partitions"] is not None and _by(source):
            try:
                partitions = Partitions.decode(found["partitions"], source.schema[_by(source)])
            except BadCheckpoint as error:
                raise error.at(f"source {source.id!r}") from None
        return cls(
            decoded(source.schema, found["frontier"]),
            None if greatest is None else tuple(greatest),
            **{name: found[name] for name in ("rows", "late", "rejected", "watermarks")},
            following=None if found["following"] is None else Following.decode(found["following"]),
            partitions=partitions,
        )


def _by(source: Source) -> str:
    """Return the column that a source has partitions by; empty if it has none."""
    return (source.watermark.by or "") if isinstance(source.watermark, Bounded) else ""


def _moved(source: Source, frontier: Frontier, greatest: tuple[int, ...] | None, seen: Seen) -> Frontier:
    schema = source.schema
    done: list[Any] = []
    if isinstance(source.watermark, Bounded) and greatest is not None:
        done = list(complete_times(schema.order, [_time(schema, _less(greatest, source.watermark.delays))]))
    # A watermark before the first time that there is completes nothing; one after the last completes everything.
    first = [within(-_BEYOND, c.type or "") for c in schema.times]
    marks = [m for m in seen.marks if all(p is None or p >= least for p, least in zip(m, first, strict=True))]
    done += [_time(schema, mark) for mark in marks]
    return _joined(schema, frontier, done) if done else frontier


def _joined(schema: Schema, frontier: Frontier, done: Iterable[Any]) -> Frontier:
    """Answer the frontier with more times complete; what was complete stays so."""
    found = frontier_times(schema.order, maximal(schema.order, [*complete_times(schema.order, frontier), *done]))
    # After the last time that a column can have, nothing comes.
    return Antichain(schema.order, [t for t in found if not any(part is TOP for part in parts_of(schema, t))])


def _less(greatest: Sequence[int], delays: Sequence[int]) -> tuple[int, ...]:
    return tuple(g - d for g, d in zip(greatest, delays, strict=True))


def _time(schema: Schema, parts: Sequence[int | None]) -> Any:
    """Answer a time from units; None stands for every value."""
    types = [c.type or "" for c in schema.times]
    found = tuple(TOP if p is None else from_units(within(p, t), t) for p, t in zip(parts, types, strict=True))
    return found[0] if len(found) == 1 else found
