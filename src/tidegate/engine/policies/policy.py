"""A watermark strategy on streams: the protocol that every strategy follows.

A policy decides the kind of each row, lists the aggregates to compute in one pass over the new rows, and moves the
frontier of its source by their results.
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

#: The kinds of rows: on time; too late; without a usable time; watermarks; and signals to the engine, which are no
#: data.
ON_TIME, LATE, REJECTED, WATERMARK, SIGNAL = range(5)

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one pass over the new rows of a source found. Times are tuples of units."""

    rows: int = 0
    late: int = 0
    rejected: int = 0
    watermarks: int = 0
    #: The greatest value of each time column.
    greatest: tuple[int, ...] | None = None
    #: The watermarks. None in a column stands for all of its values.
    marks: tuple[tuple[int | None, ...], ...] = ()
    #: The greatest value of each time column, by partition; None if its rows had no time.
    partitions: tuple[tuple[str | None, tuple[int, ...] | None], ...] = ()
    #: The number of rows from each step of the other flow, and the lines of text: promises of that flow, or beats.
    steps: tuple[tuple[int, int], ...] = ()
    lines: tuple[str, ...] = ()


class Policy(Generic[M]):
    """The base of all policies. As it is, it promises nothing before the end of the input.

    ``M`` is the type of what a policy remembers from step to step.
    """

    #: Whether the source makes no promise before its end.
    waits_for_end = False
    #: Columns that the policy needs in each row besides those of the source.
    extra: tuple[str, ...] = ()
    #: Whether the policy reads lines of text beside the rows of the source.
    reads_lines = False
    #: How often the policy needs a beat of the clock, in microseconds; None if it needs none.
    clock_period: int | None = None
    #: After how many microseconds without rows a partition no longer holds the frontier back.
    idle: int | None = None

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def schema(self) -> Schema:
        """The columns of the source."""
        return self.source.schema

    def kinds(self) -> list[tuple[str, int]]:
        """Return SQL conditions, each with the kind of the rows that satisfy it.

        They are tested in order, before rows are tested for lateness.
        """
        return []

    def apart(self) -> tuple[str, str] | None:
        """Return the expression, and its type, by which new rows are grouped to observe them; None for no groups."""
        return None

    def observes(self) -> dict[str, Call]:
        """Return aggregates over the new rows, besides those of every source. Rows have their kind in ``__kind``."""
        return {}

    def seen(self, counts: Seen, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:  # noqa: ARG002
        """Return what was found. ``parts`` has a row with the results of `observes` for each value of `apart`."""
        return counts

    def start(self) -> M | None:
        """Return what is remembered before the first step."""
        return None

    def after(self, memory: M | None, frontier: Frontier, seen: Seen) -> tuple[M | None, Frontier]:  # noqa: ARG002
        """Return what is remembered after a step, and the new frontier. A frontier never goes back."""
        return memory, frontier

    def last_beat(self, memory: M | None) -> Beat | None:  # noqa: ARG002
        """Return the last beat of the clock that the policy has received; None if there was none."""
        return None

    def because(self, memory: M | None) -> str:  # noqa: ARG002
        """Return in words what holds the source back beside its rows; empty if nothing does."""
        return ""

    def to_json(self, memory: M | None) -> dict[str, Any]:  # noqa: ARG002
        """Return what is remembered, as JSON for a commit."""
        return {}

    def from_json(self, found: Mapping[str, Any]) -> M | None:  # noqa: ARG002
        """Return what is remembered, from a commit; None if the commit was made with another strategy."""
        return None

    @property
    def units(self) -> list[str]:
        """SQL for the time columns, in units."""
        return [units_of(self.schema, name) for name in self.schema.time]

    def greatest(self) -> dict[str, Call]:
        """Return aggregates for the greatest value of each time column."""
        timed = f"__kind IN ({ON_TIME}, {LATE})"
        return {f"greatest{i}": call("max", f"IF({timed}, {unit}, NULL)") for i, unit in enumerate(self.units)}

    def greatest_of(self, part: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Return the greatest value of each time column from such results; None if no row had a time."""
        found = [part.get(f"greatest{i}") for i in range(len(self.schema.time))]
        known = tuple(greatest for greatest in found if greatest is not None)
        return known if len(known) == len(found) else None


def completed(schema: Schema, frontier: Frontier, done: Iterable[Any]) -> Frontier:
    """Return a frontier with more times complete: also those at or below the times ``done``."""
    if isinstance(at := schema.coordinates, PosetCoordinates):
        # With many axes, there would be many more bounds than elements of the order.
        until = [at.decode(t) for t in done]
        left = [x for x in at.elements_from(frontier) if not any(at.order.le(x, y) for y in until)]
        return Antichain(schema.order, [at.encode(x) for x in minimal(at.order, left)])
    found = frontier_times(schema.order, maximal(schema.order, [*complete_times(schema.order, frontier), *done]))
    # No row can come after the last time that a column's type can hold.
    return Antichain(schema.order, [t for t in found if not any(part is TOP for part in parts_of(schema, t))])


def narrowed(schema: Schema, frontier: Frontier, promised: Frontier) -> Frontier:
    """Return a frontier at which all times are complete that are complete at one of the two."""
    if isinstance(at := schema.coordinates, PosetCoordinates):
        open_ = set(at.elements_from(promised))
        left = [x for x in at.elements_from(frontier) if x in open_]
        return Antichain(schema.order, [at.encode(x) for x in minimal(at.order, left)])
    return completed(schema, frontier, complete_times(schema.order, promised))


def time_from(schema: Schema, parts: Sequence[int | None]) -> Any:
    """Return a time from units. None in a column stands for all of its values."""
    types = [c.type or "" for c in schema.times]
    found = tuple(TOP if p is None else from_units(within(p, t), t) for p, t in zip(parts, types, strict=True))
    return found[0] if len(found) == 1 else found
