"""Rows that follow each other closely: until when a group is remembered, by what comes after each of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation

__all__ = ["UNTIL", "remembered"]

#: From when on a group is forgotten that a row is in, in units: it tells what began anew from what was before.
UNTIL = "__until"


def remembered(rows: Relation, at: str, span: int, groups: Sequence[str]) -> Relation:
    """Add `UNTIL`: ``span`` units after the last of the rows that come, from a row on, less than that after each other.

    ``at`` is the time in units.
    """
    rows = rows.with_columns({"__at": at}).over({"__then": call("lead", "__at")}, groups, ["__at"])
    rows = rows.with_columns({"__ends": f"coalesce(__then - __at >= {span}L, true)"})
    # Of rows at one time one is the last, and comes first here.
    last = {UNTIL: call("min", f"IF(__ends, __at + {span}L, NULL)")}
    found = rows.over(last, groups, ["__at", "__ends"], so_far=True, descending=True)
    return found.without("__at", "__then", "__ends")
