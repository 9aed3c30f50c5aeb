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
from tidegate.flow.plan import Source
from tidegate.time import complete_times

__all__ = ["BehindClock", "ByArrival", "ByTicks", "Heard"]

#: The shortest interval between beats that a strategy needs, in microseconds.
_OFTEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Heard:
    """The last beat that was received, the latest time of the clock, and what a wrapped strategy remembers."""

    beat: Beat | None = None
    latest: int | None = None
    memory: Any = None

    def after(self, beats: Sequence[Beat], *others: int) -> Heard:
        """Return this after more beats, and other readings of the clock."""
        new = [beat for beat in beats if self.beat is None or beat.number > self.beat.number]
        shown = [*([self.latest] if self.latest is not None else []), *(beat.at for beat in new), *others]
        return replace(self, beat=max(new, default=self.beat), latest=max(shown, default=None))

    def coded(self) -> dict[str, Any]:
        """Return this as JSON for a commit."""
        return {"beat": self.beat and [self.beat.number, self.beat.at], "latest": self.latest}

    @classmethod
    def decode(cls, found: Mapping[str, Any]) -> Heard:
        """Return this from a commit."""
        return cls(Beat(*found["beat"]) if found["beat"] else None, found["latest"])


class _Listening(Policy[Heard]):
    """A strategy that receives the beats of the clock."""

    pulse = _OFTEN

    def start(self) -> Heard:
        """Return that no beat was received yet."""
        return Heard()

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:
        """Return the greatest times, and the beats."""
        return replace(counts, greatest=next(map(self.greatest_of, parts), None), lines=tuple(beats))

    def heard(self, memory: Heard | None) -> Beat | None:
        """Return the last beat that was received."""
        return memory.beat if memory else None

    def coded(self, memory: Heard | None) -> dict[str, Any]:
        """Return the time of the clock that is remembered."""
        return {"clock": None if memory is None else memory.coded()}

    def decode(self, found: Mapping[str, Any]) -> Heard | None:
        """Return the time of the clock that is remembered."""
        return Heard.decode(found["clock"]) if found.get("clock") else None


class ByArrival(_Listening):
    """`arrival`: rows of later steps have later times, since they arrive later."""

    def observes(self) -> dict[str, Call]:
        """Return an aggregate for the time that the rows of this step were given."""
        return self.greatest()

    def after(self, memory: Heard | None, frontier: Frontier, seen: Seen) -> tuple[Heard, Frontier]:
        """Make the time of the step complete, and all times that the clock has shown."""
        now = (memory or Heard()).after([Beat.parse(text) for text in seen.lines], *(seen.greatest or ()))
        if now.latest is None:
            return now, frontier
        return now, completed(self.schema, frontier, [time_from(self.schema, [now.latest])])


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

    def coded(self, memory: int | None) -> dict[str, Any]:
        """Return the last tick."""
        return {"tick": memory}

    def decode(self, found: Mapping[str, Any]) -> int | None:
        """Return the last tick."""
        tick: int | None = found.get("tick")
        return tick


class BehindClock(Policy[Heard]):
    """Another strategy, and a bound that stays a fixed distance behind the clock."""

    def __init__(self, source: Source, behind: int, other: Policy[Any]) -> None:
        super().__init__(source)
        self.behind = behind
        self.other = other
        self.idle = other.idle
        self.pulse = min(max(_OFTEN, behind // 4), other.pulse or 60 * _OFTEN)

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

    def start(self) -> Heard:
        """Return that no beat was received yet."""
        return Heard(memory=self.other.start())

    def after(self, memory: Heard | None, frontier: Frontier, seen: Seen) -> tuple[Heard, Frontier]:
        """Move the frontier to that of the other strategy, and to the bound behind the clock."""
        before = memory or self.start()
        remembered, frontier = self.other.after(before.memory, frontier, seen)
        now = replace(before.after([Beat.parse(text) for text in seen.lines]), memory=remembered)
        if now.latest is None:
            return now, frontier
        bound = time_from(self.schema, [now.latest - self.behind])
        return now, completed(self.schema, frontier, complete_times(self.schema.order, [bound]))

    def because(self, memory: Heard | None) -> str:
        """Return the reason of the other strategy."""
        return self.other.because(memory.memory if memory else None)

    def heard(self, memory: Heard | None) -> Beat | None:
        """Return the last beat that was received."""
        found = [memory.beat, self.other.heard(memory.memory)] if memory else []
        return max((beat for beat in found if beat is not None), default=None)

    def coded(self, memory: Heard | None) -> dict[str, Any]:
        """Return the time of the clock, beside what the other strategy remembers."""
        return self.other.coded(memory and memory.memory) | {"clock": None if memory is None else memory.coded()}

    def decode(self, found: Mapping[str, Any]) -> Heard | None:
        """Return the time of the clock, and what the other strategy remembers."""
        heard = Heard.decode(found["clock"]) if found.get("clock") else Heard()
        memory = self.other.decode(found)
        return replace(heard, memory=self.other.start() if memory is None else memory)
