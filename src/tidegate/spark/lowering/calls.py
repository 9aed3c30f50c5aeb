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

__all__ = ["call_sql", "finished", "gathered", "ignores_nulls", "listing", "named_calls", "runs_along", "times_of"]

_FIRST = ("first", "first_value", "any_value")
_LAST = ("last", "last_value")
_LISTS = ("collect_list", "array_agg", "listagg", "string_agg")
# Spark refuses these over a frame of rows.
_UNFRAMED = ("median", "percentile_cont", "percentile_disc", "grouping", "grouping_id")


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
    name, arguments = call.function, call.arguments
    chosen = f" FILTER (WHERE {call.where})" if call.where else ""
    if name in _FIRST or name in _LAST:
        pick = "min_by" if name in _FIRST else "max_by"
        at = f"IF({arguments[0]} IS NULL, NULL, {order})" if ignores_nulls(call) else order
        return f"{pick}({arguments[0]}, {at}){chosen}"
    if name in ("min_by", "max_by") and len(arguments) == 2:
        at = f"IF({arguments[1]} IS NULL, NULL, struct({arguments[1]}, {order}))"
        return f"{name}({arguments[0]}, {at}){chosen}"
    if name in _LISTS and "within" not in call.rest.lower():
        return _list(call, order)
    if name == "collect_set":
        return f"sort_array({call.sql})"
    if name == "mode" and len(arguments) == 1 and not call.rest:
        return f"mode({arguments[0]}, true){chosen}"
    return call.sql


def ignores_nulls(call: AggregateCall) -> bool:
    """Answer whether `first` and the like skip nulls."""
    return "ignore" in call.rest.lower() or (len(call.arguments) == 2 and call.arguments[1].lower() == "true")


def _list(call: AggregateCall, order: str) -> str:
    value = call.arguments[0]
    conditions = [] if "respect" in call.rest.lower() else [f"({value}) IS NOT NULL"]
    conditions += [f"({call.where})"] if call.where else []
    chosen = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    pairs = f"array_sort(collect_list(struct({order} AS o, {value} AS v)){chosen})"
    values = f"transform({pairs}, __e -> __e.v)"
    if call.distinct:
        values = f"array_distinct({values})"
    if call.function in ("collect_list", "array_agg"):
        return values
    between = call.arguments[1] if len(call.arguments) > 1 else "''"
    texts = f"transform({values}, __v -> CAST(__v AS STRING))"
    return f"IF(size({values}) = 0, NULL, array_join({texts}, {between}))"


def runs_along(call: AggregateCall) -> bool:
    """Answer whether Spark can compute a call over a frame that grows row by row."""
    return not call.distinct and "group" not in call.rest.lower() and call.function not in _UNFRAMED


def times_of(schema: Schema) -> dict[str, str]:
    """Answer the time columns as they are, by name."""
    return {name: quoted(name) for name in schema.time}
