"""Ticks of the clock of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tidegate.flow.clocks import Clock
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows

__all__ = ["TickFeed"]


class TickFeed(Feed):
    """A feed of ticks, each later than the one before. Ticks that were missed do not come later."""

    kind = "ticks"
    endless = True

    def __init__(
        self, source: Source, backend: LocalBackend, given: Clock, shown: Callable[[], float] = time.time
    ) -> None:
        super().__init__(source, backend)
        self._every = given.every
        self._shown = shown
        self._last: int | None = None
        self._bound: int | None = None

    def resume(self, position: Any, noted: pa.Table | None) -> None:  # noqa: ARG002
        """Continue after the last tick."""
        self._last = position["tick"] if position else None

    @property
    def position(self) -> dict[str, int | None]:
        """The last tick, in microseconds."""
        return {"tick": self._last}

    def bound(self) -> None:
        """Limit the feed to one more tick."""
        if self._bound is None:
            self._bound = self._tick()

    def read_new(self) -> NewRows | None:
        """Return the tick that is due."""
        tick = self._tick() if self._bound is None else self._bound
        if self._last is not None and tick <= self._last:
            return None
        (column,) = self.source.schema.columns
        rows = pa.RecordBatch.from_arrays([pa.array([tick], pa.int64()).cast(pa.timestamp("us"))], names=[column.name])
        return NewRows(self.backend.rows([rows], self.source.schema.columns), {"tick": tick}, own=tick)

    def committed(self, new_rows: NewRows) -> None:
        """Note that a tick is committed."""
        self._last = new_rows.own

    def _tick(self) -> int:
        now = int(self._shown() * 1_000_000)
        return now - now % self._every
