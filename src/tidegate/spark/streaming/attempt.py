"""An attempt at a step: where its files go, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.engine.loops.rounds import Least
from tidegate.engine.relation import Relation
from tidegate.flow.plan import Iterate, Plan
from tidegate.spark.backend import SparkBackend
from tidegate.spark.relation import frame_of
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.state import Part, read_parts, write_part
from tidegate.spark.streaming.warm import Warm

__all__ = ["Attempt"]

#: Called by a loop after each round, with its number and the least time of what is fresh; None: nothing is.
Watch = Callable[[Iterate, int, Least | None], None]


class Attempt:
    """An attempt at a step. The names of all that it writes end with ``suffix``: no other attempt has that."""

    def __init__(
        self,
        number: int,
        suffix: str,
        flow: Plan,
        files: Files,
        backend: SparkBackend,
        shapes: Mapping[str, Any],
        *,
        warm: Warm | None = None,
        watch: Watch = lambda loop, number, least: None,  # noqa: ARG005
    ) -> None:
        self.number = number
        self.suffix = suffix
        self.flow = flow
        self.files = files
        self.backend = backend
        self.runtime = backend.runtime
        #: The shape of the output of each operator.
        self.shapes = shapes
        self.watch = watch
        self._warm = warm or Warm()
        #: The directories that it has written; those that its commit does not name can go.
        self.made: set[str] = set()

    def nothing(self, operator: str) -> Relation:
        """Return no rows, of the output of an operator."""
        return self.backend.nothing(self.shapes[operator])

    def write(self, key: str, port: int, kind: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows as a part of a state; ``times`` are looked at on the way."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return write_part(self.files, self.runtime, frame_of(rows), path, times)

    def read(self, parts: Sequence[Part], shape: Any, *, coalesced: bool = False) -> Relation:
        """Return the rows of some parts; ``coalesced`` puts them into one partition."""
        rows = read_parts(self.files, self.runtime, parts, shape)
        return self.backend.relation(rows.coalesce(1) if coalesced else rows)

    def read_cached(self, parts: Sequence[Part], shape: Any) -> Relation:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        return self.backend.relation(self._warm.read(self.files, self.runtime, parts, shape))
