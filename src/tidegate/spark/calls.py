"""Aggregate calls as Spark SQL whose result depends on the rows only, and not on how they are distributed.

The results of Spark's own `first`, `collect_list`, `max_by` and some others depend on the order in which rows arrive.
Here they see rows sorted by time and then by all columns: ``order`` is an expression that sorts them so.
"""

from __future__ import annotations

from tidegate.engine.calls import placeholders
from tidegate.flow.aggregates import AggregateCall

__all__ = ["call_sql"]


def call_sql(call: AggregateCall, order: str) -> str:
    """Return SQL for a call in a ``groupBy``.

    >>> from tidegate.flow.aggregates import aggregation
    >>> from tidegate.flow.schema import parse_schema
    >>> def call(text):
    ...     return aggregation((), [text + " AS y"], {}, parse_schema("t INT, x INT", time=("t",))).calls[0]
    >>> call_sql(call("sum(x)"), "struct(t, x)")
    'sum(x)'
    >>> call_sql(call("first(x) FILTER (WHERE x > 1)"), "struct(t, x)")
    'min_by(x, struct(t, x)) FILTER (WHERE x > 1)'
    """
    known = call.definition
    left = any(word in call.rest.lower() for word in known.unsorted_with)
    if not known.sorted or left or not known.takes(len(call.arguments)):
        return call.sql
    filled = placeholders(call, order)
    return known.sorted.format(**filled, values=_values(call, filled["x"], order))


def _values(call: AggregateCall, value: str, order: str) -> str:
    """Return SQL for the list of a call's values, in the order of rows."""
    conditions = [] if "respect" in call.rest.lower() else [f"({value}) IS NOT NULL"]
    conditions += [f"({call.where})"] if call.where else []
    chosen = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    pairs = f"array_sort(collect_list(struct({order} AS o, {value} AS v)){chosen})"
    values = f"transform({pairs}, __e -> __e.v)"
    return f"array_distinct({values})" if call.distinct else values
