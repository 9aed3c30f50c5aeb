"""The method of `Stream` that moves rows to other times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.building import Building
from tidegate.flow.moves import moves_of, shift_of

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Moved"]


class Moved(Building):
    """The method that moves rows to other times."""

    def at(self, expression: str | None = None, /, **columns: str) -> Stream:
        """Return the rows at a later time, which an expression computes from each row.

        Use it for reminders and deadlines: to answer later than rows come. The operators after it see only the new
        time; to keep the old one, copy it to another column first. Rows pass at once; nothing is kept.

        A row is rejected if its new time is NULL or below its own. ``run.rejected(stream.id)`` has it, with the reason.

        Args:
            expression: The new time, in Spark SQL: ``"ts + INTERVAL 1 HOUR"``.
            **columns: With several time columns, those that change: ``at(valid="…", version="…")``.

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
