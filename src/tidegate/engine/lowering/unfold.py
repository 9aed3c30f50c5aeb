"""X, the loop that unfolds lists: in one go, or as a loop that the engine runs, to know what that costs.

As a loop, a round is one Aggregate: tuples meet by all their attributes, each gives one element out, and comes round
with an index that is one higher (Listing 3, mended). There are as many rounds as the longest list has elements. This
is the one place where the lowering computes something: how many rounds there are depends on the rows.
"""

from __future__ import annotations

from tidegate.engine.calls import call
from tidegate.engine.lowering.rowwise import explode
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.flow import plan
from tidegate.flow.sqltypes import quoted

__all__ = ["unfold"]


def unfold(operator: plan.Unfold, rows: Relation) -> Relation:
    """Make a row of each element; none if the array is null or empty."""
    return _rounds(operator, rows) if operator.looped else explode(operator, rows)


def _rounds(operator: plan.Unfold, rows: Relation) -> Relation:
    carried = quoted(operator.column)
    # Identical tuples share an instance. They are counted, so that each of them is unfolded.
    met = rows.where(f"size({carried}) > 0").group(as_they_are(rows.names), {"__copies": call("count", "*")})
    looping = met.with_columns({"__index": "0L"})
    element = as_they_are(rows.names) | {operator.column: f"{carried}[__index % size({carried})]"}
    out = [rows.where("false").select(element | {operator.column: f"{carried}[0]"})]
    while True:
        kept = rows.backend.kept(looping)
        if not kept.size:
            return united(out)
        out.append(kept.rows.select(element))
        following = kept.rows.with_columns({"__index": "__index + 1"})
        looping = following.where(f"__index < __copies * size({carried})").distinct()
