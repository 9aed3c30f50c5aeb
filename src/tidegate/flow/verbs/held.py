"""Methods of `Stream` that wait until a time is complete: windows, totals, duplicates and operators of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan
from tidegate.flow.aggregates import aggregation, grouping
from tidegate.flow.arguments import one_of
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument
from tidegate.flow.processed import check_forgettable, check_operator
from tidegate.flow.schema import Column, parse_schema
from tidegate.flow.spans import parse_span
from tidegate.flow.windows import Windowed, calendar_frame, is_calendar, session_frame, window_frame

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Held"]


class Held(Building):
    """Methods that wait until a time is complete before they answer for it."""

    def gate(self) -> Stream:
        """Return the same rows, each held back until its time is complete.

        Use it before a sink that must get all rows of a time at once, such as a file for each time. Rows are kept until
        their time is complete.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.gate().preview(rows)
        gate#1: 2 rows
          t  page   ms
          1  home   40
          2  news  900
        """
        with self._building("gate", timed=True):
            return self._add(plan.Gate, self.schema)

    def aggregate(self, *expressions: str, by: Any = (), **named_expressions: str) -> Stream:
        """Return aggregates of the rows of each single time: one row for each time and group that has rows.

        To aggregate over several times, use `window` or `accumulate`. The result has the time columns, the groups and
        the aggregates. Partial aggregates of each time and group are kept until the time is complete.

        Args:
            *expressions: Aggregates with a name: ``"count(*) AS n"``.
            by: The groups: a column, an expression with ``AS``, or a list of these. Without it, all rows of a time are
                one group.
            **named_expressions: The same as ``name="expression"``: ``n="count(*)"``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (1, "home", 60), (2, "home", 9)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.aggregate(by="page", n="count(*)", mean="sum(ms) / count(*)").preview(rows)
        aggregate#1: 2 rows
          t  page  n  mean
          1  home  2  50.0
          2  home  1   9.0
        """
        with self._building("aggregate"):
            times = self.schema.times
            result = aggregation(by, expressions, named_expressions, self.schema, grouped=times)
            return self._add(plan.Aggregate, self._result((*times, *result.columns)), aggregation=result)

    def window(
        self,
        size: Any,
        *,
        every: Any = None,
        offset: Any = 0,
        lateness: Any = 0,
        over: str | None = None,
        zone: str | None = None,
    ) -> Windowed:
        """Put rows into windows of time; then say what to compute: ``.aggregate(…)`` or another method.

        The result has a column ``window``, a struct of ``start`` and ``end`` (exclusive). Its time is the last unit of
        the window: a microsecond before ``end`` for TIMESTAMP, a day for DATE, 1 for integers. An answer comes when
        that time is complete, and then what was kept for the window is deleted (``lateness`` later, if that is given).
        `Windowed` has the methods that may follow.

        Args:
            size: How long a window is: ``"10 minutes"``, or a number if times are integers. Months and years are those
                of the calendar, in UTC unless ``zone`` is given.
            every: How often a window begins; by default ``size``, so that windows do not overlap.
            offset: Windows begin at multiples of ``every`` after the epoch (0 for integers), moved by this span.
            lateness: How long after its end a window still takes late rows. It then answers again, and the result has a
                column ``revision``, 0 for the first answer. Such answers can only go to a sink.
            over: With several time columns, the one that windows are on; rows are grouped by the others.
            zone: A time zone, such as ``"Europe/Berlin"``: days, weeks (from Monday), months and years are those there.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.window(10).aggregate(n="count(*)").preview(rows)
        window#1: 2 rows
           t  window                n
           9  {start: 0, end: 10}   3
          19  {start: 10, end: 20}  1
        >>> clicks.window(10, every=5).aggregate(n="count(*)").preview(rows, limit=2)
        window#2: 4 rows
          t  window               n
          4  {start: -5, end: 5}  2
          9  {start: 0, end: 10}  3
          … and 2 rows more
        """
        with self._building("window", timed=True):
            column = self._over(over)
            if is_calendar(column, size, zone):
                return Windowed(self, calendar_frame(column, size, every, offset, lateness, zone), "window")
            return Windowed(
                self, window_frame(column, size, size if every is None else every, offset, lateness), "window"
            )

    def session(self, gap: Any, *, over: str | None = None) -> Windowed:
        """Put the rows of each group into sessions; then say what to compute: ``.aggregate(…)`` or another method.

        Use it for visits: what someone does until there is a pause. Give the groups as ``by`` there. The result has a
        column ``session``, a struct of ``start`` and ``end``, which is the last row's time plus ``gap``. Its time is
        the last unit before ``end``: when that is complete, no row can join the session, and its rows are deleted.

        Args:
            gap: A row that comes this long after the row before it, or longer, begins a new session.
            over: With several time columns, the one to measure along; rows are grouped by the others.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.session(5).aggregate(by="page", n="count(*)").preview(rows)
        session#1: 4 rows
           t  session               page  n
           5  {start: 1, end: 6}    home  1
           8  {start: 4, end: 9}    news  1
          10  {start: 6, end: 11}   home  1
          16  {start: 12, end: 17}  home  1
        """
        with self._building("session", timed=True):
            return Windowed(self, session_frame(self._over(over), gap), "session")

    def accumulate(
        self,
        *expressions: str,
        by: Any = (),
        emit: str = "update",
        every: Any = None,
        forget: Any = None,
        **named_expressions: str,
    ) -> Stream:
        """Return running totals: for each group, aggregates of all rows at or below a time.

        Use it for totals, balances, and counts since the beginning. The result has the time columns, the groups and the
        aggregates. The partial aggregates of every group are kept for ever, unless ``forget`` is given.

        Args:
            *expressions: Aggregates with a name: ``"sum(ms) AS total"``.
            by: The groups: a column, an expression with ``AS``, or a list of these.
            emit: When there is an answer. ``"update"``: for each time and group that has a row at exactly that time.
                ``"complete"``: at each time that has a row, for every group so far.
            every: Answers come only at the ends of such periods: ``"1 hour"``. With several time columns, a dict from
                column to period.
            forget: A group starts again from nothing if its next row comes this long after the row before, or longer.
                The state of a silent group is deleted. Only with one time column.
            **named_expressions: The same as ``name="expression"``: ``total="sum(ms)"``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.accumulate(by="page", total="sum(ms)").preview(rows)
        accumulate#1: 4 rows
           t  page  total
           1  home     40
           4  news    900
           6  home    110
          12  home    200
        >>> clicks.accumulate(total="sum(ms)", every=10).preview(rows)
        accumulate#2: 2 rows
           t  total
           9   1010
          19   1100
        """
        with self._building("accumulate", timed=True):
            result = aggregation(by, expressions, named_expressions, self.schema)
            one_of(emit, "emit", ("update", "complete"))
            return self._add(
                plan.Accumulate,
                self._result((*self.schema.times, *result.columns)),
                aggregation=result,
                emit=emit,
                every=self._periods(every),
                forget=self._forgotten(forget),
            )

    def distinct(self) -> Stream:
        """Return each row once: rows that are equal in all columns, time included, become one.

        Use it if a source may send a row twice with the same time; for duplicates at different times, use
        `deduplicate`. Rows are kept until their time is complete.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (1, "home", 40), (2, "home", 40)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.distinct().preview(rows)
        distinct#1: 2 rows
          t  page  ms
          1  home  40
          2  home  40
        """
        with self._building("distinct"):
            return self._add(plan.Distinct, self.schema)

    def deduplicate(self, by: Any, within: Any = None, *, forget: Any = None, over: str | None = None) -> Stream:
        """Return the first row of each key, and leave out those that follow it.

        Use it if a source repeats itself later. "First" is by time, then by all columns. Without ``within`` and
        ``forget`` there is one row for each key, and every key is kept for ever.

        Args:
            by: The key: a column, an expression with ``AS``, or a list of these.
            within: A row that comes this long after the last row *returned* for its key, or longer, is returned again.
                A key is kept for that long.
            forget: A row that comes this long after the last row *of its key*, returned or not, is returned again. A
                key is kept for that long. Give ``within`` or ``forget``, not both.
            over: With several time columns, the one to measure along; the others are part of the key.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.deduplicate("page", within=10).preview(rows)
        deduplicate#1: 3 rows
           t  page   ms
           1  home   40
           4  news  900
          12  home   90
        """
        with self._building("deduplicate", timed=True):
            name, type_ = self._along(over, within, forget)
            keys = grouping(by, self.schema)
            if within is not None and forget is not None:
                raise BadArgument(
                    "expected within or forget, got both",
                    hint="within counts from the last row kept, forget from the last row of the key",
                )
            span = None if within is None else parse_span(within, type_, what="within")
            silence = self._forgotten(forget, (name, type_))
            return self._add(plan.Deduplicate, self.schema, by=keys, over=name, within=span, forget=silence)

    def process(
        self, operator: Any, by: Any, schema: Any, *, out: Callable[[Any], Any] | None = None, forget: Any = None
    ) -> Stream:
        """Return what an operator of your own answers: each key has a copy of it, which is given the rows of that key.

        A copy is called with complete times only, lower times first: ``DT(t, row)`` for each row of the time, sorted by
        all columns, then ``WM(t)``. A row is a dict of all columns. ``exit()`` is called at the end of the input. The
        result has the time columns, the key and the columns of ``schema``. Rows are kept until their time is complete,
        and what a copy knows for ever, unless ``forget`` is given.

        Args:
            operator: An operator as in `tidegate.spec`: ``apply(event)`` returns the operator as it is next, and a list
                of ``DT(t, answer)`` at the time of the call or above. If its class says ``timers = True``, the list may
                have ``tg.Timer(t)``: the copy is then called at ``t`` even if its key has no rows there.
            by: The key: a column, an expression with ``AS``, or a list of these; ``()`` is one copy for all rows.
            schema: The columns of an answer: ``"length INT"``.
            out: A function that turns an answer that is no dict, such as the lists and Counters of the operators of
                `tidegate.spec`, into a dict or a list of dicts.
            forget: A row that comes this long after the row of its key before it, or longer, is for a new copy.
                ``exit()`` of the old one is called; its answers are at the last unit of the silence or above.

        >>> import tidegate as tg
        >>> from tidegate.spec import batch_op, map_op
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> lengths = map_op(lambda t, row: {"length": len(row["page"])})
        >>> clicks.process(lengths, by="page", schema="length INT").preview(rows)
        process#1: 2 rows
          t  page  length
          1  home       4
          2  news       4
        >>> held = batch_op(clicks.schema.order)
        >>> clicks.process(held, by="page", schema="n INT", out=lambda batch: {"n": len(batch)}).preview(rows)
        process#2: 2 rows
          t  page  n
          1  home  1
          2  news  1
        """
        with self._building("process", timed=True):
            check_operator(operator, self.schema, out)
            keys = grouping(by, self.schema)
            declared = parse_schema(schema).columns
            result = self._result((*self.schema.times, *(Column(k.name, k.type) for k in keys), *declared))
            names = tuple(c.name for c in declared)
            silence = self._forgotten(forget)
            if silence is not None:
                check_forgettable(operator)
            return self._add(plan.Process, result, operator=operator, by=keys, columns=names, forget=silence, out=out)
