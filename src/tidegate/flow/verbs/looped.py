"""The method of `Stream` that repeats a query until nothing new follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan
from tidegate.flow.building import Building
from tidegate.flow.loops.build import LIMIT, loop_fields, relations_of_loop

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["Looped"]


class Looped(Building):
    """The method that repeats a query until nothing new follows."""

    def iterate(
        self,
        start: str,
        step: str,
        key: Any,
        keep: Any,
        *,
        emit: str = "update",
        also: Mapping[str, Stream] | None = None,
        rounds: int | None = None,
        limit: int = LIMIT,
    ) -> Stream:
        """Return the facts that follow from all rows at or below a time: a query is repeated until nothing new follows.

        Use it for what is found step by step: what is reachable, connected, nearest. `tidegate.graph` has some
        ready-made. The first round runs ``start``. Each further round runs ``step`` on what the last one found. The
        result has the time columns, ``key`` and ``keep``. The rows of all inputs, and what is known of each key, are
        kept for ever.

        Args:
            start: A query in Spark SQL that gives the first facts. It reads this stream as ``input``.
            step: A query that derives facts from ``known``, the facts so far. It may read ``input`` too.
            key: The columns that say what a fact is about. There is one fact for each key.
            keep: Which fact is kept if there are several for a key, such as ``"min(label) AS label"``; ``()`` if a fact
                has no other columns.
            emit: ``"update"`` gives the facts that are new or better at a time, ``"complete"`` all facts that hold
                then.
            also: Other streams and tables that the queries read, by the names that they have there.
            rounds: Run ``step`` exactly this often instead. ``known`` is then replaced in each round, and the queries
                and ``keep`` may be of any form.
            limit: More rounds than this are an error.

        >>> import tidegate as tg
        >>> edges = tg.Flow("site").source("edges", "t INT, src STRING, dst STRING", time="t")
        >>> clicks = edges.iterate(
        ...     start="SELECT src AS page, 0 AS clicks FROM input WHERE src = 'home'",
        ...     step="SELECT e.dst AS page, k.clicks + 1 AS clicks FROM known k JOIN input e ON e.src = k.page",
        ...     key="page",
        ...     keep="min(clicks) AS clicks",
        ... )
        >>> links = [(1, "home", "news"), (1, "news", "sport"), (2, "home", "sport")]
        >>> clicks.preview([{"t": t, "src": src, "dst": dst} for t, src, dst in links])
        iterate#1: 4 rows
          t  page   clicks
          1  home        0
          1  news        1
          1  sport       2
          2  sport       1
        """
        with self._building("iterate", timed=True):
            streams = relations_of_loop(self, {} if also is None else also)
            fields = loop_fields(streams, start, step, key, keep, emit, rounds, limit)
            result = self._result((*self.schema.times, *fields["keep"].columns))
            return self._add(plan.Iterate, result, others=tuple(streams.values())[1:], **fields)
