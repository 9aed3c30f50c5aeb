"""Several streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.flow import joins, plan
from tidegate.flow.building import Building
from tidegate.flow.errors import BadTime
from tidegate.flow.schema import Column
from tidegate.flow.spans import parse_span
from tidegate.flow.windows import window_frame

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Paired"]


class Paired(Building):
    """Several streams."""

    def union(self, other: Stream, *others: Stream) -> Stream:
        """Put the rows of two streams or more together; their columns are matched by name.

        >>> small, large = edits.where("bytes < 10"), edits.where("bytes > 1000")
        >>> edits.where("bytes = 100").union(small, large).id
        'union#1'
        """
        with self._building("union"):
            streams = [self._other(each) for each in (other, *others)]
            for each in streams:
                joins.check_union(self, each)
            types = {c.name: [c.type, *(each.schema[c.name].type for each in streams)] for c in self.schema.columns}
            columns = tuple(Column(name, next((t for t in known if t), None)) for name, known in types.items())
            return self._add(plan.Union, self.schema.of(columns), others=tuple(streams))

    def join(self, other: Stream, on: Any, *, where: str | None = None, how: str = "inner") -> Stream:
        """Pair rows of two streams that have equal times and equal columns ``on``; with a table, at every time.

        ``on`` may map columns of this stream to those of the other; the names of this one stay. ``where`` is part of
        the match, and reads ``left.x`` and ``right.x``. ``how`` is ``inner``, ``left``, ``right``, ``full``, ``semi``
        or ``anti``. Null keys never match. The result has one set of time columns, never null.

        >>> pages = edits.flow.table("pages", "page STRING, topic STRING")
        >>> print(edits.join(pages, on="page").schema)
        ts TIMESTAMP, page STRING, bytes INT, topic STRING; time: ts
        """
        with self._building("join"):
            sides = joins.Sides.of(self, self._other(other), on, how, tables=True)
            condition = sides.condition(where)
            sides.check_equal_times(condition)
            return self._add(
                plan.Join,
                sides.schema,
                others=(sides.right,),
                where=condition,
                **sides.fields,
                with_table=sides.with_table,
            )

    def join_asof(
        self, other: Stream, on: Any = (), *, within: Any = None, how: str = "inner", over: str | None = None
    ) -> Stream:
        """Pair each row with the latest row of ``other`` at or below its time; ``within`` bounds how far back.

        Of several rows at that time, it is the greatest by all columns. ``how`` is ``inner`` or ``left``.

        >>> prices = edits.flow.source("prices", "ts TIMESTAMP, page STRING, price DOUBLE", time="ts")
        >>> print(edits.join_asof(prices, on="page", within="1 hour").schema)
        ts TIMESTAMP, page STRING, bytes INT, price DOUBLE; time: ts
        """
        with self._building("join_asof", timed=True):
            name, type_ = self._along(over, within)
            sides = joins.Sides.of(self, self._other(other), on, how, allowed=("inner", "left"))
            span = None if within is None else parse_span(within, type_, what="within", least=0)
            return self._add(
                plan.JoinAsof,
                sides.schema,
                others=(sides.right,),
                over=name,
                within=span,
                **sides.fields,
            )

    def interval_join(
        self,
        other: Stream,
        on: Any,
        *,
        lower: Any = None,
        upper: Any = None,
        where: str | None = None,
        how: str = "inner",
        over: str | None = None,
    ) -> Stream:
        """Pair rows whose times are so far apart: ``lower <= other's time - this row's time <= upper``.

        A pair is at the later of the two times; one's own is kept by a copy of it, made before. ``lower`` and ``upper``
        are spans, also negative ones; None is without bound, and then rows are kept for ever. A row without a match
        comes when none can come any more; with ``semi`` it comes at its first match. ``where`` may read both times, as
        ``left.ts`` and ``right.ts``. On several time columns, ``over`` is the one that is meant, and the others must be
        equal; without ``over`` and bounds, a pair is at the least time at or above both.

        >>> views = edits.flow.source("views", "ts TIMESTAMP, page STRING, reader STRING", time="ts")
        >>> print(edits.interval_join(views, on="page", lower=0, upper="10 minutes").schema)
        ts TIMESTAMP, page STRING, bytes INT, reader STRING; time: ts
        """
        with self._building("interval_join", timed=True):
            right = self._other(other)
            if not right.schema.time:
                raise BadTime(f"expected a stream, got the table {right.id}: it has no time", hint="join(…) takes one")
            along = joins.over_interval(self, lower, upper, over, how)
            sides = joins.Sides.of(self, right, on, how)
            condition = sides.condition(where, shared=[n for n in self.schema.time if along.over not in (None, n)])
            return self._add(
                plan.IntervalJoin,
                sides.schema,
                others=(sides.right,),
                over=along.over,
                lower=along.lower,
                upper=along.upper,
                where=condition,
                **sides.fields,
            )

    def window_join(
        self,
        other: Stream,
        on: Any,
        *,
        size: Any,
        where: str | None = None,
        every: Any = None,
        offset: Any = 0,
        lateness: Any = 0,
        how: str = "inner",
        over: str | None = None,
    ) -> Stream:
        """Pair rows that are in a window together, once for each such window, at the window's last unit.

        With ``lateness``, a window and key is answered again, whole, for rows that come late, and its rows carry a
        ``revision``; ``anti`` is refused there.

        >>> views = edits.flow.source("views", "ts TIMESTAMP, page STRING, reader STRING", time="ts")
        >>> print(edits.window_join(views, on="page", size="1 hour").schema)
        ts TIMESTAMP, page STRING, bytes INT, reader STRING; time: ts
        """
        with self._building("window_join", timed=True):
            frame = window_frame(self._over(over), size, size if every is None else every, offset, lateness)
            sides = joins.Sides.of(self, self._other(other), on, how)
            condition = sides.condition(where)
            return self._add(
                plan.WindowJoin,
                sides.revised() if frame.lateness else sides.schema,
                others=(sides.right,),
                frame=frame,
                where=condition,
                **sides.fields,
            )
