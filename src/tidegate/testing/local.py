"""The local engine for trials. The trial makes the steps, and answers are read from the files of the outputs."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from tidegate.engine.outputs import parquet
from tidegate.engine.policies import policy_of
from tidegate.engine.policies.by_hand import line_of
from tidegate.engine.storage.files import Files
from tidegate.flow.arrow import table_of
from tidegate.flow.clocks import given_schema
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column, Schema
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.session import Local, cursor_of, local
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.feeds.by_hand import ManualInput
from tidegate.local_engine.streaming.parts import file_rows
from tidegate.local_engine.streaming.reading import data_files, read
from tidegate.local_engine.streaming.start import prepare
from tidegate.local_engine.types import spark_type
from tidegate.progress import Reason
from tidegate.testing.driven_run import DrivenRun, ManualClock
from tidegate.testing.engines import Driver, Row, Setting, SourceInput
from tidegate.testing.plans import driven

__all__ = ["LocalDriver", "place_for", "plain", "session", "set_aside", "timed_lines"]

_MEMORY = Path("/dev/shm")
#: How many bytes must be free there.
_ROOM = 256 << 20


@cache
def session() -> Local:
    """Return the session that all trials share, because to open one takes longer than most steps."""
    return local(threads=1)


class LocalDriver(Driver):
    """A flow on the local engine, with a checkpoint and outputs in a directory of its own."""

    def __init__(self, setting: Setting, directory: Path | None, **options: Any) -> None:
        self._plan = driven(setting)
        self._setting = setting
        self._clock = ManualClock(setting.now)
        self._options = options
        self._place = place_for(self, directory)
        self._handed = {s.id: ManualInput() for s in self._plan.sources if s.id not in setting.clocks}
        self._tables = {t.id: table_of(setting.tables[t.id], t.schema.columns) for t in self._plan.tables}
        self._engine = self._begin()

    def _begin(self) -> LocalEngine:
        inputs: dict[str, Any] = {**self._handed, **self._setting.clocks, **self._tables}
        outputs = {sink.name: parquet(str(self._place / sink.name)) for sink in self._plan.sinks}
        files = Files(self._place / "checkpoint")
        return prepare(self._plan, session(), inputs, outputs, files, clock=self._clock, **self._options)

    def step(self, given: Mapping[str, SourceInput], *, partitions: int = 1) -> None:  # noqa: ARG002
        """Put the rows and times into the feeds, and make a step."""
        for name, came in given.items():
            source = next(s for s in self._plan.sources if s.id == name)
            rows = table_of(came.rows, given_schema(source).columns)
            self._handed[name].add(rows, timed_lines(self._engine.flow, name, came.complete))
        self._engine.step()

    def set_clock(self, now: datetime) -> None:
        """Set the clock, and make a step with its ticks and beats."""
        self._clock.now = now
        self._engine.step()

    def restart(self) -> None:
        """Start a new engine, which continues from the checkpoint."""
        self._engine.close()
        self._engine = self._begin()

    def finish(self) -> None:
        """End the input."""
        self._engine.finish()

    def rows(self, sink: str) -> list[Row]:
        """Return the rows of committed steps."""
        found = read(session(), self._place / sink)
        schema = self._plan[next(s.input for s in self._plan.sinks if s.name == sink)].schema
        return rows_of(found, schema)

    def late(self, source: str) -> list[Row]:
        """Return the late rows of a source."""
        found = self._run.late(source)
        return set_aside(found.fetchall(), found.columns)

    def rejected(self, name: str) -> list[Row]:
        """Return the rows that a source or an operator rejected, with the reason."""
        found = self._run.rejected(name)
        return set_aside(found.fetchall(), found.columns, reason=True)

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what holds a time back at a sink."""
        return self._run.why(t, sink)

    def open_from(self, sink: str) -> list[Any]:
        """Return the least times of a sink that are not complete."""
        return list(self._run.frontiers()[sink])

    @property
    def _run(self) -> DrivenRun:
        return DrivenRun(self._engine, _read_aside)

    def close(self) -> None:
        """Close the engine, and remove the directory."""
        self._engine.close()
        shutil.rmtree(self._place, ignore_errors=True)


def place_for(owner: object, directory: Path | None) -> Path:
    """Return a new directory, which is deleted together with its owner. It is in ``directory``, or in memory."""
    place = Path(tempfile.mkdtemp(prefix="tidegate-trial-", dir=directory or _in_memory()))
    weakref.finalize(owner, shutil.rmtree, place, ignore_errors=True)
    return place


def _in_memory() -> Path | None:
    """Return a directory in memory, where checkpoints are written faster than to a disk; None if there is no room."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    return _MEMORY if usable else None


def timed_lines(flow: Plan, name: str, times: Sequence[Any]) -> list[str]:
    """Return the line of a signal that says which times of a source are complete; none if it takes no signals."""
    source = next(s for s in flow.sources if s.id == name)
    if not times or not policy_of(source).reads_lines:
        return []
    at = source.schema.coordinates
    return [line_of(source.schema, [at.time_on_axes(t) if at else t for t in times])]


def rows_of(found: duckdb.DuckDBPyRelation, schema: Schema) -> list[Row]:
    """Return the rows of a result. Raise if its columns are not those of ``schema``, which the flow derived."""
    settled = [Column(name, spark_type(str(type_))) for name, type_ in zip(found.columns, found.types, strict=True)]
    derived = [
        Column(c.name, (c.type or s.type or "").replace("TIMESTAMP_NTZ", "TIMESTAMP"))
        for c, s in zip(schema.columns, settled, strict=True)
    ]
    assert derived == settled, f"{list(map(str, derived))} were derived, {list(map(str, settled))} came out"
    return [dict(zip(schema.names, map(plain, row), strict=True)) for row in found.fetchall()]


def set_aside(rows: Sequence[Sequence[Any]], columns: Sequence[str], *, reason: bool = False) -> list[Row]:
    """Return rows that were set aside, as they were sent; ``reason`` adds the column ``reason``."""
    found = [dict(zip(columns, map(plain, row), strict=True)) for row in rows]
    return [{**aside["row"], **({"reason": aside["reason"]} if reason else {})} for aside in found]


def _read_aside(paths: list[str], columns: list[Column], condition: str) -> duckdb.DuckDBPyRelation:
    backend = LocalBackend(cursor_of(session()))
    found = data_files(paths) or []
    rows = file_rows(backend, found, columns) if found else backend.nothing(tuple(columns))
    return rows.where(condition).result()


def plain(value: Any) -> Any:
    """Return a value in which all instants are in UTC and have no zone."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value
