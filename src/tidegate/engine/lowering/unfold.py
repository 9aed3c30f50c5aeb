"""X, the operator that unfolds lists: directly, or as a loop that the engine runs, to measure what that costs.

As a loop, each round is one Aggregate: tuples are grouped by all their attributes, each gives out one element, and is
sent back with an index that is one higher (Listing 3, corrected). There are as many rounds as the longest list has
elements. This is the only place where the lowering computes something: the number of rounds depends on the rows.
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
    """Return a row for each element, and none if the array is NULL or empty."""
    if not operator.looped:
        return explode(operator, rows)
    return _counted(operator, rows) if exact(rows.columns) else _listed(operator, rows)


def _counted(operator: plan.Unfold, rows: Relation) -> Relation:
    carried = quoted(operator.column)
    # Identical tuples are one group. They are counted, so that each of them is unfolded.
    met = rows.where(f"size({carried}) > 0").group(as_they_are(rows.names), {"__copies": call("count", "*")})
    element = as_they_are(rows.names) | {operator.column: f"{carried}[__index % size({carried})]"}
    return _rounds(operator, rows, met, element, f"__copies * size({carried})", lambda met: met.distinct())


def _listed(operator: plan.Unfold, rows: Relation) -> Relation:
    # As keys, -0.0 and 0.0 are equal. So tuples with fractions are kept in a list beside the key, which is a hash.
    carried = quoted(operator.column)
    fields = {name: quoted(name) for name in rows.names} | {operator.column: "__element"}
    tuples = f"transform({carried}, __element -> struct({', '.join(f'{v} AS {quoted(n)}' for n, v in fields.items())}))"
    keyed = rows.select({"__key": f"xxhash64({', '.join(map(quoted, rows.names))})", "__tuples": tuples})
    met = keyed.where("size(__tuples) > 0").gather(["__key"], {"__tuples": call("collect_list", "__tuples")})
    element = {name: f"__tuples[__index].{quoted(name)}" for name in rows.names}
    flat = met.with_columns({"__tuples": "flatten(__tuples)"})
    return _rounds(operator, rows, flat, element, "size(__tuples)", _first_of_each)


def _first_of_each(rows: Relation) -> Relation:
    """Return tuples grouped by key and index."""
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
    """Return all elements: in each round one of each tuple, which is sent back with the next index until its end."""
    looping = met.with_columns({"__index": "0"})
    first = as_they_are(rows.names) | {operator.column: f"{quoted(operator.column)}[0]"}
    out = [rows.where("false").select(first)]
    while True:
        kept = rows.backend.kept(looping)
        if not kept.size:
            return united(out)
        out.append(kept.rows.select(element))
        looping = aggregate(kept.rows.with_columns({"__index": "__index + 1"}).where(f"__index < {size}"))
