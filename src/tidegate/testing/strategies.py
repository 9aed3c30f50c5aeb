"""Watermark strategies in plain Python, for trials on the specification.

This module computes what a strategy sees of the rows. `engine/policies` says how the frontier moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidegate.engine.frontiers import of_user, parts_of
from tidegate.engine.marks import Marks
from tidegate.engine.partitions import Beat
from tidegate.engine.policies import Seen, policy_of
from tidegate.engine.policies.by_hand import line_of
from tidegate.engine.steps.running import Running
from tidegate.engine.tracking import Tracking
from tidegate.flow.duck import Duck
from tidegate.flow.expressions import Expression
from tidegate.flow.limits import Limit, limits
from tidegate.flow.orders import LexicographicCoordinates, PosetCoordinates
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Plan, Source
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, units
from tidegate.flow.watermarks import Arriving, Punctuated, Ticking
from tidegate.testing.driven_run import ManualClock
from tidegate.testing.engines import Row, Setting, SourceInput
from tidegate.time import TOP, Inl, complete_times, maximal

__all__ = ["SourceProgress", "due_beat"]


class SourceProgress:
    """The marks and frontiers of a flow's sources, as an engine has them. `Run` takes it in place of an engine."""

    def __init__(self, plan: Plan, setting: Setting, clock: ManualClock) -> None:
        #: The flow with times as coordinates, as engines have them.
        self.flow = plan_on_points(plan)
        self.clock = clock
        self.marks = {source.id: Marks.start(source) for source in self.flow.sources}
        self.tracking = self.published_tracking = Tracking(self.flow, self._frontiers)
        self._clocks = setting.clocks
        self._users = {source.id: source for source in plan.sources}
        self._limits = limits(plan)
        self._duck = Duck()

    @property
    def _frontiers(self) -> dict[str, Any]:
        return {name: marks.frontier for name, marks in self.marks.items()}

    def step(self, given: Mapping[str, SourceInput]) -> dict[str, SourceInput]:
        """Return the rows of each source in a step, with their times, and the times that are complete after it."""
        beat = due_beat(self, self.clock.micros)
        arrived = Running.arrival_time(self)  # type: ignore[arg-type]
        found: dict[str, SourceInput] = {}
        for source in self.flow.sources:
            came, done = self._rows_and_watermarks(source, given.get(source.id, SourceInput()), arrived)
            before = self.marks[source.id]
            after = before.after(source, self._seen(source, came, done, beat))
            self.marks[source.id] = after
            moved = after.frontier != before.frontier
            if policy_of(source).reads_lines or isinstance(source.watermark, Punctuated):
                complete = done
            else:
                complete = completed_times(source.schema, after.frontier) if moved else []
            if came or complete:
                found[source.id] = SourceInput(tuple(came), tuple(complete))
        self.tracking.move(self._frontiers)
        return found

    def finish(self) -> None:
        """Make all times complete."""
        self.marks = {name: marks.ended() for name, marks in self.marks.items()}
        self.tracking.move(self._frontiers)

    def _rows_and_watermarks(self, source: Source, given: SourceInput, arrived: int) -> tuple[list[Row], list[Any]]:
        """Return the rows that a source gets in a step, and its watermarks.

        Arrival times and ticks of clocks are added. Punctuations are watermarks, and not rows.
        """
        rows, schema = list(given.rows), self._users[source.id].schema
        if isinstance(source.watermark, Arriving):
            (column,) = schema.times
            at = from_units(arrived, column.type or "")
            rows = [{column.name: at, **{n: v for n, v in row.items() if n != column.name}} for row in rows]
        if isinstance(source.watermark, Ticking) and source.id in self._clocks:
            every, last = self._clocks[source.id].every, self.marks[source.id].memory
            tick = self.clock.micros - self.clock.micros % every
            (column,) = schema.times
            rows += [{column.name: from_units(tick, column.type or "")}] if last is None or tick > last else []
        if not isinstance(source.watermark, Punctuated):
            return rows, list(given.complete)
        condition = source.watermark.condition
        assert isinstance(condition, Expression)
        is_watermark = [value is True for (value,) in self._duck.scalars(rows, schema, [condition])]
        is_watermark = [is_ and _can_complete(schema, row) for is_, row in zip(is_watermark, rows, strict=True)]
        watermarks = [_watermark_of(schema, row) for row, is_ in zip(rows, is_watermark, strict=True) if is_]
        return [row for row, is_ in zip(rows, is_watermark, strict=True) if not is_], watermarks

    def _seen(self, source: Source, rows: Sequence[Row], done: Iterable[Any], beat: Beat | None) -> Seen:
        """Return what a strategy sees of some rows, in the form in which engines pass it."""
        policy, user = policy_of(source), self._users[source.id]
        if policy.reads_lines:
            line = line_of(source.schema, [_on_axes(source.schema, t) for t in done])
            return policy.seen(Seen(), [{"part": None, "rows": len(rows), "lines": [line]}], [])
        if isinstance(source.watermark, Punctuated):
            marks = [parts_of(source.schema, _on_axes(source.schema, t)) for t in done]
            types = [c.type or "" for c in source.schema.times]
            coded = [[None if p is TOP else units(p, t) for p, t in zip(m, types, strict=True)] for m in marks]
            return policy.seen(Seen(), [{"marks": coded}], [])
        timed = [row for row in rows if _has_time(user.schema, self._limits[source.id], row)]
        apart = policy.apart()
        by = getattr(source.watermark, "by", None) or ""
        groups: dict[Any, list[Row]] = {} if apart else {None: timed}
        for row in rows if apart else ():
            groups.setdefault(None if row[by] is None else str(row[by]), [])
        for row in timed if apart else ():
            groups[None if row[by] is None else str(row[by])].append(row)
        parts = [{"part": key, **_greatest(user.schema, some)} for key, some in groups.items()]
        beats = [beat.line] if beat is not None and policy.clock_period is not None else []
        return policy.seen(Seen(), parts, beats)


