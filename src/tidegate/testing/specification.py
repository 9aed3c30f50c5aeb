"""The specification for trials. When answers are read, the reference computes them from all events so far."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidegate.flow.plan import WindowFrame
from tidegate.progress import Reason
from tidegate.reference.run import ReferenceResults, reference
from tidegate.spec import WM, Event
from tidegate.testing.driven_run import DrivenRun, ManualClock
from tidegate.testing.engines import Driver, Row, Setting, SourceInput
from tidegate.testing.plans import driven
from tidegate.testing.strategies import SourceProgress
from tidegate.time import Order, Poset, Product, maximal

__all__ = ["SpecificationDriver"]


class SpecificationDriver(Driver):
    """A flow on the specification. It computes all answers from all events, and has no checkpoint."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._plan = setting.plan
        self._clock = ManualClock(setting.now)
        self._progress = SourceProgress(driven(setting), setting, self._clock)
        self._run = DrivenRun(self._progress, lambda *_: None)  # type: ignore[arg-type]
        self._events: dict[str, list[Event | Row]] = {source.id: [] for source in self._plan.sources}
        #: The greatest times of each source that are complete.
        self._complete: dict[str, list[Any]] = {source.id: [] for source in self._plan.sources}
        self._revises = any(isinstance(f := getattr(o, "frame", None), WindowFrame) and f.lateness for o in self._plan)
        self._ended = False
        self._found: ReferenceResults | None = None

    def step(self, given: Mapping[str, SourceInput], *, partitions: int = 1) -> None:  # noqa: ARG002
        """Add events. Raise if a row is late at a source that must not have late rows."""
        self._take(self._progress.step(given))
        if any(source.late == "fail" for source in self._plan.sources):
            self._results()

    def set_clock(self, now: datetime) -> None:
        """Set the clock, and add the events that follow from it."""
        self._clock.now = now
        self._take(self._progress.step({}))

    def _take(self, given: Mapping[str, SourceInput]) -> None:
        for name, came in given.items():
            order, known = self._plan[name].schema.order, self._complete[name]
            self._events[name] += came.rows
            self._events[name] += map(WM, came.complete)
            self._complete[name] = list(maximal(order, [*known, *came.complete]))
        if self._revises:
            # The watermarks are repeated at the end of a step, so that windows with lateness answer for late rows now.
            for name, known in self._complete.items():
                self._events[name] += map(WM, known)
        if len(self._plan.sources) > 1:
            for name in self._complete:
                self._events[name] += map(WM, self._implied(name))
        self._found = None

    def _implied(self, name: str) -> list[Any]:
        """Return times that are complete at this source and at another one, below unrelated watermarks."""
        order = self._plan[name].schema.order
        others = [
            t for n, known in self._complete.items() if n != name and self._plan[n].schema.order == order for t in known
        ]
        return [t for own in self._complete[name] for other in others for t in _below_both(order, own, other)]

    def finish(self) -> None:
        """End the input."""
        self._progress.finish()
        self._ended = True
        self._found = None
        self._results()

    def rows(self, sink: str) -> list[Row]:
        """Return all answers of a sink so far. Raise if their columns are not those derived when the flow was built."""
        names = self._plan[next(s.input for s in self._plan.sinks if s.name == sink)].schema.names
        found = self._results().rows(sink)
        assert all(tuple(row) == names for row in found), f"{names} were derived, others came out"
        return found

    def late(self, source: str) -> list[Row]:
        """Return the late rows of a source that no window with lateness took."""
        return [event.d for event in self._results().late[source]] if self._is_kept(source) else []

    def _is_kept(self, source: str) -> bool:
        return next(s.late for s in self._plan.sources if s.id == source) != "drop"

    def rejected(self, name: str) -> list[Row]:
        """Return the rows that could not take part, with the reason."""
        return [dict(found.row) | {"reason": found.reason} for found in self._results().rejected[name]]

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what holds a time back at a sink."""
        return self._run.why(t, sink)

    def open_from(self, sink: str) -> list[Any]:
        """Return the least times of a sink that are not complete."""
        return list(self._run.frontiers()[sink])

    def _results(self) -> ReferenceResults:
        if self._found is None:
            given: dict[str, Any] = {**self._events, **self._setting.tables}
            self._found = reference(self._plan, given, ended=self._ended)
        return self._found


def _below_both(order: Order[Any], a: Any, b: Any) -> list[Any]:
    """Return the greatest times at or below two unrelated times; none if one is at or below the other."""
    if order.le(a, b) or order.le(b, a):
        return []
    if isinstance(order, Product):
        return [order.meet(a, b)]
    if isinstance(order, Poset):
        return list(maximal(order, [x for x in order.elements if order.le(x, a) and order.le(x, b)]))
    return []
