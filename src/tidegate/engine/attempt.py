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

#: Called by a loop after each round, with its number and the least time of fresh facts; None if there are none.
Watch: TypeAlias = Callable[[Iterate, int, Least | None], None]


class Parts(Protocol):
    """How parts of state are written and read."""

    def read(self, parts: Sequence[Part], shape: Any, *, coalesced: bool = False) -> Relation:
        """Return the rows of some parts; ``coalesced`` says that they are few, and best in one partition."""
        ...

    def read_cached(self, parts: Sequence[Part], shape: Any) -> Relation:
        """Return the rows of some parts; large ones stay in memory from step to step."""
        ...

    def write(
        self, files: Files, path: str, rows: Relation, times: Sequence[str] = (), by: Mapping[str, str] = NOTHING
    ) -> Part:
        """Write rows to a path that nothing else writes to, and return the part, which has the range of ``times``.

        Rows are partitioned by the columns in ``by``, which are not written. ``by`` maps each of them to the column
        that it has as text.
        """
        ...


class Attempt:
    """One try at a step. The names of everything that it writes end with ``suffix``, which no other attempt has."""

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
        #: The directories that it has written. Those that its commit does not name can be deleted.
        self.made: set[str] = set()

    def nothing(self, operator: str) -> Relation:
        """Return an empty relation with the columns of an operator's output."""
        return self.backend.nothing(self.shapes[operator])

    def write(self, key: str, port: int, kind: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows as a part of a state; return the part, which has the range of ``times``."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return self._parts.write(self.files, path, rows, times)

    def write_rows(self, files: Files, path: str, rows: Relation, by: Sequence[str] = ()) -> Part:
        """Write rows that are not state to a path that nothing else writes to, partitioned by some columns."""
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