def due_beat(running: Any, now: int) -> Beat | None:
    """Return the beat of the clock that is due now; None if none is due, or no source needs beats.

    The local engine does the same.
    """
    clock_period = min((p for s in running.flow.sources if (p := policy_of(s).clock_period) is not None), default=None)
    if clock_period is None:
        return None
    beats = [policy_of(s).last_beat(running.marks[s.id].memory) for s in running.flow.sources]
    last = max((beat for beat in beats if beat is not None), default=None)
    if last is None:
        return Beat(0, now)
    return Beat(last.number + 1, now) if abs(now - last.at) >= clock_period else None


def completed_times(schema: Schema, frontier: Any) -> list[Any]:
    """Return the greatest complete times, as users write times, from a frontier of an engine."""
    at = schema.coordinates
    if at is None:
        return list(complete_times(schema.order, frontier))
    if isinstance(at, PosetCoordinates):
        still_open = set(at.elements_from(parts_of(schema, f) for f in frontier))
        return list(maximal(at.order, [x for x, _ in at.points if x not in still_open]))
    if isinstance(at, LexicographicCoordinates):
        return [at.decode((n - 1,)) for n in frontier if n > 0] or (
            [(TOP,) * len(at.given.columns)] if not frontier else []
        )
    return list(complete_times(at.order, of_user(schema, frontier)))


def _on_axes(schema: Schema, t: Any) -> Any:
    """Return a time of a user as coordinates, as engines have it."""
    return schema.coordinates.time_on_axes(t) if schema.coordinates else t


def _watermark_of(schema: Schema, row: Row) -> Any:
    """Return the watermark of a punctuation. NULL in one of several time columns stands for every value."""
    if len(schema.time) == 1:
        return schema.time_of(row)
    return tuple(TOP if row[name] is None else row[name] for name in schema.time)


def _can_complete(schema: Schema, row: Row) -> bool:
    """Whether a punctuation says which times are complete. If not, it is rejected, as a row without a time is."""
    if len(schema.time) == 1:
        return _is_timed(schema, row)
    if schema.ordered is None:
        return True
    # In a lexicographic order, only the last columns may be NULL, and the others have values of the order.
    given = [row[name] is not None for name in schema.time]
    parts = zip((row[name] for name in schema.time), schema.ordered.types, schema.ordered.ranges, strict=True)
    inside = all(value is None or low <= units(value, type_) <= high for value, type_, (low, high) in parts)
    return inside and given[0] and given == sorted(given, reverse=True)


def _is_timed(schema: Schema, row: Row) -> bool:
    """Whether a row has a time of the order, with a value in each column."""
    return all(row[name] is not None for name in schema.time) and schema.time_of(row) is not None


def _has_time(schema: Schema, bounds: Sequence[Limit], row: Row) -> bool:
    """Whether a row has a time that its source does not reject."""
    return _is_timed(schema, row) and all(units(row[limit.column], limit.type) in limit for limit in bounds)


def _greatest(schema: Schema, rows: Sequence[Row]) -> dict[str, int | None]:
    """Return the greatest value of each time column, in units. For a sum of orders, return that of each side."""
    if schema.ordered is not None:
        times = [schema.time_of(row) for row in rows]
        sides = [
            [units(t.t, type_) for t in times if isinstance(t, Inl) == left]
            for left, type_ in zip((True, False), schema.ordered.sides, strict=True)
        ]
        return {f"greatest{i}": max(values, default=None) for i, values in enumerate(sides)}
    return {
        f"greatest{i}": max((units(row[c.name], c.type or "") for row in rows), default=None)
        for i, c in enumerate(schema.times)
    }
