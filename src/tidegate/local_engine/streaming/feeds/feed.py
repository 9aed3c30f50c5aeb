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
    """The new rows of a feed in a step, with the columns of the source, and the position after them.

    They count as read when the step is committed. If it is not, the next attempt may get other rows.
    """

    rows: Relation
    #: The position, as JSON.
    position: Any
    #: What belongs to the position and is too large for a commit. It is added to a state.
    noted: pa.Table | None = None
    #: A value of the feed's own, which it gets back when the step is committed.
    own: Any = None
    #: The number of rows, if all are in memory in the declared types and cost nothing to read again.
    count: int | None = None


class Feed:
    """The base of all feeds. As it is, it has no rows."""

    #: Its name in commits. A feed of another kind can't continue from its position.
    kind = ""
    #: The columns of `NewRows.noted`, with their types; empty if the position needs no such table.
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
        """Limit the feed to what is available now. Nothing that comes later is read."""

    def read_new(self) -> NewRows | None:
        """Return the new rows, without waiting; None if there are none.

        If the step that reads them is not committed, they are new again.
        """
        return None

    def check_read(self, new_rows: NewRows) -> None:
        """Raise if the input changed while the new rows were read."""

    def committed(self, new_rows: NewRows) -> None:
        """Record that the new rows are committed. The feed continues after them."""

    @property
    def ended(self) -> bool:
        """Whether nothing new can ever come."""
        return False

    @property
    def caught_up(self) -> bool:
        """Whether everything available was read, if `read_new` has just returned None.

        A feed that fetches ahead may not know, and says no.
        """
        return True

    def wait(self, seconds: float) -> None:
        """Wait until there may be new rows, at most for the given time. A feed that cannot know does not wait."""

    def close(self) -> None:
        """Release open resources."""
