"""The rows that a step reads from a source: which of them are on time, late or rejected, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete, shown
from tidegate.engine.inputs import on_points, reason_of, untimed
from tidegate.engine.policies import CLOCK, Seen, policy_of
from tidegate.engine.policies.lines import SIGNAL_LINE
from tidegate.engine.policies.policy import LATE, ON_TIME, REJECTED
from tidegate.engine.relation import Backend, Call, Measurement, Relation, as_they_are
from tidegate.engine.units import from_units
from tidegate.flow.limits import Limit
from tidegate.flow.plan import PlanOperator, Source
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.watermarks import Arriving

__all__ = ["TEXT", "SourceRows", "diverted", "observable", "observe", "rejected_rows", "source_rows"]

#: The column with the text of a row that did not parse, if the source provides it.
TEXT = "__text"
_KIND = "__kind"


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows that a step reads from a source. Each has a kind: on time, late, rejected, or no data at all."""

    source: Source
    limits: tuple[Limit, ...]
    rows: Relation
    #: The same rows, watched: whoever reads `on_time` also computes the aggregates over all rows, and the function then
    #: returns them. None if the aggregates need a query of their own.
    watched: tuple[Relation, Callable[[], Mapping[str, Any]]] | None = None
    #: What was counted in the rows. It is empty before `observe`.
    seen: Seen = field(default_factory=Seen)
    #: The late rows that no window took. None if no window was asked: then all late rows are late.
    late: Relation | None = None

    @property
    def on_time(self) -> Relation:
        """The rows that are on time."""
        return self._of_kind(ON_TIME, self.watched[0] if self.watched else self.rows)

    @property
    def late_rows(self) -> Relation:
        """The rows that came too late for this source."""
        return self._of_kind(LATE, self.rows) if self.late is None else self.late.select(self._columns)

    @property
    def rejected(self) -> Relation:
        """The rows that have no time or did not parse, with their text if they did not parse."""
        text = TEXT if TEXT in self.rows.names else "CAST(NULL AS STRING)"
        return self._of_kind(REJECTED, self.rows, {TEXT: text})

    @property
    def _columns(self) -> dict[str, str]:
        return as_they_are(self.source.schema.names)

    def _of_kind(self, kind: int, rows: Relation, more: Mapping[str, str] | None = None) -> Relation:
        return rows.where(f"{_KIND} = {kind}").select(self._columns | dict(more or {}))


def observable(source: Source) -> bool:
    """Whether the rows of a source can be observed by a job that reads them for another purpose."""
    return policy_of(source).apart() is None


def source_rows(
    backend: Backend,
    source: Source,
    limits: tuple[Limit, ...],
    rows: Relation,
    frontier: Frontier,
    *,
    observed: bool = False,
    arrived: int | None = None,
) -> SourceRows:
    """Return the rows that a step reads from a source, each with its kind.

    ``frontier`` is that of the source before the step: it decides which rows are late. With ``observed``, the job that
    reads `on_time` also computes the aggregates over the rows, and `observe` needs no query for them. For a source with
    arrival times, ``arrived`` is the time of all rows of this step, in microseconds.
    """
    if isinstance(source.watermark, Arriving):
        (column,) = source.schema.times
        rows = rows.with_columns({column.name: from_units(f"{arrived or 0}L", column.type or "")})
    rows = on_points(source, rows)
    kinds = rows.with_columns({_KIND: _kind(source, limits, frontier, torn=TEXT in rows.names)})
    return SourceRows(source, limits, kinds, backend.watched(kinds, _observes(source)) if observed else None)


def observe(
    backend: Backend, by_source: Mapping[str, SourceRows], beats: Relation | None = None
) -> dict[str, SourceRows]:
    """Return the rows of each source, with what was counted in them.

    One query counts the rows of all sources that are not counted by another job. ``beats`` are the beats of the clock.
    """
    measurements = {
        name: Measurement(found.rows, _observes(found.source), policy_of(found.source).apart())
        for name, found in by_source.items()
        if found.watched is None
    }
    if beats is not None and any(policy_of(found.source).clock_period is not None for found in by_source.values()):
        measurements[CLOCK] = Measurement(beats, {"lines": call("collect_list", SIGNAL_LINE)})
    seen = backend.observed(measurements) if measurements else {}
    lines = tuple(text for row in seen.get(CLOCK, ()) for text in row["lines"] or ())
    return {
        name: replace(
            found,
            seen=_seen(found.source, seen[name] if found.watched is None else [found.watched[1]()], lines),
        )
        for name, found in by_source.items()
    }


def _kind(source: Source, bounds: Sequence[Limit], frontier: Frontier, *, torn: bool) -> str:
    # If a row did not parse, its other values can't be trusted.
    cases = [(f"{TEXT} IS NOT NULL", REJECTED)] if torn else []
    cases += policy_of(source).kinds()
    cases += [(untimed(bounds), REJECTED), (complete(source.schema, frontier), LATE)]
    return f"CASE {' '.join(f'WHEN {condition} THEN {kind}' for condition, kind in cases)} ELSE {ON_TIME} END"


def _observes(source: Source) -> dict[str, Call]:
    """Return the aggregates over new rows.

    Each is computed for every row, so those that the source's strategy does not need are left out.
    """
    kinds = {"late": LATE, "rejected": REJECTED}
    counts = {"rows": call("count", "*")} | {n: call("count_if", f"{_KIND} = {kind}") for n, kind in kinds.items()}
    return counts | policy_of(source).observes()


def _seen(source: Source, parts: Sequence[Mapping[str, Any]], beats: Sequence[str]) -> Seen:
    def count(name: str) -> int:
        return sum(part.get(name) or 0 for part in parts)

    counts = Seen(count("rows"), count("late"), count("rejected"), count("watermarks"))
    return policy_of(source).seen(counts, parts, beats)


def diverted(of_source: SourceRows, frontier: Frontier, step: int) -> Relation:
    """Return the late and rejected rows with their time, source, step, the reason, and the bound that they missed."""
    schema = of_source.source.schema
    rejected = f"coalesce(concat('does not parse: ', {TEXT}), {reason_of(of_source.source, of_source.limits)})"
    reason, bound = f"IF(__late, 'late', {rejected})", f"IF(__late, {literal(shown(schema, frontier))}, NULL)"
    columns = _aside(of_source.source, step, reason, bound)
    chosen = of_source.rejected.with_columns({"__late": "false"})
    if of_source.source.late != "drop":
        late = of_source.late_rows.with_columns({TEXT: "CAST(NULL AS STRING)", "__late": "true"})
        chosen = chosen.union(late)
    return chosen.select(columns)


def rejected_rows(operator: PlanOperator, rows: Relation, step: int) -> Relation:
    """Return rows that an operator rejected, in the columns of rows that are set aside.

    The last column of ``rows`` is the reason.
    """
    return rows.select(_aside(operator, step, quoted(rows.names[-1]), "CAST(NULL AS STRING)"))


def _aside(operator: PlanOperator, step: int, reason: str, bound: str) -> dict[str, str]:
    """Return the columns of rows that are set aside."""
    schema = operator.schema
    return {
        "time": f"struct({', '.join(quoted(name) for name in schema.user_time)})",
        "source": literal(operator.id),
        "step": f"{step}L",
        "reason": reason,
        "bound": bound,
        "row": f"struct({', '.join(quoted(name) for name in (c.name for c in schema.visible))})",
    }
