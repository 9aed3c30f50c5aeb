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

        Use it for sources of one kind. They have the same time columns, and columns of the same names and types.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> quick, slow = clicks.where("ms < 50"), clicks.where("ms > 500")
        >>> quick.union(slow).preview(rows)
        union#1: 2 rows
          t  page   ms
          1  home   40
          2  news  900
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

        Use it to look rows up in a table, or for rows of one moment; with rows of other times, there are `join_asof`,
        `interval_join` and `window_join`.

        ``on`` may map columns of this stream to those of the other; the names of this one stay. ``where`` is part of
        the match, and reads ``left.x`` and ``right.x``. ``how`` is ``inner``, ``left``, ``right``, ``full``, ``semi``
        or ``anti``. Null keys never match. The result has one set of time columns, never null.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> pages = clicks.flow.table("pages", "page STRING, topic STRING")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> topics = [{"page": "home", "topic": "start"}]
        >>> clicks.join(pages, on="page", how="left").preview({"clicks": rows, "pages": topics})
        join#1: 2 rows
          t  page   ms  topic
          1  home   40  start
          2  news  900  NULL
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

        Use it for what held at that time: the price of a sale, the version of a page.

        Of several rows at that time, it is the greatest by all columns. ``how`` is ``inner`` or ``left``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> versions = clicks.flow.source("versions", "t INT, page STRING, version STRING", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> known = [{"t": 0, "page": "home", "version": "old"}, {"t": 5, "page": "home", "version": "new"}]
        >>> clicks.join_asof(versions, on="page", within=3).preview({"clicks": rows, "versions": known})
        join_asof#1: 2 rows
          t  page  ms  version
          1  home  40  old
          6  home  70  new
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

        Use it for what follows on something: a payment on an order, a click on an advertisement.

        A pair is at the later of the two times; one's own is kept by a copy of it, made before. ``lower`` and ``upper``
        are spans, also negative ones; None is without bound, and then rows are kept for ever. A row without a match
        comes when none can come any more; with ``semi`` it comes at its first match. ``where`` may read both times, as
        ``left.ts`` and ``right.ts``. On several time columns, ``over`` is the one that is meant, and the others must be
        equal; without ``over`` and bounds, a pair is at the least time at or above both.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> views = clicks.flow.source("views", "t INT, page STRING, reader STRING", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> seen = [{"t": t, "page": "home", "reader": reader} for t, reader in [(3, "ann"), (9, "bob")]]
        >>> clicks.interval_join(views, on="page", lower=0, upper=5).preview({"clicks": rows, "views": seen})
        interval_join#1: 1 row
          t  page  ms  reader
          3  home  40  ann
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

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> views = clicks.flow.source("views", "t INT, page STRING, reader STRING", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> seen = [{"t": t, "page": "home", "reader": reader} for t, reader in [(3, "ann"), (19, "bob")]]
        >>> clicks.window_join(views, on="page", size=10).preview({"clicks": rows, "views": seen})
        window_join#1: 1 row
          t  page  ms  reader
          9  home  40  ann
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
