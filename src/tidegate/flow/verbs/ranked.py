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

        An answer is the whole list at its time, and replaces the one before: when there is one, ``emit``, ``every``
        and ``forget`` say as in `accumulate`. ``rank`` counts from 1, by ``order``, then by time columns, then by all
        columns. The time columns are those of the answer; to keep a row's own, copy it first.

        >>> print(edits.top(3, by="page", order="bytes DESC").schema)
        ts TIMESTAMP, page STRING, bytes INT, rank INT; time: ts
        """
        with self._building("top", timed=True):
            return self._ranked(plan.Top, top_by(n, by, order, self.schema), emit, every, forget)

    def last(self, n: int, by: Any = (), *, emit: str = "update", every: Any = None, forget: Any = None) -> Stream:
        """Return, per group, the last ``n`` of all rows at or below a time, by time and then by all columns.

        Answers come as those of `top` do; rank 1 is the latest.

        >>> print(edits.with_columns(edited="ts").last(10, by="page").schema)
        ts TIMESTAMP, page STRING, bytes INT, edited TIMESTAMP, rank INT; time: ts
        """
        with self._building("last", timed=True):
            self._check_along_a_line()
            return self._ranked(plan.Last, last_by(n, by, self.schema), emit, every, forget)

    def latest(self, by: Any, *, emit: str = "update", every: Any = None, forget: Any = None) -> Stream:
        """Return, per group, the latest of all rows at or below a time: `last` of one row, without a rank.

        >>> print(edits.latest("page", emit="complete", every="1 hour").schema)
        ts TIMESTAMP, page STRING, bytes INT; time: ts
        """
        with self._building("latest", timed=True):
            self._check_along_a_line()
            return self._ranked(plan.Latest, latest_by(by, self.schema), emit, every, forget)

    def _ranked(self, kind: type[plan.Top], ranking: Ranking, emit: str, every: Any, forget: Any) -> Stream:
        one_of(emit, "emit", ("update", "complete"))
        schema = self._result((*self.schema.times, *ranking.columns(self.schema)))
        options: dict[str, Any] = {"emit": emit, "every": self._periods(every), "forget": self._forgotten(forget)}
        return self._add(kind, schema, **options, **ranking.fields)
