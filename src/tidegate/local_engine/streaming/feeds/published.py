"""The output of another flow, step by step, with the frontiers that it publishes beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.engine.commits.by_step import MANIFEST, step_of
from tidegate.engine.inputs import STEP
from tidegate.engine.policies.following import TOLD
from tidegate.engine.relation import Relation
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import check_files, decode_files
from tidegate.engine.storage.published import PROMISES
from tidegate.flow.plan import Source
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.inputs import rows_of_files
from tidegate.local_engine.streaming.feeds.feed import Feed, Taking

__all__ = ["PublishedFeed", "PublishedStream"]


@dataclass(frozen=True, slots=True)
class PublishedStream:
    """The output of another flow as an input of `start`."""

    path: str


class PublishedFeed(Feed):
    """A feed of the steps of another flow. Steps and frontiers appear in the order of their numbers."""

    def __init__(self, source: Source, backend: LocalBackend, files: Files, *, follows: bool) -> None:
        super().__init__(source, backend)
        self._files = files
        #: Whether the source goes by the frontiers, and not by another strategy.
        self._follows = follows
        self._step = -1
        self._promise = -1

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Go on behind a step and a frontier."""
        self._step, self._promise = (position["step"], position["frontier"]) if position else (-1, -1)

    def take(self) -> Taking | None:
        """Return the rows of steps, and the frontiers, that are new."""
        # Frontiers first: the rows that one speaks of are there before it.
        promises = self._promises() if self._follows else []
        steps = [step for step in self._steps() if step > self._step]
        if not steps and not promises:
            return None
        rows: Relation = self.backend.nothing(self._columns)
        for step in steps:
            rows = rows.union(self._rows(step))
        if promises:
            lines = [self._files.text(f"{PROMISES}/{number}.json") for number in promises]
            batch = pa.RecordBatch.from_pydict({TOLD: pa.array(lines, pa.string())})
            rows = rows.union(self.backend.rows([batch], [Column(TOLD, "STRING")]), fill=True)
        at = {"step": max([self._step, *steps]), "frontier": max([self._promise, *promises])}
        return Taking(rows, at, own=at)

    def committed(self, taking: Taking) -> None:
        """Go on behind what was taken."""
        self._step, self._promise = taking.own["step"], taking.own["frontier"]

    @property
    def _columns(self) -> tuple[Column, ...]:
        more = (Column(STEP, "BIGINT"), Column(TOLD, "STRING")) if self._follows else ()
        return (*self.source.schema.columns, *more)

    def _steps(self) -> list[int]:
        """Return the steps that are whole: one whose files are moved one by one has some of them only."""
        found = []
        for name in self._files.names():
            step = step_of(name)
            if step is not None and step > self._step and self._files.exists(f"{name}/{MANIFEST}"):
                found.append(step)
        return sorted(found)

    def _promises(self) -> list[int]:
        stems = [name.removesuffix(".json") for name in self._files.names(PROMISES)]
        return sorted(int(stem) for stem in stems if stem.isdecimal() and int(stem) > self._promise)

    def _rows(self, step: int) -> Relation:
        name = f"step={step}"
        manifest = self._files.read(f"{name}/{MANIFEST}", "the files of a step", {"files": list})
        entries = decode_files(manifest["files"])
        check_files(self._files, name, entries, f"the output of step {step}")
        paths = [str(self._files.here / name / entry.name) for entry in entries]
        rows: Relation = rows_of_files(self.backend, self.source, "parquet", paths)
        if not self._follows:
            return rows
        return rows.with_columns({STEP: f"{step}L", TOLD: "CAST(NULL AS STRING)"})
