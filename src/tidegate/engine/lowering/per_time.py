"""Operators that look at one time only: their answers at a time depend on the rows at that time."""

from __future__ import annotations

from tidegate.engine.calls import call, finished, listing, named_calls, times_of
from tidegate.engine.lowering.pairs import joined
from tidegate.engine.relation import Relation
from tidegate.engine.types import same_types
from tidegate.flow import plan
from tidegate.flow.schema import Column, exact

__all__ = ["aggregate", "distinct", "gate", "join"]


def gate(operator: plan.Gate, rows: Relation) -> Relation:  # noqa: ARG001
    """Return the rows as they are: the lowering is given complete rows only."""
    return rows


def distinct(operator: plan.Distinct, rows: Relation) -> Relation:  # noqa: ARG001
    """Return each row once."""
    return rows.distinct()


def aggregate(operator: plan.Aggregate, rows: Relation) -> Relation:
    """Return one row for each time and group that has rows."""
    aggregation = operator.aggregation
    if operator.embeds:
        return _embed(operator, rows)
    groups = times_of(operator.schema) | {e.name: e.sql for e in aggregation.by}
    results = rows.group(groups, named_calls(aggregation), order=rows.order)
    return results.select(times_of(operator.schema) | finished(aggregation))


def _embed(operator: plan.Aggregate, rows: Relation) -> Relation:
    """Return the answers of an Aggregate that makes lists, which are only unfolded again."""
    aggregation, times = operator.aggregation, times_of(operator.schema)
    rows, calls = listing(aggregation, rows)
    keys = [e.name for e in aggregation.by]
    if not all(output.is_call for output in aggregation.outputs) or len(calls) > 1:
        return rows.gather([*times, *keys], calls).select(times | finished(aggregation))
    (output,) = aggregation.outputs
    (listed,) = output.calls
    if {*times, *keys} >= set(listed.columns) and exact([Column(e.name, e.type) for e in aggregation.by]):
        # All listed columns are in the group, so rows need only be counted, which is much faster.
        counted = rows.gather([*times, *keys], {"__copies": call("count", "*")})
        copies = f"array_repeat({listed.arguments[0]}, CAST(__copies AS INT))"
        return counted.select(times | {output.name: copies})
    # It does not matter which rows share a list, as long as identical ones do. So a hash of the key is enough.
    whole = ", ".join(e.sql for e in aggregation.by)
    keyed = rows.with_columns({"__key": f"xxhash64({whole})" if whole else "0"})
    return keyed.gather([*times, "__key"], calls).select(times | {output.name: output.finish})


def join(operator: plan.Join, left: Relation, right: Relation) -> Relation:
    """Return the pairs of rows at equal times, or of rows and a table, which holds at every time."""
    same_types(operator, left, right, operator.on)
    times = times_of(operator.schema)
    return joined(operator, left, right, {} if operator.with_table else times, times)
