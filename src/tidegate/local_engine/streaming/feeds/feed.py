"""A feed: what a source of a running flow is read from, and where it continues after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.engine.relation import Relation
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend

__all__ = ["Feed", "NewRows"]


@dataclass(frozen=True, slots=True)
class NewRows:
    """What a step takes from a feed: rows with the columns of the source, and the position after them.

    It counts when the step is committed. Otherwise the next attempt may take another portion.
    """

    rows: Relation
    #: The position, as JSON.
    position: Any
    #: An addition to the position that is too large for a commit. It is kept as a part of state.
    noted: pa.Table | None = None
    #: A value that the feed gets back when the step is committed.
    own: Any = None
    #: The number of rows, if all are in memory in the declared types and cost nothing to read again.
    count: int | None = None


class Feed:
    """The base of all feeds. As it is, it has no rows."""

    #: Its name in commits. A feed of another kind can't continue from its position.
    kind = ""
    #: The columns of the table with the rest of its position; empty if it needs none.
    notes: Mapping[str, str] = {}
    #: Whether it never ends, so that nothing waits for its end.
    endless = False

    def __init__(self, source: Source, backend: LocalBackend) -> None:
        self.source = source
        self.backend = backend

    def resume(self, position: Any, noted: pa.Table | None) -> None:
        """Continue after a committed position; None is the beginning."""

    @property
    def position(self) -> Any:
        """The current position as JSON, for the commit of a step without rows of this source."""
        return None

    def bound(self) -> None:
        """Limit the feed to what is available now; nothing that comes later is taken."""

    def read_new(self) -> NewRows | None:
        """Return what is new, without waiting; None if nothing is. If it is not committed, it is new again."""
        return None

    def check_read(self, new_rows: NewRows) -> None:
        """Raise if what was taken changed while its rows were read."""

    def committed(self, new_rows: NewRows) -> None:
        """Note that what was taken is committed."""

    @property
    def ended(self) -> bool:
        """Whether nothing new can ever come."""
        return False

    @property
    def caught_up(self) -> bool:
        """Whether everything available was taken, given that `read_new` returned None.

        A feed that fetches ahead may not know.
        """
        return True

    def wait(self, seconds: float) -> None:
        """Wait until something may be new, at most for the given time. A feed that can't know that does not wait."""

    def close(self) -> None:
        """Release open resources."""
