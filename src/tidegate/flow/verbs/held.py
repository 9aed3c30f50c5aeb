"""Rows, or answers to them, that are held until their time is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan
from tidegate.flow.aggregates import aggregation, grouping
from tidegate.flow.arguments import one_of
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, NotSupported
from tidegate.flow.processed import check_operator
from tidegate.flow.schema import Column, parse_schema
from tidegate.flow.spans import parse_span
from tidegate.flow.windows import Windowed, calendar_frame, is_calendar, session_frame, window_frame

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Held"]


class Held(Building):
    """Rows, or answers to them, that are held until their time is complete."""

    def gate(self) -> Stream:
        """Hold the rows until their time is complete.

        Use it before a sink that must get each time whole, such as a file for each of them.

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
        """Return one row for each time and group that has rows.

        Use it where rows of one time belong together; over several times, there are `window` and `accumulate`.
        Aggregates are ``name="expression"``, or texts with ``AS``; ``by`` is a column, an expression or a list.

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
        """Put rows into windows of ``size`` that begin ``every`` so often; follow with ``.aggregate`` or ``.apply``.

        Windows align to the epoch, shifted by ``offset``. A result is at the last unit of its window. With
        ``lateness``, windows are answered again for rows that come late, and carry a ``revision``. On several time
        columns, ``over`` is the one that is meant; the others group.

        Months and years are those of the calendar, in UTC; with ``zone``, so are days, and weeks from Monday on.

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
        """Put the rows of a group into sessions: a row ``gap`` or more after the one before begins a new one.

        Use it for visits: what someone does before a pause. Follow with ``.aggregate`` or ``.apply``, and give ``by``
        there. A result is at the last unit of the gap after its session: then no row can join it any more.

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
        """Return, per group, aggregates over all rows at or below a time.

        Use it for totals, balances, and what was ever seen.

        With ``emit="update"``: a row for each time and group that has a row at exactly that time. With ``"complete"``:
        at each time that carries a row, every group that has one at or below it. With ``every``, answers at the ends
        of such periods only; on several time columns, a mapping from column to period. With ``forget``, a row that
        comes so long after the group's row before it, or longer, begins anew; on one time column only.

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
        """Keep each row once, by all columns, time included.

        Use it where a source may send a row twice with the same time; across times, there is `deduplicate`.

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
        """Keep the least row per key, by time and then by all columns; and again ``within`` after the last one kept.

        Use it where a source repeats itself later.

        With ``forget``, again after the key's rows, kept or not, have been missing for so long. Without either, once
        and for all: then every key is kept in state for ever.

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
        """Run one copy of a specification operator for each key; data are dicts of all columns.

        A copy gets complete times only, in an order that extends theirs: the rows of a time, sorted by all columns,
        then ``WM`` of it; at the end, its ``exit`` is asked. It answers dicts of the columns of ``schema`` at the time
        that it was given or above; the key's columns are put before them. If its class says ``timers = True``, it may
        answer ``tg.Timer(t)`` too, and is then called at ``t`` even if its key has no rows then.

        ``out`` makes a dict, or a list of dicts, of data that is something else, such as the lists and Counters of the
        operators of `tidegate.spec`.

        With ``forget``, a key's row that comes so long after the one before, or longer, is for a new copy; the one
        before is asked for its ``exit``, whose answers are at the last unit of the silence or above.

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
            if silence is not None and getattr(operator, "timers", False) is True:
                raise NotSupported(
                    f"expected an operator without timers, as keys are forgotten, got {type(operator).__name__}",
                    hint="leave forget out: with a timer after each row, an operator can see for itself that none came",
                )
            return self._add(plan.Process, result, operator=operator, by=keys, columns=names, forget=silence, out=out)
