"""X, the loop that unfolds lists: in one go, or as a loop that the engine runs, to know what that costs.

As a loop, a round is one Aggregate: tuples meet by all their attributes, each gives one element out, and comes round
with an index that is one higher (Listing 3, mended). There are as many rounds as the longest list has elements. This
is the one place where the lowering computes something: how many rounds there are depends on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.engine.calls import call
from tidegate.engine.lowering.rowwise import explode
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.flow import plan
from tidegate.flow.schema import exact
from tidegate.flow.sqltypes import quoted

__all__ = ["unfold"]


def unfold(operator: plan.Unfold, rows: Relation) -> Relation:
    """Make a row of each element; none if the array is null or empty."""
    if not operator.looped:
        return explode(operator, rows)
    return _counted(operator, rows) if exact(rows.columns) else _listed(operator, rows)


def _counted(operator: plan.Unfold, rows: Relation) -> Relation:
    carried = quoted(operator.column)
    # Identical tuples share an instance. They are counted, so that each of them is unfolded.
    met = rows.where(f"size({carried}) > 0").group(as_they_are(rows.names), {"__copies": call("count", "*")})
    element = as_they_are(rows.names) | {operator.column: f"{carried}[__index % size({carried})]"}
    return _rounds(operator, rows, met, element, f"__copies * size({carried})", lambda met: met.distinct())


def _listed(operator: plan.Unfold, rows: Relation) -> Relation:
    # As a key, -0.0 is 0.0: so tuples with fractions are carried in a list beside their key, and not by it.
    carried = quoted(operator.column)
    fields = {name: quoted(name) for name in rows.names} | {operator.column: "__element"}
    tuples = f"transform({carried}, __element -> struct({', '.join(f'{v} AS {quoted(n)}' for n, v in fields.items())}))"
    keyed = rows.select({"__key": f"xxhash64({', '.join(map(quoted, rows.names))})", "__tuples": tuples})
    met = keyed.where("size(__tuples) > 0").gather(["__key"], {"__tuples": call("collect_list", "__tuples")})
    element = {name: f"__tuples[__index].{quoted(name)}" for name in rows.names}
    flat = met.with_columns({"__tuples": "flatten(__tuples)"})
    return _rounds(operator, rows, flat, element, "size(__tuples)", _first_of_each)


def _first_of_each(rows: Relation) -> Relation:
    """Let tuples meet by key and index."""
    met = rows.gather(["__key", "__index"], {"__tuples": call("collect_list", "__tuples")})
    return met.with_columns({"__tuples": "__tuples[0]"})


def _rounds(
    operator: plan.Unfold,
    rows: Relation,
    met: Relation,
    element: Mapping[str, str],
    size: str,
    aggregate: Callable[[Relation], Relation],
) -> Relation:
    """Give one element of each tuple out, and send it round with the next index while that is below its size."""
    looping = met.with_columns({"__index": "0"})
    first = as_they_are(rows.names) | {operator.column: f"{quoted(operator.column)}[0]"}
    out = [rows.where("false").select(first)]
    while True:
        kept = rows.backend.kept(looping)
        if not kept.size:
            return united(out)
        out.append(kept.rows.select(element))
        looping = aggregate(kept.rows.with_columns({"__index": "__index + 1"}).where(f"__index < {size}"))
