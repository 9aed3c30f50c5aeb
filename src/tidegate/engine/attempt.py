"""An attempt at a step: where its files go, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from tidegate.engine.loops.rounds import Least
from tidegate.engine.relation import Backend, Relation
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.partitions import text_columns, text_of
from tidegate.engine.storage.state import Part
from tidegate.flow.plan import Iterate, Plan

__all__ = ["NOTHING", "Attempt", "Parts", "Watch"]

NOTHING: Mapping[str, str] = MappingProxyType({})

#: Called by a loop after each round, with its number and the least time of what is fresh; None: nothing is.
Watch: TypeAlias = Callable[[Iterate, int, Least | None], None]


class Parts(Protocol):
    """How parts of state are written and read."""

    def read(self, parts: Sequence[Part], shape: Any, *, coalesced: bool = False) -> Relation:
        """Return the rows of some parts; ``coalesced`` says that they are few, and best in one place."""
        ...

    def read_cached(self, parts: Sequence[Part], shape: Any) -> Relation:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        ...

    def write(
        self, files: Files, path: str, rows: Relation, times: Sequence[str] = (), by: Mapping[str, str] = NOTHING
    ) -> Part:
        """Write rows under a path that nobody else writes to; count them, and see where ``times`` lie.

        ``by`` are columns that are not written: each has texts of another, whose values get directories of their own.
        """
        ...


class Attempt:
    """An attempt at a step. The names of all that it writes end with ``suffix``: no other attempt has that."""

    def __init__(
        self,
        number: int,
        suffix: str,
        flow: Plan,
        files: Files,
        backend: Backend,
        shapes: Mapping[str, Any],
        parts: Parts,
        tables: Mapping[str, Relation],
        *,
        watch: Watch = lambda loop, number, least: None,  # noqa: ARG005
    ) -> None:
        self.number = number
        self.suffix = suffix
        self.flow = flow
        self.files = files
        self.backend = backend
        #: The shape of the output of each operator.
        self.shapes = shapes
        self.watch = watch
        #: The rows of the flow's tables.
        self.tables = tables
        self._parts = parts
        #: The directories that it has written; those that its commit does not name can go.
        self.made: set[str] = set()

    def nothing(self, operator: str) -> Relation:
        """Return no rows, of the output of an operator."""
        return self.backend.nothing(self.shapes[operator])

    def write(self, key: str, port: int, kind: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows as a part of a state; ``times`` are looked at on the way."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return self._parts.write(self.files, path, rows, times)

    def write_rows(self, files: Files, path: str, rows: Relation, by: Sequence[str] = ()) -> Part:
        """Write rows that are no state, to a path that nobody else writes to; by the values of some columns apart."""
        if not by:
            return self._parts.write(files, path, rows)
        texts = text_columns(by, rows.names)
        apart = rows.with_columns({name: text_of(column) for name, column in texts.items()})
        return self._parts.write(files, path, apart, by=texts)

    def read(self, parts: Sequence[Part], shape: Any, *, coalesced: bool = False) -> Relation:
        """Return the rows of some parts; ``coalesced`` says that they are few."""
        return self._parts.read(parts, shape, coalesced=coalesced)

    def read_cached(self, parts: Sequence[Part], shape: Any) -> Relation:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        return self._parts.read_cached(parts, shape)
