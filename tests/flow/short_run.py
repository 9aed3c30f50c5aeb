"""The cases that `make test` runs where each takes many jobs of Spark or several steps; `make check` runs all."""

from __future__ import annotations

__all__ = ["LOOPS_ON_SPARK", "ON_STREAMS", "SHARE_ON_LOCAL_STREAMS", "SHARE_ON_SPARK"]

#: Of each table, so many cases have one that runs on Spark, on bounded data.
SHARE_ON_SPARK = 9
#: And so many have one that runs on the local engine on streams; on bounded data it runs all.
SHARE_ON_LOCAL_STREAMS = 2

#: On streams: of each operator, what it keeps and how it answers.
ON_STREAMS = frozenset(
    {
        "rowwise: where keeps rows of which the condition is true, not null",
        "moved: a row comes at the time that a column has, if it is not before its own",
        "aggregate: one row for each time and group that has rows; a null group is a group",
        "held: deduplicate keeps the first of each span, which begins at what was kept",
        "window: windows overlap",
        "calendar: days of a zone have 23 to 25 hours",
        "window: sessions end a gap after their last row; a row at the end begins a new one",
        "accumulate: complete on a product: groups that have a row at or below",
        "ranked: top: the whole list at each time and group that has a row at exactly that time",
        "ranked: forget: complete leaves out groups that were silent so long",
        "joined: full join: the time is never null",
        "apart: full",
        "process: timers: a call without rows, once for each time",
        "iterate: a chain that comes from its far end: old facts go through new edges, and new facts through old edges",
        "ordered: the histograms of the first paper, Figure 6: at t5, t0 counts once, and t1 not at all",
        "ordered: lexicographic: the first and the last of instants and of large numbers",
        "names: joined in windows",
        "edges: without windows, the first and the last time are times like others",
    }
)
#: Of loops on bounded data; of other operators, see above.
LOOPS_ON_SPARK = frozenset(
    {
        "iterate: update: the facts that are new or better at a time",
        "iterate: on a product: what follows at a time that carries no row is said at the times above it that do",
        "iterate: rounds: known is replaced, and after so many rounds it is what it is",
    }
)
