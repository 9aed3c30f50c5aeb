"""`bounded`: no row is more than a delay behind the greatest time so far, of all rows or of its partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, shown
from tidegate.engine.partitions import Beat, Partitions, period
from tidegate.engine.policies.policy import LATE, ON_TIME, Policy, Seen, completed, time_from
from tidegate.engine.relation import Call
from tidegate.engine.storage.dataclass_json import value_from_json
from tidegate.flow.plan import Source
from tidegate.flow.spans import from_units, within
from tidegate.flow.sqltypes import quoted
from tidegate.flow.watermarks import Bounded
from tidegate.time import Antichain, Inl, Inr, complete_times

__all__ = ["ByPartition", "Delayed", "OnSides"]

#: The greatest value of each time column, in units.
Greatest = tuple[int, ...]


class Delayed(Policy[Greatest]):
    """One bound for all rows. The greatest times are remembered and not the bound, since delays may change."""

    def __init__(self, source: Source, bounded: Bounded) -> None:
        super().__init__(source)
        self.delays = bounded.delays
        #: The type of what is remembered.
        self._memory: Any = _times_of(source) | None

    def observes(self) -> dict[str, Call]:
        """Return aggregates for the greatest times."""
        return self.greatest()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the greatest times."""
        return replace(counts, greatest=next(map(self.greatest_of, parts), None))

    def after(self, memory: Greatest | None, frontier: Frontier, seen: Seen) -> tuple[Greatest | None, Frontier]:
        """Move the frontier to the greatest times less the delays."""
        if seen.greatest is not None:
            memory = seen.greatest if memory is None else tuple(map(max, memory, seen.greatest))
        if memory is None:
            return None, frontier
        bound = time_from(self.schema, _less(memory, self.delays))
        return memory, completed(self.schema, frontier, complete_times(self.schema.order, [bound]))

    def to_json(self, memory: Greatest | None) -> dict[str, Any]:
        """Return the greatest times."""
        return {"greatest": None if memory is None else list(memory)}

    def from_json(self, found: Mapping[str, Any]) -> Greatest | None:
        """Return the greatest times."""
        greatest: Greatest | None = value_from_json(self._memory, found.get("greatest"), "the greatest times")
        return greatest


class OnSides(Delayed):
    """A bound for each side of a sum of orders. The rows of one side move only the bound of that side."""

    def __init__(self, source: Source, bounded: Bounded) -> None:
        super().__init__(source, bounded)
        self._memory = tuple[int | None, int | None] | None

    def observes(self) -> dict[str, Call]:
        """Return aggregates for the greatest value of each side."""
        timed, side = f"__kind IN ({ON_TIME}, {LATE})", quoted(self.schema.time[0])
        return {
            f"greatest{i}": call("max", f"IF({timed} AND {side} = {i}, {unit}, NULL)")
            for i, unit in enumerate(self.units[2:])
        }

    def greatest_of(self, part: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the greatest value of each side; None for a side without rows."""
        return part.get("greatest0"), part.get("greatest1")

    def after(self, memory: Greatest | None, frontier: Frontier, seen: Seen) -> tuple[Greatest | None, Frontier]:
        """Move each side to its greatest time less its delay."""
        sides = zip(seen.greatest or (None, None), memory or (None, None), strict=True)
        # A side that had no rows yet has no greatest time.
        found = tuple(max((n for n in side if n is not None), default=None) for side in sides)
        at = self.schema.coordinates
        assert at is not None
        done = []
        for kind, greatest, delay, type_ in zip((Inl, Inr), found, self.delays, at.given.sides, strict=True):
            # All times before the bound are complete, if the type has a time before it.
            if greatest is not None and within(last := greatest - delay - 1, type_) == last:
                done.append(at.encode(kind(from_units(last, type_))))
        kept = cast("Greatest", found)
        return kept, completed(self.schema, frontier, done) if done else frontier


class ByPartition(Policy[Partitions]):
    """A bound for each value of a column. The slowest partition that is not silent holds the frontier back."""

    def __init__(self, source: Source, bounded: Bounded, by: str) -> None:
        super().__init__(source)
        self.delays = bounded.delays
        self.by = source.schema[by]
        self.idle = bounded.idle
        self.clock_period = None if self.idle is None else max(1_000_000, period(self.idle))

    def apart(self) -> tuple[str, str]:
        """Return the column that tells partitions apart."""
        return quoted(self.by.name), self.by.type or ""

    def observes(self) -> dict[str, Call]:
        """Return aggregates for the greatest times of each partition."""
        return self.greatest()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:
        """Return the greatest times of each partition, and the beats of the clock."""
        greatest = tuple((part["part"], self.greatest_of(part)) for part in parts)
        return replace(counts, partitions=greatest, lines=() if self.idle is None else tuple(beats))

    def start(self) -> Partitions:
        """Return that no partition is known yet."""
        return Partitions()

    def after(self, memory: Partitions | None, frontier: Frontier, seen: Seen) -> tuple[Partitions, Frontier]:
        """Move the frontier to the bound of the slowest partition."""
        schema, order = self.schema, self.schema.order
        beats = [Beat.parse(text) for text in seen.lines]
        partitions = (memory or Partitions()).after(dict(seen.partitions), beats, self.idle)
        bounds = [time_from(schema, bound) for bound in partitions.bounds(self.delays, self.idle)]
        if not bounds:
            return partitions, frontier
        frontier = completed(schema, frontier, complete_times(order, Antichain.minimal(order, bounds)))
        # A silent partition behind the frontier can't move it, so it can be forgotten.
        silent = set(partitions.members) - set(partitions.active(self.idle))
        behind = [
            member
            for member in silent
            if all(order.le(time_from(schema, _less(member.greatest, self.delays)), f) for f in frontier)
        ]
        return partitions.without(behind), frontier

    def last_beat(self, memory: Partitions | None) -> Beat | None:
        """Return the last beat that was received."""
        return memory.beat if memory else None

    def because(self, memory: Partitions | None) -> str:
        """Return in words which partition is the slowest."""
        slowest = memory.slowest(self.idle) if memory else None
        if memory is None or slowest is None or len(memory.members) < 2:
            return ""
        at = shown(self.schema, [time_from(self.schema, slowest.greatest)])
        return f"{self.by.name} {'NULL' if slowest.value is None else slowest.value} is behind the others, at {at}"

    def to_json(self, memory: Partitions | None) -> dict[str, Any]:
        """Return the partitions."""
        return {"partitions": None if memory is None else memory.to_json(self.by.name)}

    def from_json(self, found: Mapping[str, Any]) -> Partitions | None:
        """Return the partitions."""
        if found.get("partitions") is None:
            return None
        partitions = Partitions.from_json(found["partitions"], self.by)
        for member in partitions.members:
            value_from_json(_times_of(self.source), list(member.greatest), f"the greatest times of {member.value}")
        return partitions


def _times_of(source: Source) -> Any:
    """Return the type of a tuple with a number of units for each time column."""
    return tuple[(int,) * len(source.schema.time)]  # type: ignore[misc]


def _less(greatest: Sequence[int], delays: Sequence[int]) -> Greatest:
    return tuple(g - d for g, d in zip(greatest, delays, strict=True))
