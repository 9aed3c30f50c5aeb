"""Frontiers that a flow publishes beside its output, so that flows of other applications can follow it.

A promise counts the rows of the steps that it covers. A follower applies it after it has read that many rows of those
steps, and not before. So no row is late by a promise that was read ahead of it, in whatever order rows and promises are
listed and read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.engine.frontiers import Frontier, frontier_from_json, frontier_to_json, parts_of, start_of
from tidegate.engine.storage.dataclass_json import as_object, from_object
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.sealed import sealed_line, unsealed
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import PlanOperator
from tidegate.flow.schema import Schema
from tidegate.flow.spans import from_units, units, within
from tidegate.time import Antichain, Bound

__all__ = ["PROMISES", "Following", "Outlet", "Promise", "check_promises", "final"]

#: The directory of promises beside the rows. Spark ignores it when it reads the output.
PROMISES = "_frontier"


@dataclass(frozen=True, slots=True)
class Promise:
    """A published frontier: this many rows came out up to a step, and none below the frontier will follow."""

    step: int
    rows: int
    #: The frontier as `frontier_to_json` returns it; empty when the input has ended.
    frontier: tuple[tuple[Any, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Promise:
        """Return the promise from a line of JSON.

        >>> Promise.parse('{"step": 4, "rows": 17, "frontier": [[30]]}')
        Promise(step=4, rows=17, frontier=((30,),))
        """
        try:
            return from_object(cls, unsealed(text, required=False))
        except ValueError:
            raise BadInput(
                f"expected a frontier that a flow has published, got {text!r}",
                hint=f"only the flow that writes an output may write to its directory {PROMISES}",
            ) from None

    @property
    def line(self) -> str:
        """The promise as a line of JSON."""
        return sealed_line(as_object(self))


@dataclass(frozen=True, slots=True)
class Outlet:
    """A sink's directory: how many rows it has so far, the frontier published there, and by which step."""

    root: str
    rows: int = 0
    frontier: tuple[tuple[Any, ...], ...] | None = None
    step: int = -1

    def after(self, step: int, rows: int, schema: Schema, frontier: Frontier) -> Outlet:
        """Return the outlet after a step. A published frontier is never taken back."""
        grown = replace(self, rows=self.rows + rows)
        if self.goes_back(schema, frontier) or set(self._before(schema)) == set(frontier):
            return grown
        return replace(grown, frontier=tuple(map(tuple, frontier_to_json(schema, frontier))), step=step)

    def goes_back(self, schema: Schema, frontier: Frontier) -> bool:
        """Whether a frontier contains times that were published as complete."""
        return not all(map(self._before(schema).reaches, frontier))

    def _before(self, schema: Schema) -> Frontier:
        if self.frontier is None:
            return start_of(schema)
        try:
            return frontier_from_json(schema, self.frontier)
        except BadInput as error:
            raise BadCheckpoint(error.what, hint=error.hint).at(f"the output in {self.root}") from None

    @property
    def promise(self) -> Promise:
        """The promise that is in force."""
        return Promise(self.step, self.rows, self.frontier or ())


def check_promises(files: Files) -> None:
    """Raise if the last frontier of an output can't be read.

    Spark would treat an empty file as read, and wait forever.
    """
    stems = [name.removesuffix(".json") for name in files.names(PROMISES)]
    steps = [int(stem) for stem in stems if stem.isascii() and stem.isdecimal()]
    if steps:
        files.read(
            f"{PROMISES}/{max(steps)}.json",
            "a frontier that a flow has published",
            {"step": int, "rows": int, "frontier": list},
            hint="restore it from a copy; or, if the other flow goes on, delete it: the next one counts in its place",
        )


def final(operator: PlanOperator, frontier: Frontier) -> Frontier:
    """Return the least times at which rows may still come out of an operator, revisions included.

    A window with lateness answers again until its end and the lateness are complete.
    """
    frame = getattr(operator, "frame", None)
    lateness = getattr(frame, "lateness", 0)
    if not lateness:
        return frontier
    schema, over = operator.schema, frame.over  # type: ignore[union-attr]
    type_ = schema[over].type or ""
    moved = []
    for f in frontier:
        parts = [
            # No row can come before the first time of the type.
            from_units(within(units(part, type_) - lateness, type_), type_)
            if name == over and not isinstance(part, Bound)
            else part
            for name, part in zip(schema.time, parts_of(schema, f), strict=True)
        ]
        moved.append(parts[0] if len(parts) == 1 else tuple(parts))
    return Antichain(schema.order, moved)


@dataclass(frozen=True, slots=True)
class Following:
    """How far the output of another flow was read, and the promises that wait for more rows.

    >>> rows_5 = Promise(step=1, rows=5, frontier=((30,),))
    >>> behind, applied = Following().after({0: 3}, [rows_5])
    >>> applied is None, behind.waiting == (rows_5,)
    (True, True)
    >>> level, applied = behind.after({1: 2}, [])
    >>> applied == rows_5, level
    (True, Following(step=1, rows=5, later=(), waiting=()))
    """

    #: The step whose promise was applied last, and how many rows were read of the steps up to it.
    step: int = -1
    rows: int = 0
    #: How many rows were read of each later step.
    later: tuple[tuple[int, int], ...] = ()
    waiting: tuple[Promise, ...] = ()

    def after(self, read: Mapping[int, int], promises: Iterable[Promise]) -> tuple[Following, Promise | None]:
        """Return this after more rows, counted by step, and more promises; and the promise that is now in force."""
        counts = dict(self.later)
        for step, rows in read.items():
            counts[step] = counts.get(step, 0) + rows
        waiting = sorted({*self.waiting, *promises}, key=lambda promise: promise.step)
        kept = [promise for promise in waiting if promise.step > self.step]
        applied: Promise | None = None
        for promise in kept:
            found = self.rows + sum(rows for step, rows in counts.items() if step <= promise.step)
            if found > promise.rows:
                raise BadInput(
                    f"expected {promise.rows} rows up to step {promise.step} of a published output, got {found}",
                    hint="only the flow that publishes a directory may write to it; read it with tg.read_stream(…)",
                )
            if found == promise.rows:
                applied = promise
        if applied is None:
            return replace(self, later=tuple(sorted(counts.items())), waiting=tuple(kept)), None
        later = tuple(sorted((step, rows) for step, rows in counts.items() if step > applied.step))
        left = tuple(promise for promise in kept if promise.step > applied.step)
        return Following(applied.step, applied.rows, later, left), applied

    @property
    def missing(self) -> tuple[int, int]:
        """The step of the first promise that waits, and how many of its rows were not read yet."""
        first = self.waiting[0]
        return first.step, first.rows - self.rows - sum(rows for step, rows in self.later if step <= first.step)
