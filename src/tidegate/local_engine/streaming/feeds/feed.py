"""A feed: what a source of a running flow is read from, step by step, and where it goes on after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.engine.relation import Relation
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend

__all__ = ["Feed", "Taking"]


@dataclass(frozen=True, slots=True)
class Taking:
    """What a step takes from a feed: rows, with the columns of the source, and the position behind them.

    It counts when the step is committed. What was not may be cut otherwise the next time.
    """

    rows: Relation
    #: As JSON has it.
    position: Any
    #: What is added to the position that is too large for a commit: it is kept as a part of state.
    noted: pa.Table | None = None
    #: What the feed itself wants to know again when the step is committed.
    own: Any = None
    #: How many rows there are, if all are in memory as they were declared: to read them again takes nothing.
    count: int | None = None


class Feed:
    """A feed that has nothing, and what others change of it."""

    #: What a commit calls it: a feed of another kind cannot go on from its position.
    kind = ""
    #: What its position is kept in, besides the commit: columns of a table, none if it needs none.
    notes: Mapping[str, str] = {}
    #: Whether it never ends, and nobody waits for that.
    endless = False

    def __init__(self, source: Source, backend: LocalBackend) -> None:
        self.source = source
        self.backend = backend

    def resume(self, position: Any, noted: pa.Table | None) -> None:
        """Go on behind a position that was committed; None is the beginning."""

    @property
    def position(self) -> Any:
        """Where it is by now, as JSON has it: what a commit says of a source that nothing came from."""
        return None

    def bound(self) -> None:
        """Take what there is now for all there is: nothing that comes later is new."""

    def take(self) -> Taking | None:
        """Return what is new, and do not wait for it; None if nothing is. Without a commit, it is new again."""
        return None

    def check_read(self, taking: Taking) -> None:
        """Raise if what was taken changed while its rows were read."""

    def committed(self, taking: Taking) -> None:
        """Know that what was taken is in a commit."""

    @property
    def ended(self) -> bool:
        """Whether nothing will ever be new any more."""
        return False

    @property
    def resting(self) -> bool:
        """Whether all that there is now was taken, if `take` returns nothing; who fetches ahead may not know yet."""
        return True

    def wait(self, seconds: float) -> None:
        """Wait until something may be new, at most so long; who cannot know that does not wait."""

    def close(self) -> None:
        """Let go of what is held open."""
