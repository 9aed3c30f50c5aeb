"""Hints why rows are missing: their time is not complete yet, or rows were late or rejected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.flow.plan import Source
from tidegate.flow.show import shown
from tidegate.flow.watermarks import show
from tidegate.testing.differences import Difference
from tidegate.testing.plans import is_by_hand
from tidegate.time import BOTTOM, Bound

if TYPE_CHECKING:
    from tidegate.testing.trials import Trial

__all__ = ["hints"]

#: At most this many times, reasons and rows are named, to keep the hint short.
_MOST = 2


def hints(trial: Trial, sink: str, found: Difference, times: Sequence[str]) -> list[str]:
    """Return hints about a difference, one line for each."""
    plan = trial.setting.plan
    schema = plan[next(s.input for s in plan.sinks if s.name == sink)].schema
    lines: list[str] = []
    if found.missing and not trial.engine.bounded:
        if tuple(times) == schema.user_time:
            missing = {schema.time_of(row): row for row in found.missing}
            for t in list(missing)[:_MOST]:
                lines += _not_complete(trial, sink, t)
        elif still := trial.open_from(sink):
            lines.append(f"sink {sink!r} is not complete from {', '.join(map(_time, still))} on: advance its sources")
    if found.missing or found.near:
        upstream = plan.upstream(next(s.input for s in plan.sinks if s.name == sink))
        for source in (s for s in plan.sources if s.id in upstream):
            lines += _set_aside(trial, source)
    return lines


def _not_complete(trial: Trial, sink: str, t: Any) -> list[str]:
    reasons = [r for r in trial.why(sink, t) if isinstance(_operator(trial, r.location), Source)]
    lines = []
    for reason in reasons[:_MOST]:
        source = _operator(trial, reason.location)
        assert isinstance(source, Source)
        at = "has promised nothing yet" if _first(reason.time) else f"may still give rows from {_time(reason.time)} on"
        lines.append(f"the row at {_time(t)} is not there yet: that time is not complete, as source {source.id!r} {at}")
        if is_by_hand(source, trial.setting):
            lines.append(f"test.advance({source.id!r}, {_argument(t)}), or test.finish()")
        else:
            lines.append(f"its watermarks are {show(source.watermark, source.schema)}")
    return lines


def _set_aside(trial: Trial, source: Source) -> list[str]:
    """Return lines about the late and rejected rows of a source."""
    lines = []
    late = trial._driver.late(source.id)
    if late:
        rows = "; ".join(_row(row) for row in late[:_MOST])
        lines.append(f"{len(late)} of source {source.id!r} came too late, and took no part: {rows}")
    if rejected := trial._driver.rejected(source.id):
        rows = "; ".join(f"{_row(row)}" for row in rejected[:_MOST])
        lines.append(f"{len(rejected)} of source {source.id!r} could not take part: {rows}")
    return lines


def _operator(trial: Trial, name: Any) -> Any:
    return next((operator for operator in trial.setting.plan if operator.id == name), None)


def _first(t: Any) -> bool:
    """Whether a time is the least of all."""
    parts = t if isinstance(t, tuple) else (t,)
    return all(p is BOTTOM or (not isinstance(p, Bound) and p == getattr(type(p), "min", None)) for p in parts)


def _time(t: Any) -> str:
    return f"({', '.join(map(_time, t))})" if isinstance(t, tuple) else t.name if isinstance(t, Bound) else shown(t)


def _argument(t: Any) -> str:
    if isinstance(t, tuple):
        return f"({', '.join(map(_argument, t))})"
    return repr(shown(t)) if hasattr(t, "isoformat") else repr(t)


def _row(row: dict[str, Any]) -> str:
    return shown(row)
