"""Calls of aggregate and window functions: those of a flow, and those that the engine makes for itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.aggregates import AggregateCall, Aggregation
from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from tidegate.engine.relation import Call, Relation

__all__ = [
    "WINDOW_FUNCTIONS",
    "as_one_value",
    "call",
    "call_of",
    "finished",
    "has_running_form",
    "listing",
    "named_calls",
    "placeholders",
    "times_of",
    "wrapped",
]


#: The functions that only windows have.
WINDOW_FUNCTIONS = ("lag", "lead", "row_number")


def call(function: str, *arguments: str, ignore_nulls: bool = False) -> Call:
    """Return a call that the engine makes for itself.

    >>> call("last", "x", ignore_nulls=True).sql
    'last(x) IGNORE NULLS'
    """
    rest = "IGNORE NULLS" if ignore_nulls else ""
    sql = f"{function}({', '.join(arguments)})"
    return AggregateCall("", f"{sql} {rest}".rstrip(), function, arguments, False, None, rest, None, ())


@lru_cache(maxsize=1024)
def call_of(sql: str) -> Call:
    """Return the call from its SQL.

    >>> found = call_of("sum(x + 1) FILTER (WHERE y > 2)")
    >>> found.function, found.arguments, found.where
    ('sum', ('x + 1',), 'y > 2')
    """
    found = Sql.of(sql).call()
    assert found is not None, f"{sql} is no call"
    inside = found.inside
    assert not (len(inside) > 1 and inside.tokens[0].word in ("distinct", "all")), (
        "calls of the engine have no such word"
    )
    filters = [clause for clause in found.clauses if clause.tokens[0].word == "filter"]
    where = str(filters[0][3:-1]) if filters else None
    rest = " ".join(str(clause) for clause in found.clauses if clause not in filters)
    return AggregateCall("", sql, found.name, tuple(found.arguments), False, where, rest, None, ())


@lru_cache(maxsize=1024)
def wrapped(sql: str, name: str) -> tuple[Call, str, str]:
    """Return the aggregate call inside an SQL expression, the name, and the expression with the call replaced by it.

    >>> found, name, then = wrapped("array_sort(flatten(collect_list(xs)))", "n")
    >>> found.sql, then
    ('collect_list(xs)', 'array_sort(flatten(n))')
    """
    whole = Sql.of(sql)
    inner = next(found for found in whole.calls() if found.name in AGGREGATE_FUNCTIONS)
    return call_of(str(inner.sql)), name, whole.substitute([(inner.sql, name)]).strip()


def named_calls(aggregation: Aggregation) -> dict[str, Call]:
    """Return all calls by the names of their results."""
    return {call.name: call for call in aggregation.calls}


def listing(aggregation: Aggregation, rows: Relation) -> tuple[Relation, dict[str, Call]]:
    """Return the rows that any list of an embedding Aggregate contains, and the calls, which do not sort."""
    calls = aggregation.calls
    conditions = dict.fromkeys(call.where for call in calls)
    if None in conditions:
        return rows, named_calls(aggregation)
    chosen = rows.where(" OR ".join(f"({where})" for where in conditions))
    if len(conditions) > 1:
        return chosen, named_calls(aggregation)
    # All lists have the same condition, and the rows are filtered by it already.
    return chosen, {one.name: call(one.function, *one.arguments) for one in calls}


def finished(aggregation: Aggregation) -> dict[str, str]:
    """Return the columns of the result besides time, computed from groups and results of calls."""
    by = {e.name: quoted(e.name) for e in aggregation.by}
    return by | {output.name: output.finish for output in aggregation.outputs}


def placeholders(call: Call, order: str) -> dict[str, str]:
    """Return the values for the templates of an aggregate function; ``order`` is an expression that sorts rows."""
    x, y, *_ = (*call.arguments, "''", "''")
    ignores = "ignore" in call.rest.lower() or (len(call.arguments) == 2 and call.arguments[1].lower() == "true")
    return {
        "call": call.sql,
        "x": x,
        "y": y,
        "f": f" FILTER (WHERE {call.where})" if call.where else "",
        "o": order,
        "at": f"IF({x} IS NULL, NULL, {order})" if ignores else order,
    }


def has_running_form(call: Call) -> bool:
    """Whether a call can be computed as a running aggregate, over a frame that grows row by row."""
    return not call.distinct and "group" not in call.rest.lower() and call.definition.framed


def times_of(schema: Schema) -> dict[str, str]:
    """Return the time columns as they are, by name."""
    return {name: quoted(name) for name in schema.time}


def as_one_value(order: Sequence[str]) -> str:
    """Return SQL for one value that sorts rows as some columns in turn do."""
    return f"struct({', '.join(order)})"
