"""Watermarks by partition: a bound for each value of a column, and a clock by which silent partitions are released.

Beats of the clock come in as rows of the query, so that a replay decides the same. They measure the time that passes
while a run is active. The absolute time of the clock is not used, only the distance from one beat to the next, and that
is limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.engine.keys import is_unambiguous
from tidegate.engine.storage.dataclass_json import as_object, from_object, value_from_json
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.sealed import sealed_line, unsealed
from tidegate.flow.schema import Column

__all__ = ["UNREADABLE_BEAT", "Beat", "Partition", "Partitions", "period"]

#: The hint for a beat that can't be read.
UNREADABLE_BEAT = (
    "restore the file, or empty it: without the beat, silent partitions are released later, and nothing else changes"
)


def period(idle: int) -> int:
    """Return the time between beats, for partitions that are released after ``idle`` without rows."""
    return max(idle // 4, 1)


@dataclass(frozen=True, slots=True, order=True)
class Beat:
    """A beat: the time of the clock.

    Beats are numbered, since the clock may jump. ``at`` is microseconds since the epoch.
    """

    number: int
    at: int

    @classmethod
    def parse(cls, text: str) -> Beat:
        """Return the beat from a line of JSON. Those of earlier versions have no checksum."""
        try:
            found = unsealed(text, required=False)
            return from_object(cls, {"number": found.get("beat"), "at": found.get("at")})
        except ValueError:
            raise BadCheckpoint(
                f"expected a beat of the clock in a file in clock of the checkpoint, got {text!r}",
                hint=UNREADABLE_BEAT,
            ) from None

    @property
    def line(self) -> str:
        """The beat as a line of JSON."""
        return sealed_line({"beat": self.number, "at": self.at})


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its value as `key_text`, its greatest times in units, and the time passed until its last rows."""

    value: str | None
    greatest: tuple[int, ...]
    last_seen: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """The known partitions of a source, the last beat of the clock, and how much time has passed.

    >>> delays = (10,)
    >>> found = Partitions().after({"a": (100,), "b": (50,)}, [Beat(0, 0)], idle=40)
    >>> found.bounds(delays, idle=40)
    [(90,), (40,)]
    >>> for n in range(1, 6):
    ...     found = found.after({"a": (100 + n,)}, [Beat(n, 10 * n)], idle=40)
    >>> found.elapsed, found.bounds(delays, idle=40)
    (50, [(95,)])
    """

    members: tuple[Partition, ...] = ()
    beat: Beat | None = None
    elapsed: int = 0

    def after(
        self, seen: Mapping[str | None, tuple[int, ...] | None], beats: Iterable[Beat], idle: int | None
    ) -> Partitions:
        """Return the partitions after a step, from the greatest times that it found by partition, and its beats."""
        elapsed, beat = self.elapsed, self.beat
        if idle is not None:
            passed = 0
            for new in sorted(beats):
                if beat is None or new.number > beat.number:
                    passed += max(0, new.at - beat.at) if beat else 0
                    beat = new
            # A clock that jumps ahead, a run that was down or a long step must not count as silence of a partition.
            elapsed += min(passed, max(idle // 2, 1))
        members = {member.value: member for member in self.members}
        for value, greatest in seen.items():
            known = members.get(value)
            if known is not None:
                most = known.greatest if greatest is None else tuple(map(max, known.greatest, greatest))
                members[value] = Partition(value, most, elapsed)
            elif greatest is not None:
                members[value] = Partition(value, greatest, elapsed)
        return Partitions(tuple(members.values()), beat, elapsed)

    def active(self, idle: int | None) -> tuple[Partition, ...]:
        """Return the partitions that were not silent for ``idle``.

        One beat is added, as times are only known to within a beat.
        """
        if idle is None:
            return self.members
        return tuple(member for member in self.members if self.elapsed - member.last_seen < idle + period(idle))

    def bounds(self, delays: tuple[int, ...], idle: int | None) -> list[tuple[int, ...]]:
        """Return the least times that may still come, by partition, in units.

        If all partitions are silent, none of them holds back the others, and the greatest bound counts.
        """
        active = self.active(idle)
        bounds = [tuple(g - d for g, d in zip(m.greatest, delays, strict=True)) for m in active or self.members]
        if active or not bounds:
            return bounds
        return [tuple(map(max, *bounds)) if len(bounds) > 1 else bounds[0]]

    def slowest(self, idle: int | None) -> Partition | None:
        """Return the slowest partition that is not silent, by the first time column; None if all are silent."""
        return min(self.active(idle), key=lambda member: (member.greatest, str(member.value)), default=None)

    def without(self, forgotten: Iterable[Partition]) -> Partitions:
        """Return the partitions without some of them."""
        gone = set(forgotten)
        return replace(self, members=tuple(member for member in self.members if member not in gone))

    def to_json(self, by: str) -> dict[str, Any]:
        """Return the partitions as JSON for a commit; ``by`` is the name of their column."""
        return {"by": by} | as_object(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any], by: Column) -> Partitions:
        """Return the partitions from a commit, or none if they are values of another column than ``by``.

        An earlier version did not write the column, and wrote values as Spark casts them to STRING. Those are used if
        no two values can have the same text.
        """
        partitions = from_object(cls, found)
        column = value_from_json(str, found.get("by", by.name), "the column of partitions")
        if "by" not in found and not all(is_unambiguous(m.value, by.type or "") for m in partitions.members):
            raise BadCheckpoint(
                f"expected partitions that can be told apart, and the checkpoint has values of {by} as texts that "
                "several values may share: an earlier version wrote them so",
                hint="begin with a new checkpoint and other outputs",
            )
        return partitions if column == by.name else replace(partitions, members=())
