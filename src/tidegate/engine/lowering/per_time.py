"""Operators that look at one time at a time: what they answer at a time depends on the rows at that time only."""

from __future__ import annotations

from tidegate.engine.calls import call, finished, listing, named_calls, times_of
from tidegate.engine.lowering.pairs import joined
from tidegate.engine.relation import Relation
from tidegate.engine.types import same_types
from tidegate.flow import plan
from tidegate.flow.schema import Column, exact

__all__ = ["aggregate", "distinct", "gate", "join"]


def gate(operator: plan.Gate, rows: Relation) -> Relation:  # noqa: ARG001
    """Let rows through: what is handed to the lowering is complete."""
    return rows


def distinct(operator: plan.Distinct, rows: Relation) -> Relation:  # noqa: ARG001
    """Keep each row once."""
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
    """Return lists that are only unfolded."""
    aggregation, times = operator.aggregation, times_of(operator.schema)
    rows, calls = listing(aggregation, rows)
    keys = [e.name for e in aggregation.by]
    if not all(output.is_call for output in aggregation.outputs) or len(calls) > 1:
        return rows.gather([*times, *keys], calls).select(times | finished(aggregation))
    (output,) = aggregation.outputs
    (listed,) = output.calls
    if {*times, *keys} >= set(listed.columns) and exact([Column(e.name, e.type) for e in aggregation.by]):
        # Rows of a group are equal in all that is listed: it is enough to count them, which is much faster.
        counted = rows.gather([*times, *keys], {"__copies": call("count", "*")})
        copies = f"array_repeat({listed.arguments[0]}, CAST(__copies AS INT))"
        return counted.select(times | {output.name: copies})
    # Which rows share a list does not matter, as long as identical ones can: the key need not be compared in full.
    whole = ", ".join(e.sql for e in aggregation.by)
    keyed = rows.with_columns({"__key": f"xxhash64({whole})" if whole else "0"})
    return keyed.gather([*times, "__key"], calls).select(times | {output.name: output.finish})


def join(operator: plan.Join, left: Relation, right: Relation) -> Relation:
    """Pair rows of equal times, or with a table at every time."""
    same_types(operator, left, right, operator.on)
    times = times_of(operator.schema)
    return joined(operator, left, right, {} if operator.with_table else times, times)
