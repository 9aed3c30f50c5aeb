"""Chains of rows that follow each other closely, and until when their group is remembered."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation

__all__ = ["UNTIL", "remembered"]

#: The column with the time, in units, at which the group of a row is forgotten. Rows of one group in different chains
#: have different values.
UNTIL = "__until"


def remembered(rows: Relation, at: str, span: int, groups: Sequence[str]) -> Relation:
    """Return rows with `UNTIL`: ``span`` units after the last row of their chain.

    A chain is rows of a group of which each comes less than ``span`` units after the one before. ``at`` is SQL for the
    time in units.
    """
    rows = rows.with_columns({"__at": at}).over({"__then": call("lead", "__at")}, groups, ["__at"])
    rows = rows.with_columns({"__ends": f"coalesce(__then - __at >= {span}L, true)"})
    # Of the rows at one time, the one that ends a chain comes first in this descending order.
    last = {UNTIL: call("min", f"IF(__ends, __at + {span}L, NULL)")}
    found = rows.over(last, groups, ["__at", "__ends"], so_far=True, descending=True)
    return found.without("__at", "__then", "__ends")
