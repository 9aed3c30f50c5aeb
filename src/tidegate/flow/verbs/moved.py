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

        Use it to answer later than rows come: a reminder, a deadline, the end of a day.

        A row without such a time is rejected, and can be read with the reason under the name of this operator. On
        several time columns, each that changes is named: ``at(valid="…", version="…")``. What comes after sees the new
        time only; to keep the old one, copy it first.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.with_columns(clicked="t").at("t + 10").preview(rows)
        at#1: 2 rows
           t  page   ms  clicked
          11  home   40        1
          12  news  900        2
        """
        with self._building("at", timed=True):
            self._check_counted()
            moves = moves_of(expression, columns, self.schema)
            zone = self.flow.timezone
            shifts = tuple(shift_of(e, c, zone) for e, c in zip(moves, self.schema.times, strict=True))
            return self._add(plan.At, self.schema, moves=moves, shifts=shifts)
