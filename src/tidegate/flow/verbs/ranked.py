"""Methods of `Stream` that choose some of all rows so far: the first by an order, or the last by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.flow import plan
from tidegate.flow.arguments import one_of
from tidegate.flow.building import Building
from tidegate.flow.ranking import Ranking, last_by, latest_by, top_by

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Ranks"]


class Ranks(Building):
    """Methods that choose some of all rows so far: the first by an order, or the last by time."""

    def top(
        self, n: int, by: Any = (), order: Any = (), *, emit: str = "update", every: Any = None, forget: Any = None
    ) -> Stream:
        """Return, for each group, the first ``n`` of all rows at or below a time.

        Use it for leaders: the dearest, the slowest. For the leaders of each hour, use ``window("1 hour").top(…)``. An
        answer is the whole list of a group, and replaces the one before. The result has the time columns, the groups,
        the other columns and ``rank``, from 1. Its time is that of the answer; to keep a row's own, copy it to another
        column first. ``n`` rows of each group are kept for ever, unless ``forget`` is given.

        Args:
            n: How many rows.
            by: The groups: a column, an expression with ``AS``, or a list of these.
            order: As after ORDER BY in Spark SQL: ``"price DESC, name"``. Rows that are equal in it are sorted by time,
                then by all columns.
            emit: When there is an answer. ``"update"``: for each time and group that has a row at exactly that time.
                ``"complete"``: at each time that has a row, for every group so far.
            every: Answers come only at the ends of such periods, as in `accumulate`.
            forget: A group starts again from nothing after such a silence, as in `accumulate`.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.top(1, by="page", order="ms DESC").preview(rows)
        top#1: 4 rows
           t  page   ms  rank
           1  home   40     1
           4  news  900     1
           6  home   70     1
          12  home   90     1
        """
        with self._building("top", timed=True):
            return self._ranked(plan.Top, top_by(n, by, order, self.schema), emit, every, forget)

    def last(self, n: int, by: Any = (), *, emit: str = "update", every: Any = None, forget: Any = None) -> Stream:
        """Return, for each group, the last ``n`` of all rows at or below a time; ``rank`` 1 is the latest.

        Use it for lists of what is recent. Rows are sorted by time, then by all columns. An answer is the whole list of
        a group, and replaces the one before. ``n`` rows of each group are kept for ever, unless ``forget`` is given.

        Args:
            n: How many rows.
            by: The groups: a column, an expression with ``AS``, or a list of these.
            emit: When there is an answer, as in `top`.
            every: Answers come only at the ends of such periods, as in `accumulate`.
            forget: A group starts again from nothing after such a silence, as in `accumulate`.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.with_columns(clicked="t").last(2, by="page", every=10).preview(rows)
        last#1: 5 rows
           t  page   ms  clicked  rank
           9  home   40        1     2
           9  home   70        6     1
           9  news  900        4     1
          19  home   70        6     2
          19  home   90       12     1
        """
        with self._building("last", timed=True):
            self._check_along_a_line()
            return self._ranked(plan.Last, last_by(n, by, self.schema), emit, every, forget)

    def latest(self, by: Any, *, emit: str = "update", every: Any = None, forget: Any = None) -> Stream:
        """Return, for each group, the latest of all rows at or below a time: `last` with one row, without ``rank``.

        Use it for the current value where rows are updates: a price, an address. A row of each group is kept for ever,
        unless ``forget`` is given.

        Args:
            by: The groups: a column, an expression with ``AS``, or a list of these.
            emit: When there is an answer, as in `top`.
            every: Answers come only at the ends of such periods, as in `accumulate`.
            forget: A group starts again from nothing after such a silence, as in `accumulate`.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> given = [(1, "home", 40), (4, "news", 900), (6, "home", 70), (12, "home", 90)]
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in given]
        >>> clicks.latest("page", emit="complete", every=10).preview(rows)
        latest#1: 4 rows
           t  page   ms
           9  home   70
           9  news  900
          19  home   90
          19  news  900
        """
        with self._building("latest", timed=True):
            self._check_along_a_line()
            return self._ranked(plan.Latest, latest_by(by, self.schema), emit, every, forget)

    def _ranked(self, kind: type[plan.Top], ranking: Ranking, emit: str, every: Any, forget: Any) -> Stream:
        one_of(emit, "emit", ("update", "complete"))
        schema = self._result((*self.schema.times, *ranking.columns(self.schema)))
        options: dict[str, Any] = {"emit": emit, "every": self._periods(every), "forget": self._forgotten(forget)}
        return self._add(kind, schema, **options, **ranking.fields)
