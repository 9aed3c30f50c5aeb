"""Strategies by the clock: rows timed by their arrival, ticks, and bounds that move without rows.

A time of the clock comes into a step as a beat, or is read when the step begins. It is written to the commit of that
step, so that a restarted run continues from the same time. Time never goes back: if the machine's clock is set back, it
stands still until the clock has caught up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.engine.frontiers import Frontier
from tidegate.engine.partitions import Beat
from tidegate.engine.policies.policy import Policy, Seen, completed, time_from
from tidegate.engine.relation import Call
from tidegate.engine.storage.dataclass_json import as_object, from_object, value_from_json
from tidegate.flow.plan import Source
from tidegate.time import complete_times

__all__ = ["BehindClock", "ByArrival", "ByTicks", "ClockReading"]

#: The shortest interval between beats that a strategy needs, in microseconds.
_OFTEN = 1_000_000


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What a source knows of the clock: the last beat that it received, and the latest time that the clock showed."""

    beat: Beat | None = None
    latest: int | None = None

    def after(self, beats: Sequence[Beat], *others: int) -> ClockReading:
        """Return the reading after more beats, and after other times that the clock showed."""
        new = [beat for beat in beats if self.beat is None or beat.number > self.beat.number]
        shown = [*([self.latest] if self.latest is not None else []), *(beat.at for beat in new), *others]
        return ClockReading(max(new, default=self.beat), max(shown, default=None))


class ByArrival(Policy[ClockReading]):
    """`arrival`: rows of later steps have later times, since they arrive later."""

    clock_period = _OFTEN

    def observes(self) -> dict[str, Call]:
        """Return an aggregate for the arrival time of the rows of this step."""
        return self.greatest()

    def start(self) -> ClockReading:
        """Return that no beat was received yet."""
        return ClockReading()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:
        """Return the greatest times, and the beats."""
        return replace(counts, greatest=next(map(self.greatest_of, parts), None), lines=tuple(beats))

    def after(self, memory: ClockReading | None, frontier: Frontier, seen: Seen) -> tuple[ClockReading, Frontier]:
        """Make the time of the step complete, and all times that the clock has shown."""
        now = (memory or ClockReading()).after([Beat.parse(text) for text in seen.lines], *(seen.greatest or ()))
        if now.latest is None:
            return now, frontier
        return now, completed(self.schema, frontier, [time_from(self.schema, [now.latest])])

    def last_beat(self, memory: ClockReading | None) -> Beat | None:
        """Return the last beat that was received."""
        return memory.beat if memory else None

    def to_json(self, memory: ClockReading | None) -> dict[str, Any]:
        """Return the reading of the clock."""
        return {"clock": None if memory is None else as_object(memory)}

    def from_json(self, found: Mapping[str, Any]) -> ClockReading | None:
        """Return the reading of the clock."""
        return from_object(ClockReading, found["clock"]) if found.get("clock") is not None else None


class ByTicks(Policy[int]):
    """`clock`: a tick makes its own time complete. The last tick is remembered."""

    def observes(self) -> dict[str, Call]:
        """Return an aggregate for the greatest tick."""
        return self.greatest()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return the greatest tick."""
        return replace(counts, greatest=next(map(self.greatest_of, parts), None))

    def after(self, memory: int | None, frontier: Frontier, seen: Seen) -> tuple[int | None, Frontier]:
        """Make the times of the ticks complete."""
        if seen.greatest is None:
            return memory, frontier
        (tick,) = seen.greatest
        latest = tick if memory is None else max(memory, tick)
        return latest, completed(self.schema, frontier, [time_from(self.schema, [latest])])

    def to_json(self, memory: int | None) -> dict[str, Any]:
        """Return the last tick."""
        return {"tick": memory}

    def from_json(self, found: Mapping[str, Any]) -> int | None:
        """Return the last tick."""
        tick: int | None = value_from_json(int | None, found.get("tick"), "the last tick")
        return tick


@dataclass(frozen=True, slots=True)
class _WithClock:
    """What `BehindClock` remembers: the reading of the clock, and what the other strategy remembers."""

    clock: ClockReading
    other: Any


class BehindClock(Policy[_WithClock]):
    """Another strategy, and a bound that stays a fixed distance behind the clock."""

    def __init__(self, source: Source, behind: int, other: Policy[Any]) -> None:
        super().__init__(source)
        self.behind = behind
        self.other = other
        self.idle = other.idle
        self.clock_period = min(max(_OFTEN, behind // 4), other.clock_period or 60 * _OFTEN)

    def kinds(self) -> list[tuple[str, int]]:
        """Return the same as the other strategy."""
        return self.other.kinds()

    def apart(self) -> tuple[str, str] | None:
        """Return the same as the other strategy."""
        return self.other.apart()

    def observes(self) -> dict[str, Call]:
        """Return the same as the other strategy."""
        return self.other.observes()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:
        """Return what the other strategy finds, and the beats."""
        return replace(self.other.seen(counts, parts, beats), lines=tuple(beats))

    def start(self) -> _WithClock:
        """Return that no beat was received yet."""
        return _WithClock(ClockReading(), self.other.start())

    def after(self, memory: _WithClock | None, frontier: Frontier, seen: Seen) -> tuple[_WithClock, Frontier]:
        """Move the frontier to that of the other strategy, and to the bound behind the clock."""
        before = memory or self.start()
        other, frontier = self.other.after(before.other, frontier, seen)
        clock = before.clock.after([Beat.parse(text) for text in seen.lines])
        now = _WithClock(clock, other)
        if clock.latest is None:
            return now, frontier
        bound = time_from(self.schema, [clock.latest - self.behind])
        return now, completed(self.schema, frontier, complete_times(self.schema.order, [bound]))

    def because(self, memory: _WithClock | None) -> str:
        """Return the reason of the other strategy."""
        return self.other.because(memory.other if memory else None)

    def last_beat(self, memory: _WithClock | None) -> Beat | None:
        """Return the last beat that was received."""
        found = [memory.clock.beat, self.other.last_beat(memory.other)] if memory else []
        return max((beat for beat in found if beat is not None), default=None)

    def to_json(self, memory: _WithClock | None) -> dict[str, Any]:
        """Return what the other strategy remembers, and the reading of the clock."""
        clock = None if memory is None else as_object(memory.clock)
        return self.other.to_json(memory and memory.other) | {"clock": clock}

    def from_json(self, found: Mapping[str, Any]) -> _WithClock:
        """Return the reading of the clock, and what the other strategy remembers."""
        clock = from_object(ClockReading, found["clock"]) if found.get("clock") is not None else ClockReading()
        other = self.other.from_json(found)
        return _WithClock(clock, self.other.start() if other is None else other)
