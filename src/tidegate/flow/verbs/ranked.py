"""Some rows of all that there are so far, by their order."""

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
    """Some rows of all that there are so far, by their order."""

    def top(
        self, n: int, by: Any = (), order: Any = (), *, emit: str = "update", every: Any = None, forget: Any = None
    ) -> Stream:
        """Return, per group, the first ``n`` of all rows at or below a time, by ``order``: ``"price DESC, name"``.

        Use it for leaders: the dearest, the slowest. For those of an hour, there is ``window("1 hour").top(…)``.

        An answer is the whole list at its time, and replaces the one before: when there is one, ``emit``, ``every``
        and ``forget`` say as in `accumulate`. ``rank`` counts from 1, by ``order``, then by time columns, then by all
        columns. The time columns are those of the answer; to keep a row's own, copy it first.

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
        """Return, per group, the last ``n`` of all rows at or below a time, by time and then by all columns.

        Use it for what is shown as "recently".

        Answers come as those of `top` do; rank 1 is the latest.

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
        """Return, per group, the latest of all rows at or below a time: `last` of one row, without a rank.

        Use it for the state that updates lead to: the price, the address.

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
