"""Loops."""

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
    """Loops."""

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
        """Go round in a loop: at each time that carries a row, what follows from the rows at or below it.

        Use it for what is found step by step: reachable, connected, shortest; `tg.graph` has some ready-made.

        ``start`` and ``step`` are queries in Spark SQL that give facts. In them this stream is ``input``, other streams
        and tables are the keys of ``also``, and what the loop knows is ``known``. Of all facts for a ``key`` one is
        kept, by the rules of ``keep``, such as ``min(label) AS label``. The loop begins with what ``start`` gives, and
        goes round until ``step`` gives nothing better; more than ``limit`` rounds are an error. With ``rounds``, it
        goes round exactly so often, ``known`` being replaced each time, and queries and ``keep`` may be of any form.

        ``emit="update"`` answers the facts that are new or better at a time, ``"complete"`` all that hold.

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
