"""`Run`: a flow that is running, and what can be asked of it, whatever it runs on."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from threading import Event
from types import TracebackType
from typing import Any

from tidegate.engine.commits.by_step import checked_steps, directory_of
from tidegate.engine.frontiers import COMPLETE, Frontier, of_user, shown
from tidegate.engine.notebook import Cell
from tidegate.engine.steps.failures import in_a_line
from tidegate.engine.steps.metrics import StepMetrics
from tidegate.engine.steps.running import Running
from tidegate.engine.storage.errors import RunStopped
from tidegate.engine.times import parse_time
from tidegate.engine.tracking import in_user_times
from tidegate.flow.errors import BadArgument, did_you_mean
from tidegate.flow.explain import explain
from tidegate.flow.schema import Column, Schema
from tidegate.flow.show import html_table
from tidegate.flow.sqltypes import struct
from tidegate.printable import printable
from tidegate.progress import Reason

__all__ = ["Run", "Status"]

_LOG = logging.getLogger("tidegate")

#: What tells the states of a run apart, on light pages and on dark ones.
_COLOURS = {"running": "#2f9e5f", "ended": "#3f7fc4", "stopped": "#b98a1e", "failed": "#d04a3f"}
#: Over how many steps rows a second are counted.
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run is: ``running``, ``stopped``, ``ended`` or ``failed``; the last step; rows so far, by source.

    ``failure`` is what it failed with, in one line; else empty. ``per_second`` is how many rows came in a second,
    during the last steps of this run.
    """

    flow: str
    state: str
    step: int | None
    frontiers: Mapping[str, str]
    rows: Mapping[str, int]
    late: Mapping[str, int]
    rejected: Mapping[str, int]
    failure: str = ""
    per_second: float | None = None

    def __str__(self) -> str:
        lines = [f"flow {self.flow}: {self.state}, {'no step yet' if self.step is None else f'step {self.step}'}"]
        lines += [f"  {self.failure}"] if self.failure else []
        lines += [
            f"  {sink}: {frontier if frontier == COMPLETE else f'not complete from {frontier} on'}"
            for sink, frontier in self.frontiers.items()
        ]
        lines += [
            f"  {source}: {rows:,} rows, {self.late[source]:,} late, {self.rejected[source]:,} rejected"
            for source, rows in self.rows.items()
        ]
        lines += [f"  {name}: {n:,} rejected" for name, n in self.rejected.items() if name not in self.rows]
        return printable("\n".join(lines), lines=True)

    def _repr_html_(self) -> str:
        first, *_ = str(self).splitlines()
        speed = "" if self.per_second is None else f", {self.per_second:,.0f} rows a second"
        failed = f"<p>{escape(printable(self.failure))}</p>" if self.failure else ""
        sources = [
            (source, f"{n:,}", f"{self.late[source]:,}", f"{self.rejected[source]:,}")
            for source, n in self.rows.items()
        ]
        moved = [(name, "", "", f"{n:,}") for name, n in self.rejected.items() if name not in self.rows]
        return (
            f'<div><b style="color:{_COLOURS[self.state]}">●</b> {escape(first)}{speed}</div>{failed}'
            '<div style="display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start">'
            + html_table(["sink", "frontier"], self.frontiers.items())
            + html_table(["source", "rows", "late", "rejected"], [*sources, *moved])
            + "</div>"
        )


