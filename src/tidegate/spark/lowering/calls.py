"""Calls of aggregate functions as Spark SQL whose result depends on the rows only, not on how they are spread.

Spark's own `first`, `collect_list`, `max_by` and some others answer by the order in which rows happen to arrive. Here
they see rows sorted by time and then by all columns: ``order`` is a value that sorts them so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidegate.flow.aggregates import AggregateCall, Aggregation
from tidegate.flow.schema import Schema
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

__all__ = ["call_sql", "finished", "gathered", "listing", "named_calls", "placeholders", "runs_along", "times_of"]


def named_calls(aggregation: Aggregation, order: str) -> dict[str, str]:
    """Answer the SQL of all calls by the names that their results go under."""
    return {call.name: call_sql(call, order) for call in aggregation.calls}


def listing(aggregation: Aggregation, runtime: Runtime, rows: DataFrame) -> tuple[DataFrame, dict[str, str]]:
    """Answer what an Aggregate that embeds works on: the rows that are listed anywhere, and calls that do not sort."""
    calls = aggregation.calls
    conditions = dict.fromkeys(call.where for call in calls)
    if None in conditions:
        return rows, {call.name: call.sql for call in calls}
    chosen = rows.where(runtime.expr(" OR ".join(f"({where})" for where in conditions)))
    if len(conditions) > 1:
        return chosen, {call.name: call.sql for call in calls}
    # What all lists ask for is asked of rows already.
    return chosen, {call.name: f"{call.function}({', '.join(call.arguments)})" for call in calls}


def gathered(rows: DataFrame, names: Iterable[str]) -> GroupedData:
    """Group rows to list them, by columns.

    They are brought together as they are, and listed once: lists of a part of them would be no smaller than the rows.
    """
    columns = [quoted(name) for name in names]
    return rows.repartition(*columns).groupBy(*columns)


def finished(aggregation: Aggregation) -> dict[str, str]:
    """Answer the columns of the result besides time, computed from groups and results of calls."""
    by = {e.name: quoted(e.name) for e in aggregation.by}
    return by | {output.name: output.finish for output in aggregation.outputs}


def call_sql(call: AggregateCall, order: str) -> str:
    """Answer a call for use in a ``groupBy``.

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
    return known.sorted.format(**placeholders(call, order))


def placeholders(call: AggregateCall, order: str) -> dict[str, str]:
    """Return what the templates of an aggregate function for Spark are filled with."""
    x, y, *_ = (*call.arguments, "''", "''")
    return {
        "call": call.sql,
        "x": x,
        "y": y,
        "f": f" FILTER (WHERE {call.where})" if call.where else "",
        "o": order,
        "at": f"IF({x} IS NULL, NULL, {order})" if _ignores_nulls(call) else order,
        "values": _values(call, x, order),
    }


def _ignores_nulls(call: AggregateCall) -> bool:
    """Whether `first` and the like skip nulls."""
    return "ignore" in call.rest.lower() or (len(call.arguments) == 2 and call.arguments[1].lower() == "true")


def _values(call: AggregateCall, value: str, order: str) -> str:
    """Return the list of the values of a call, in the order of rows."""
    conditions = [] if "respect" in call.rest.lower() else [f"({value}) IS NOT NULL"]
    conditions += [f"({call.where})"] if call.where else []
    chosen = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    pairs = f"array_sort(collect_list(struct({order} AS o, {value} AS v)){chosen})"
    values = f"transform({pairs}, __e -> __e.v)"
    return f"array_distinct({values})" if call.distinct else values


def runs_along(call: AggregateCall) -> bool:
    """Answer whether Spark can compute a call over a frame that grows row by row."""
    return not call.distinct and "group" not in call.rest.lower() and call.definition.framed


def times_of(schema: Schema) -> dict[str, str]:
    """Answer the time columns as they are, by name."""
    return {name: quoted(name) for name in schema.time}
