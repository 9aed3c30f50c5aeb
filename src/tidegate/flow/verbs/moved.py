"""Rows at other times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.building import Building
from tidegate.flow.moves import moves_of, shift_of

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Moved"]


class Moved(Building):
    """Rows at other times."""

    def at(self, expression: str | None = None, /, **columns: str) -> Stream:
        """Move each row to the time that an expression gives, at or above its own.

        A row without such a time is rejected, and can be read with the reason under the name of this operator. On
        several time columns, each that changes is named: ``at(valid="…", version="…")``. What comes after sees the new
        time only; to keep the old one, copy it first.

        >>> print(edits.with_columns(edited="ts").at("ts + INTERVAL 1 HOUR").schema)
        ts TIMESTAMP, page STRING, bytes INT, edited TIMESTAMP; time: ts
        """
        with self._building("at", timed=True):
            self._check_counted()
            moves = moves_of(expression, columns, self.schema)
            zone = self.flow.timezone
            shifts = tuple(shift_of(e, c, zone) for e, c in zip(moves, self.schema.times, strict=True))
            return self._add(plan.At, self.schema, moves=moves, shifts=shifts)
