"""Methods of `Stream` that bring two or more streams together."""

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
    """Methods that bring two or more streams together."""

    def union(self, other: Stream, *others: Stream) -> Stream:
        """Return the rows of this stream and of others.

        Columns are matched by name. All streams need the same time columns, and the same columns of the same types.
        Rows pass at once; nothing is kept. A time is complete when it is complete in every stream.

        Args:
            other: A stream of the same flow.
            *others: More of them.

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
        """Return pairs of rows with equal times and equal columns ``on``; a table is joined at every time.

        Use it to look rows up in a table, or for rows of the same moment. For rows of different times use `join_asof`,
        `interval_join` or `window_join`. The result has the time columns, the columns ``on``, then the others of this
        stream and of ``other``. Rows are kept until their time is complete on both sides; with a table, they pass at
        once.

        Args:
            other: A stream or a table of the same flow.
            on: A column, a list of columns, or a dict ``{"left": "right"}`` if their names differ. NULL matches
                nothing.
            where: A further condition of a match, in which ``left.x`` is of this stream and ``right.x`` of ``other``.
            how: ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``. With a table, not
                ``"right"`` or ``"full"``.

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
        """Return each row with the latest row of ``other`` that is at or below its time.

        Use it for what held at that time: the price of a sale, the version of a page. Of several latest rows it takes
        the greatest by all columns. The result has the time of this stream's row. Rows are kept until their time is
        complete on both sides; the latest row of ``other`` is kept for each key, for ever unless ``within`` is given.

        Args:
            other: A stream of the same flow.
            on: A column, a list of columns, or a dict ``{"left": "right"}`` if their names differ. NULL matches
                nothing.
            within: How far back the row of ``other`` may be; without it, any distance.
            how: ``"inner"``, or ``"left"``, which also returns rows without a match.
            over: With several time columns, the one to look back along; the others must be equal.

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
        """Return pairs of rows whose times are not too far apart: ``lower <= other's time - this row's time <= upper``.

        Use it for what follows something: a payment after an order, a click after an advertisement. The time of a pair
        is the later of the two; to keep the rows' own times, copy them to other columns first. A row without a match
        comes when no match can come any more. A row is kept until then; without a bound, for ever.

        Args:
            other: A stream of the same flow.
            on: A column, a list of columns, or a dict ``{"left": "right"}`` if their names differ. NULL matches
                nothing.
            lower: The least distance, such as ``"-5 minutes"``; None is no bound.
            upper: The greatest distance, such as ``"1 hour"``; None is no bound.
            where: A further condition of a match. It may read both times: ``"left.ts < right.ts"``.
            how: ``"inner"``, ``"left"`` and ``"anti"`` (which need ``upper``), ``"right"`` (needs ``lower``),
                ``"full"`` (needs both), or ``"semi"``, which returns a row at the time of its first match.
            over: With several time columns, the one that the bounds apply to; the others must be equal. Without
                ``over`` and bounds, a pair is at the least time that is at or above both.

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
            sides.check_parameters(condition)
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
        early: bool = False,
    ) -> Stream:
        """Return pairs of rows that are in the same window: a pair once for each window that has both.

        The time of a pair is the last unit of the window; to keep the rows' own times, copy them to other columns
        first. In outer joins, a row without a match in a window comes once for that window. Rows are kept until the
        last of their windows is complete on both sides, and ``lateness`` longer.

        Args:
            other: A stream of the same flow.
            on: A column, a list of columns, or a dict ``{"left": "right"}`` if their names differ. NULL matches
                nothing.
            size: How long a window is, as in `window`.
            where: A further condition of a match, in which ``left.x`` is of this stream and ``right.x`` of ``other``.
            every: How often a window begins; by default ``size``.
            offset: By how much windows are moved, as in `window`.
            lateness: How long after its end a window still takes late rows. The pairs of that window and key are then
                answered again, all of them, with a higher ``revision``. Not with ``"anti"``.
            how: ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``.
            over: With several time columns, the one that windows are on; the others must be equal.
            early: Whether a pair comes in the step in which its later row comes, as in Structured Streaming, and not
                when its window is complete. The rows are the same, and none is taken back; but rows at a time come
                before that time is complete. Only ``"inner"``, without ``lateness``.

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
            sides.check_early(early, frame.lateness)
            return self._add(
                plan.WindowJoin,
                sides.revised() if frame.lateness else sides.schema,
                others=(sides.right,),
                frame=frame,
                where=condition,
                early=early,
                **sides.fields,
            )