class Run(ABC):
    """A running flow. An engine says how it is stopped, and in which form it hands out rows."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self._done = Event()
        self._failure: BaseException | None = None
        self._drawn: tuple[dict[str, str], str] | None = None
        self._cell = Cell(running.flow.name, self._forms, self._done.wait)
        #: The address of the page that shows this run; None if nobody asked for one.
        self.ui: str | None = None

    def __repr__(self) -> str:
        status = self.status()
        return f"<Run of {status.flow}: {status.state}, step {status.step}>"

    def _repr_html_(self) -> str:
        return f'{self.status()._repr_html_()}<div style="overflow-x:auto">{self._picture()}</div>'

    def _ipython_display_(self) -> None:
        self._cell.show()

    def _forms(self) -> dict[str, str]:
        return {"text/plain": str(self.status()), "text/html": self._repr_html_()}

    def _picture(self) -> str:
        """Return the flow in small, with the least time that may still reach each operator."""
        running = self.running
        open_from = {
            o.id: shown(o.schema, running.published_tracking.frontier(o)) for o in running.flow if o.schema.time
        }
        open_from |= {f"sink {name}": shown(self._schema(name), found) for name, found in self._frontiers().items()}
        notes = {name: text if text == COMPLETE else f"open from {text}" for name, text in open_from.items()}
        if self._drawn is None or self._drawn[0] != notes:
            # While nothing moves, nothing is drawn.
            self._drawn = notes, explain(running.flow).svg(notes=notes, small=True)
        return self._drawn[1]

    @property
    def is_active(self) -> bool:
        """Whether it is running."""
        return not self._done.is_set()

    def exception(self) -> BaseException | None:
        """Return what it failed with; None if it did not, or not yet."""
        return self._failure

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.is_active:
            self.stop()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended or was stopped; raise what it failed with. Return whether it is over."""
        over = self._done.wait(timeout)
        if self._failure is not None:
            raise self._failure
        return over

    @abstractmethod
    def stop(self, timeout: float | None = 20) -> bool:
        """Stop. Return whether the step that was running ended, or none was; the next start goes on after it.

        A step that does not end within ``timeout`` seconds is cancelled, and the next start runs it again. None waits
        for it as long as it takes. The step that ends the input is always waited for.
        """

    @abstractmethod
    def finish(self) -> None:
        """Take what the sources have now as the end of the input: everything becomes complete, and the run is over.

        The end is a step of its own. It closes the checkpoint: no run can go on from it.
        """

    def status(self) -> Status:
        """Return where the run is."""
        running = self.running
        last = running.last
        over = "ended" if last is not None and last.ended else "stopped"
        state = "running" if not self._done.is_set() else "failed" if self._failure else over
        marks = running.marks
        return Status(
            running.flow.name,
            state,
            None if last is None else last.step,
            {name: shown(self._schema(name), frontier) for name, frontier in self._frontiers().items()},
            {source: mark.rows for source, mark in marks.items()},
            {source: mark.late for source, mark in marks.items()},
            {source: mark.rejected for source, mark in marks.items()}
            | {name: last.aside.get(place, 0) if last else 0 for name, place in running.run.rejecting.items()},
            in_a_line(self._failure) if state == "failed" and self._failure else "",
            per_second(running.metrics[-_STEPS:]),
        )

    def frontiers(self) -> dict[str, Frontier]:
        """Return, for each sink, the least times that may still come out; none when everything is complete."""
        return {name: of_user(self._schema(name), frontier) for name, frontier in self._frontiers().items()}

    def _frontiers(self) -> dict[str, Frontier]:
        # While a step runs, what it completes cannot be read yet.
        running = self.running
        return {s.name: running.published_tracking.of_sink(s.name) for s in running.flow.sinks}

    def why(self, time: Any, sink: str = "") -> list[Reason]:
        """Return what holds a time back: the sources that may still give rows that reach it; none if it is complete.

        ``time`` is a value, a text in the form of Spark SQL, or with several time columns a tuple of those.
        """
        names = [s.name for s in self.running.flow.sinks]
        if sink and sink not in names:
            raise BadArgument(
                f"expected the name of a sink ({', '.join(names)}), got {sink!r}",
                hint=did_you_mean(sink, names),
            )
        found: dict[Reason, None] = {}
        for name in [sink] if sink else names:
            t = parse_time(self._schema(name), time)
            reasons = self.running.published_tracking.why(name, t)
            if reasons:
                # In the step that runs, also a loop; where it is now is only known from below.
                reasons = [*reasons, *self.running.tracking.why(name, t)]
            found |= dict.fromkeys(in_user_times(self.running.published_tracking.shape, reason) for reason in reasons)
        return list(found)

    def metrics(self) -> list[dict[str, Any]]:
        """Return what each of the last steps of this run took in and gave out, and how long it took."""
        return [asdict(metrics) for metrics in self.running.metrics]

    def late(self, source: str) -> Any:
        """Return the rows of a source that came too late: time, source, step, reason, the bound, and the row."""
        return self._set_aside(source, "reason = 'late'", [s.id for s in self.running.flow.sources])

    def rejected(self, source: str) -> Any:
        """Return the rows of a source that could not take part: time, source, step, reason, and the row.

        Operators that move rows reject those that they cannot move: these are under the operator's name.
        """
        return self._set_aside(source, "reason != 'late'", list(self.running.run.asides))

    def _end_trace(self) -> None:
        """Write down how the run ended, for those who look on."""
        self.running.trace.end(in_a_line(self._failure) if self._failure else "")

    def _check_ended(self) -> None:
        """Raise if the run was stopped before its input could end."""
        if self.status().state != "ended":
            raise RunStopped(
                "expected a run that goes on, whose input can end, got one that was stopped",
                hint="start the flow again from its checkpoint, and call finish() on that run",
            ).at(f"flow {self.running.flow.name!r}")

    def _log_cancelled(self, timeout: float | None) -> None:
        """Log that a step was cancelled."""
        _LOG.warning(
            "flow %r: the step that ran was cancelled after %s s; the next start runs it",
            self.running.flow.name,
            timeout,
        )

    @abstractmethod
    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> Any:
        """Return the rows of Parquet files that satisfy a condition, as the engine hands out rows."""

    def _set_aside(self, source: str, condition: str, names: list[str]) -> Any:
        running = self.running
        if source not in names:
            raise BadArgument(
                f"expected the name of a source ({', '.join(names)}), got {source!r}",
                hint=did_you_mean(source, names),
            )
        directory, last = running.run.late_rows(source), running.last
        found: list[str] = []
        if last is not None:
            pending = {p.name: p for p in last.publish if directory_of(p) == directory}
            found = checked_steps(running.files, directory, last.step, pending, last.aside.get(directory, 0))
        given = running.flow[source].schema
        # Of an operator, types may be open until the flow is on an engine.
        columns = running.run.host.backend.nothing(running.run.shapes[source]).columns
        return self._rows(found, set_aside_columns(given.of(columns)), condition)

    def _schema(self, sink: str) -> Schema:
        flow = self.running.flow
        return flow[next(s.input for s in flow.sinks if s.name == sink)].schema


def per_second(steps: Sequence[StepMetrics]) -> float | None:
    """Return how many rows came in a second from the beginning of the first step to the end of the last.

    Where a step ended is known by the clock, and how long it took. Without a step, there is nothing to say.
    """
    if not steps:
        return None
    first, last = (datetime.fromisoformat(step.at) for step in (steps[0], steps[-1]))
    seconds = (last - first).total_seconds() + steps[0].seconds
    return sum(sum(step.rows.values()) for step in steps) / max(seconds, 1e-3)


def set_aside_columns(schema: Schema) -> list[Column]:
    """Return the columns of rows of a source that were set aside."""

    def whole(columns: tuple[Column, ...]) -> str:
        return struct(**{column.name: column.type or "" for column in columns})

    texts = {"source": "STRING", "step": "BIGINT", "reason": "STRING", "bound": "STRING"}
    times = tuple(schema[name] for name in schema.user_time)
    found = {"time": whole(times), **texts, "row": whole(schema.visible)}
    return [Column(name, type_) for name, type_ in found.items()]
