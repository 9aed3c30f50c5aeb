"""`Run`: a flow that is running on streams, and what users can ask of it. It is the same on all engines."""

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

#: The colour of each state of a run. It can be read on light pages and on dark ones.
_COLOURS = {"running": "#2f9e5f", "ended": "#3f7fc4", "stopped": "#b98a1e", "failed": "#d04a3f"}
#: `Status.per_second` is counted over this many of the last steps.
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run is, at the moment when `Run.status` was called. Printed, it is a few lines of text."""

    flow: str
    #: ``running``, ``stopped``, ``ended`` (the input has ended and everything is complete) or ``failed``.
    state: str
    #: The number of the last step that is committed; None before the first.
    step: int | None
    #: By sink, as text: the least times that may still come out.
    frontiers: Mapping[str, str]
    #: By source: how many rows came since the checkpoint began. Late and rejected rows are among them.
    rows: Mapping[str, int]
    #: By source: how many of those rows were late.
    late: Mapping[str, int]
    #: By source: how many of those rows were rejected. Operators that reject rows are listed, too, by their names.
    rejected: Mapping[str, int]
    #: What the run failed with, in one line; empty if it did not fail.
    failure: str = ""
    #: How many rows came per second, by the clock, during the last ten steps of this run; None before the first.
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
    """A flow that is running: what `Flow.start` returns.

    The steps run in the background, in a thread of their own. What a run has done so far can also be asked after it is
    over. Used in a ``with`` statement, a run is stopped at the end of the block if it is not over by then. Each engine
    has a subclass, which says how the run is stopped and in which form it returns rows.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import tidegate as tg
    >>> flow = tg.Flow("web")
    >>> clicks = flow.source("clicks", "t INT", time="t", watermark=tg.bounded(2))
    >>> flow.sink("n", clicks.window(10).aggregate(n="count(*)"))
    >>> batches = [pa.table({"t": pa.array(times, pa.int32())}) for times in ([1, 5], [12, 4])]
    >>> place = tempfile.TemporaryDirectory()
    >>> outputs = {"n": tg.parquet(place.name + "/n")}
    >>> with flow.start(tg.local(), {"clicks": iter(batches)}, outputs, place.name + "/checkpoint") as run:
    ...     run.await_termination()
    True
    >>> run.is_active, run.exception(), run.status().state, run.status().rows
    (False, None, 'ended', {'clicks': 4})
    >>> place.cleanup()
    """

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
        """Return a small drawing of the flow, as SVG, with the least times that may still reach each operator."""
        running = self.running
        open_from = {
            o.id: shown(o.schema, running.published_tracking.frontier(o)) for o in running.flow if o.schema.time
        }
        open_from |= {f"sink {name}": shown(self._schema(name), found) for name, found in self._frontiers().items()}
        notes = {name: text if text == COMPLETE else f"open from {text}" for name, text in open_from.items()}
        if self._drawn is None or self._drawn[0] != notes:
            # It is drawn again only if a frontier has moved.
            self._drawn = notes, explain(running.flow).svg(notes=notes, small=True)
        return self._drawn[1]

    @property
    def is_active(self) -> bool:
        """Whether the run is not over: it has not stopped, ended or failed."""
        return not self._done.is_set()

    def exception(self) -> BaseException | None:
        """Return the error that the run failed with; None if it has not failed."""
        return self._failure

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.is_active:
            self.stop()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run is over, at most ``timeout`` seconds; return whether it is over.

        If the run has failed, raise its error. A ``timeout`` of None waits as long as it takes.
        """
        over = self._done.wait(timeout)
        if self._failure is not None:
            raise self._failure
        return over

    @abstractmethod
    def stop(self, timeout: float | None = 20) -> bool:
        """Stop the run after the step that is running now. Return False if that step had to be cancelled.

        A step that does not end within ``timeout`` seconds is cancelled. The next start from the checkpoint runs it
        again; otherwise it goes on with the step after it. A ``timeout`` of None waits as long as it takes. The step
        that ends the input is never cancelled.
        """

    @abstractmethod
    def finish(self) -> None:
        """Read what the sources have now, and end the input there: everything becomes complete. Wait until it is done.

        The end is a step of its own. It closes the checkpoint: no other run can go on from it. Raise `RunStopped` if
        the run was stopped before its input could end.
        """

    def status(self) -> Status:
        """Return where the run is now. This does not wait for the running step."""
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
        """Return the frontier of each sink: the least times that may still come out.

        A time that is not at or above one of them is complete, and its rows are published. If everything is complete,
        the frontier is empty.
        """
        return {name: of_user(self._schema(name), frontier) for name, frontier in self._frontiers().items()}

    def _frontiers(self) -> dict[str, Frontier]:
        # Not those of the step that is running: its rows cannot be read yet.
        running = self.running
        return {s.name: running.published_tracking.of_sink(s.name) for s in running.flow.sinks}

    def why(self, time: Any, sink: str = "") -> list[Reason]:
        """Return why a time is not complete: the sources that may still give rows at that time or below it.

        ``time`` is a value, or a text as Spark SQL reads it. With several time columns, it is a tuple of those.
        ``sink`` is the name of one sink; by default, all are asked. The list is empty if the time is complete.
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
                # A loop in the running step may hold the time back, too. Only a lower bound of its time is known.
                reasons = [*reasons, *self.running.tracking.why(name, t)]
            found |= dict.fromkeys(in_user_times(self.running.published_tracking.shape, reason) for reason in reasons)
        return list(found)

    def metrics(self) -> list[dict[str, Any]]:
        """Return the metrics of the last steps of this run, at most 1,000, the latest last.

        Each is a dict with the fields of `StepMetrics`: how many rows came and went, how long it took, and more.
        """
        return [asdict(metrics) for metrics in self.running.metrics]

    def late(self, source: str) -> Any:
        """Return the late rows of a source, as a DataFrame on Spark and as a relation of DuckDB on the local engine.

        The columns are ``time``, ``source``, ``step``, ``reason``, ``bound`` (the frontier that the row missed, as
        text) and ``row`` (a struct of all declared columns). A source with ``late="drop"`` has none.
        """
        return self._set_aside(source, "reason = 'late'", [s.id for s in self.running.flow.sources])

    def rejected(self, source: str) -> Any:
        """Return the rejected rows of a source, with the reason, in the same columns as `late`.

        An operator that moves rows to other times rejects the rows that it cannot move. For those, ``source`` is the
        name of the operator.
        """
        return self._set_aside(source, "reason != 'late'", list(self.running.run.asides))

    def _end_trace(self) -> None:
        """Write to the trace how the run ended, for the live page."""
        self.running.trace.end(in_a_line(self._failure) if self._failure else "")

    def _check_ended(self) -> None:
        """Raise if the run is over and its input has not ended, because it was stopped before."""
        if self.status().state != "ended":
            raise RunStopped(
                "expected a run that is not stopped, so that its input can end, got one that was stopped",
                hint="start the flow again from its checkpoint, and call finish() on that run",
            ).at(f"flow {self.running.flow.name!r}")

    def _log_cancelled(self, timeout: float | None) -> None:
        """Log that a step was cancelled because it took longer than ``timeout`` seconds."""
        _LOG.warning(
            "flow %r: the running step was cancelled after %s s; the next start runs it again",
            self.running.flow.name,
            timeout,
        )

    @abstractmethod
    def _rows(self, paths: list[str], columns: list[Column], condition: str) -> Any:
        """Return the rows of Parquet files that satisfy a condition, in the form in which the engine returns rows."""

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
        # The types of an operator's columns may be known only to the engine.
        columns = running.run.host.backend.nothing(running.run.shapes[source]).columns
        return self._rows(found, set_aside_columns(given.of(columns)), condition)

    def _schema(self, sink: str) -> Schema:
        flow = self.running.flow
        return flow[next(s.input for s in flow.sinks if s.name == sink)].schema


def per_second(steps: Sequence[StepMetrics]) -> float | None:
    """Return how many rows came per second, from the beginning of the first step to the end of the last.

    A step's metrics have the time when it ended and its duration. So the first step began at its end less its
    duration. Without steps, the result is None.
    """
    if not steps:
        return None
    first, last = (datetime.fromisoformat(step.at) for step in (steps[0], steps[-1]))
    seconds = (last - first).total_seconds() + steps[0].seconds
    return sum(sum(step.rows.values()) for step in steps) / max(seconds, 1e-3)


def set_aside_columns(schema: Schema) -> list[Column]:
    """Return the columns in which rows of a source are set aside; ``schema`` is that of the source."""

    def whole(columns: tuple[Column, ...]) -> str:
        return struct(**{column.name: column.type or "" for column in columns})

    texts = {"source": "STRING", "step": "BIGINT", "reason": "STRING", "bound": "STRING"}
    times = tuple(schema[name] for name in schema.user_time)
    found = {"time": whole(times), **texts, "row": whole(schema.visible)}
    return [Column(name, type_) for name, type_ in found.items()]
