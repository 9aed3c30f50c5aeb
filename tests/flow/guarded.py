"""A join in windows after a join that excludes the row of which a column can't be computed."""

from __future__ import annotations

from typing import Any

import tidegate as tg

__all__ = ["GUARDED", "guarded"]

Rows = dict[str, list[tuple[Any, ...]]]

#: Conditions of which a part reads the left side alone, or follows from an equation.
GUARDED = ["left.n IN (1, 2)", "left.n > 0 AND left.n = right.m"]


def guarded(how: str, where: str) -> tuple[tg.Flow, Rows, Rows]:
    """Return a flow with rows for its sources and for its table, of which it joins the first in this way."""
    flow = tg.Flow("guarded")
    rows = flow.source("a", "t INT, k STRING, s STRING", time="t", watermark=tg.bounded(0))
    others = flow.source("c", "t INT, m INT", time="t", watermark=tg.bounded(0))
    numbers = rows.join(flow.table("b", "k STRING"), on="k", how=how).select("k", "CAST(s AS INT) AS n")
    flow.sink("out", numbers.window_join(others, on=(), size=2, where=where))
    given: Rows = {"a": [(0, "p", "1"), (0, "q", "bad"), (5, "p", "2")], "c": [(0, 1), (1, 5), (5, 2)]}
    return flow, given, {"b": [("q",) if how == "anti" else ("p",)]}
