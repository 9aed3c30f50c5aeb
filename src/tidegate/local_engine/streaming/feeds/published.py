"""The output of another flow, step by step, with the frontiers that it publishes beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.commits.by_step import MANIFEST, files_in, step_of
from tidegate.engine.inputs import STEP, check_columns
from tidegate.engine.orders import check_followed_order
from tidegate.engine.policies.lines import SIGNAL_LINE
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.engine.steps.owner import owner_of
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, check_files
from tidegate.engine.storage.published import PROMISES, check_promises
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.flow.schema import Column
from tidegate.flow.schema_json import columns_of_json
from tidegate.flow.watermarks import Published
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.paths import place_of
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows
from tidegate.local_engine.streaming.parts import file_rows

__all__ = ["PublishedFeed", "PublishedStream"]

#: The greatest number of steps of the other flow that one step reads.
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PublishedStream:
    """The output of another flow as an input of `start`."""

    path: str


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of the other flow: its files, and how many rows came before it."""

    number: int
    files: tuple[FileEntry, ...]
    before: int

    @property
    def rows(self) -> int:
        return sum(entry.rows for entry in self.files)


class PublishedFeed(Feed):
    """A feed of the steps of another flow, in the order of their numbers.

    While a directory is being written to, a listing of it may show a step and not the one before it. So each step says
    how many rows came before it, and is read only after all of those.
    """

    kind = "published"

    def __init__(self, source: Source, backend: LocalBackend, given: PublishedStream) -> None:
        super().__init__(source, backend)
        self._files = Files(place_of(given.path))
        owner = owner_of(self._files)
        self._owner = owner["id"]
        #: Whether the source follows the published frontiers. Otherwise it has another watermark strategy.
        self._follows = isinstance(source.watermark, Published)
        if isinstance(source.watermark, Published):
            _check_followed(source, source.watermark, self._files, owner)
        self._names = _declared(source, columns_of_json(owner["schema"]))
        self._at = {"step": -1, "rows": 0, "frontier": -1}
        self._last: int | None = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Continue after a step and a frontier."""
        if not position:
            return
        if position["owner"] != self._owner:
            raise BadCheckpoint(
                f"expected the output that was followed in {self._files.root}, got that of another checkpoint",
                hint="to follow an output that was started again, use a new checkpoint",
            )
        self._at = {name: position[name] for name in self._at}

    @property
    def position(self) -> dict[str, Any]:
        """The last step and the last frontier that were read, and the number of rows up to them."""
        return {**self._at, "owner": self._owner}

    def bound(self) -> None:
        """Limit the feed to the steps that exist now."""
        self._last = max((step.number for step in self._steps(most=None)), default=-1)

    def read_new(self) -> NewRows | None:
        """Return the rows of new steps, and new frontiers."""
        # Frontiers are listed first: the rows that a frontier counts exist before it.
        promises = self._promises() if self._follows else []
        steps = self._steps(most=_AT_ONCE)
        if not steps and not promises:
            return None
        parts = [self.backend.nothing(self._columns), *map(self._rows, steps)]
        rows: Relation = united(parts)
        if promises:
            lines = [self._files.text(f"{PROMISES}/{number}.json") for number in promises]
            batch = pa.RecordBatch.from_pydict({SIGNAL_LINE: pa.array(lines, pa.string())})
            rows = rows.union(self.backend.rows([batch], [Column(SIGNAL_LINE, "STRING")]), fill=True)
        at = {
            "step": max([self._at["step"], *(step.number for step in steps)]),
            "rows": self._at["rows"] + sum(step.rows for step in steps),
            "frontier": max([self._at["frontier"], *promises]),
        }
        return NewRows(rows, {**at, "owner": self._owner}, own=at)

    def committed(self, new_rows: NewRows) -> None:
        """Continue after the steps and frontiers that were read."""
        self._at = new_rows.own

    @property
    def _columns(self) -> tuple[Column, ...]:
        more = (Column(STEP, "BIGINT"), Column(SIGNAL_LINE, "STRING")) if self._follows else ()
        return (*self.source.schema.columns, *more)

    def _steps(self, *, most: int | None) -> list[_Step]:
        """Return the next steps, up to the first that is missing or not complete."""
        numbers = [number for name in self._files.names() if (number := step_of(name)) is not None]
        found: list[_Step] = []
        rows = self._at["rows"]
        for n in sorted(n for n in numbers if n > self._at["step"]):
            path = f"step={n}/{MANIFEST}"
            last = self._last is not None and n > self._last
            if last or len(found) == most or not self._files.exists(path):
                break
            manifest = self._files.read(path, "the files of a step", {"files": list, "before": int})
            step = _Step(n, files_in(manifest, self._files.path(path)), manifest["before"])
            if step.before != rows:
                break
            found.append(step)
            rows += step.rows
        return found

    def _promises(self) -> list[int]:
        stems = [name.removesuffix(".json") for name in self._files.names(PROMISES)]
        return sorted(int(stem) for stem in stems if stem.isdecimal() and int(stem) > self._at["frontier"])

    def _rows(self, step: _Step) -> Relation:
        name = f"step={step.number}"
        check_files(self._files, name, step.files, f"the output of step {step.number}")
        paths = [self._files.here / name / entry.name for entry in step.files]
        rows: Relation = file_rows(self.backend, paths, self._columns_in(paths[0]))
        rows = self.backend.nothing(self.source.schema.columns).union(rows.renamed(self._names), fill=True)
        rows = rows.select(as_they_are(self.source.schema.names))
        if not self._follows:
            return rows
        return rows.with_columns({STEP: f"{step.number}L", SIGNAL_LINE: "CAST(NULL AS STRING)"})

    def _columns_in(self, path: Path) -> list[Column]:
        """Return those columns of a file that the source has. The other flow may have added columns since."""
        there = {name.lower(): name for name in pq.read_schema(path).names}
        own = {given: declared for given, declared in self._names.items() if given.lower() in there}
        return [Column(given, self.source.schema[declared].type) for given, declared in own.items()]


def _declared(source: Source, columns: list[Column]) -> dict[str, str]:
    """Return the names of an output's columns in the source; raise if they are not the declared ones."""
    found = check_columns(
        source,
        columns,
        selected=lambda names: f"declare {', '.join(names)} alone",
        cast=lambda column: f"declare {column.name} as it is",
    )
    return dict(zip(found, source.schema.names, strict=True))


def _check_followed(source: Source, watermark: Published, files: Files, owner: Mapping[str, Any]) -> None:
    """Raise unless a source follows the output that it reads, and has the same times."""
    promised = Files(place_of(watermark.path))
    if promised.here.resolve() != files.here.resolve():
        raise BadInput(
            f"expected rows of the output whose frontier the source follows, {promised.root}, got {files.root}",
            hint="tg.read_stream(session, path) with the path of tg.published(path)",
        )
    declared, times = source.schema.promised_times, owner["time"]
    if times != declared:
        given, wanted = (", ".join(f"{name} {type_}" for name, type_ in listed) for listed in (times, declared))
        raise BadInput(
            f"expected a frontier of times {wanted}, got one of {given} from {files.root}",
            hint="declare the time columns that the published output has",
        )
    check_followed_order(source, owner, files.root)
    check_promises(files)
