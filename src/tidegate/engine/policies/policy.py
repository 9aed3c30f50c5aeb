"""A watermark strategy on streams: the protocol that every strategy follows.

A policy says what kind a row is, what one pass over new rows looks at, and how that moves the frontier of its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, parts_of
from tidegate.engine.partitions import Beat
from tidegate.engine.relation import Call
from tidegate.engine.units import units_of
from tidegate.flow.orders import PosetCoordinates
from tidegate.flow.plan import Source
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, within
from tidegate.time import TOP, Antichain, complete_times, frontier_times, maximal, minimal

__all__ = [
    "LATE",
    "ON_TIME",
    "REJECTED",
    "SIGNAL",
    "WATERMARK",
    "Policy",
    "Seen",
    "completed",
    "narrowed",
    "time_from",
]

#: The kinds of rows: those that take part, that came too late, that are set aside, watermarks, and what is no row.
ON_TIME, LATE, REJECTED, WATERMARK, SIGNAL = range(5)

M = TypeVar("M")


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


class Policy(Generic[M]):
    """A strategy that promises nothing before the end of the input, and what others change of it.

    ``M`` is what it remembers from step to step.
    """

    #: Whether the source promises nothing but its end.
    waits_for_end = False
    #: Columns that it needs of each row besides those of the source.
    extra: tuple[str, ...] = ()
    #: Whether it is told something beside the rows of the source, as lines of text.
    told = False
    #: How often it wants to hear what the clock shows, in microseconds; None if it does not listen.
    pulse: int | None = None
    #: After how long a silence, in microseconds, it lets partitions go.
    idle: int | None = None

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def schema(self) -> Schema:
        """The columns of the source."""
        return self.source.schema

    def kinds(self) -> list[tuple[str, int]]:
        """Return conditions, each with the kind of rows that fulfil it, before it is asked whether rows are late."""
        return []

    def apart(self) -> tuple[str, str] | None:
        """Return what rows are looked at apart by, and its type; None if all are looked at together."""
        return None

    def observes(self) -> dict[str, Call]:
        """Return aggregates over new rows, besides those of every source; each has a column ``__kind``."""
        return {}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return all that was seen: ``parts`` has a row of `observes` for each value of `apart`."""
        return counts

    def start(self) -> M | None:
        """Return what is remembered before anything was seen."""
        return None

    def after(self, memory: M | None, frontier: Frontier, seen: Seen) -> tuple[M | None, Frontier]:  # noqa: ARG002
        """Return what is remembered after a step, and the frontier, which never goes back."""
        return memory, frontier

    def heard(self, memory: M | None) -> Beat | None:  # noqa: ARG002
        """Return the last beat of the clock that was heard; None if none was."""
        return None

    def because(self, memory: M | None) -> str:  # noqa: ARG002
        """Return what beside its rows holds a source back, for a reader; nothing if nothing does."""
        return ""

    def coded(self, memory: M | None) -> dict[str, Any]:  # noqa: ARG002
        """Return what is remembered, for a commit."""
        return {}

    def decode(self, found: Mapping[str, Any]) -> M | None:  # noqa: ARG002
        """Return what a commit remembers; that of another strategy is not taken."""
        return None

    @property
    def units(self) -> list[str]:
        """SQL for the time columns, in units."""
        return [units_of(self.schema, name) for name in self.schema.time]

    def greatest(self) -> dict[str, Call]:
        """Return calls for the greatest value of each time column."""
        timed = f"__kind IN ({ON_TIME}, {LATE})"
        return {f"greatest{i}": call("max", f"IF({timed}, {unit}, NULL)") for i, unit in enumerate(self.units)}

    def greatest_of(self, part: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Return the greatest values that were seen; None if no row had a time."""
        found = [part.get(f"greatest{i}") for i in range(len(self.schema.time))]
        known = tuple(greatest for greatest in found if greatest is not None)
        return known if len(known) == len(found) else None


def completed(schema: Schema, frontier: Frontier, done: Iterable[Any]) -> Frontier:
    """Return a frontier with more times complete; what was complete stays so."""
    if isinstance(at := schema.coordinates, PosetCoordinates):
        # Of many axes, bounds would be many more than elements.
        until = [at.decode(t) for t in done]
        left = [x for x in at.elements_from(frontier) if not any(at.order.le(x, y) for y in until)]
        return Antichain(schema.order, [at.encode(x) for x in minimal(at.order, left)])
    found = frontier_times(schema.order, maximal(schema.order, [*complete_times(schema.order, frontier), *done]))
    # After the last time that a column can have, nothing comes.
    return Antichain(schema.order, [t for t in found if not any(part is TOP for part in parts_of(schema, t))])


def narrowed(schema: Schema, frontier: Frontier, promised: Frontier) -> Frontier:
    """Return a frontier with all times complete that are by another."""
    if isinstance(at := schema.coordinates, PosetCoordinates):
        open_ = set(at.elements_from(promised))
        left = [x for x in at.elements_from(frontier) if x in open_]
        return Antichain(schema.order, [at.encode(x) for x in minimal(at.order, left)])
    return completed(schema, frontier, complete_times(schema.order, promised))


def time_from(schema: Schema, parts: Sequence[int | None]) -> Any:
    """Return a time from units; None stands for every value."""
    types = [c.type or "" for c in schema.times]
    found = tuple(TOP if p is None else from_units(within(p, t), t) for p, t in zip(parts, types, strict=True))
    return found[0] if len(found) == 1 else found
