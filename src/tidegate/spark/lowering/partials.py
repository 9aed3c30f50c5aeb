"""Partial aggregates: what to keep of the rows of one cell of a grid, and how two cells are put together.

Where a function has no partial form here, the rows themselves are kept (`Collected`), and it is computed from them at
the end: any aggregate that Spark has can be accumulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.flow.aggregates import AggregateCall
from tidegate.spark.lowering.calls import ignores_nulls

__all__ = ["Partial", "partial"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The parts of one call: for each, a column of the cell, how it is computed of rows, how of other parts.

    ``finish`` is the result, as SQL over the columns.
    """

    columns: tuple[str, ...]
    of_rows: tuple[str, ...]
    merged: tuple[str, ...]
    finish: str


def partial(call: AggregateCall, order: str) -> Partial | None:
    """Answer the partial form of a call, or None if it has none; ``order`` sorts rows.

    >>> from tidegate.flow.aggregates import aggregation
    >>> from tidegate.flow.schema import parse_schema
    >>> call = aggregation((), ["count(*) AS n"], {}, parse_schema("t INT", time=("t",))).calls[0]
    >>> partial(call, "struct(t)")
    Partial(columns=('__0a',), of_rows=('count(*)',), merged=('sum(__0a)',), finish='__0a')
    """
    return _RULES[call.function](call, order) if call.mergeable else None


def _filtered(call: AggregateCall, sql: str) -> str:
    return f"{sql} FILTER (WHERE {call.where})" if call.where else sql


def _with(merge: str) -> Callable[[AggregateCall, str], Partial]:
    def rule(call: AggregateCall, order: str) -> Partial:  # noqa: ARG001
        a = f"{call.name}a"
        return Partial((a,), (call.sql,), (f"{merge}({a})",), a)

    return rule


def _average(call: AggregateCall, order: str) -> Partial:  # noqa: ARG001
    a, b = f"{call.name}a", f"{call.name}b"
    (value,) = call.arguments
    # As Spark does: a sum of large integers does not overflow.
    parts = (_filtered(call, f"sum(CAST({value} AS DOUBLE))"), _filtered(call, f"count({value})"))
    # On no values at all, the average is null, and not a division by zero.
    return Partial((a, b), parts, (f"sum({a})", f"sum({b})"), f"{a} / nullif({b}, 0)")


def _extreme(pick: str, call: AggregateCall, value: str, at: str) -> Partial:
    a, b = f"{call.name}a", f"{call.name}b"
    least = pick.removesuffix("_by")
    parts = (_filtered(call, f"{pick}(struct({value} AS v), {at})"), _filtered(call, f"{least}({at})"))
    return Partial((a, b), parts, (f"{pick}({a}, {b})", f"{least}({b})"), f"{a}.v")


def _by(call: AggregateCall, order: str) -> Partial:
    value, at = call.arguments
    return _extreme(call.function, call, value, f"IF({at} IS NULL, NULL, struct({at} AS a, {order} AS o))")


def _edge(pick: str) -> Callable[[AggregateCall, str], Partial]:
    def rule(call: AggregateCall, order: str) -> Partial:
        value = call.arguments[0]
        at = f"IF({value} IS NULL, NULL, {order})" if ignores_nulls(call) else order
        return _extreme(pick, call, value, at)

    return rule


_RULES: dict[str, Callable[[AggregateCall, str], Partial]] = {
    **{name: _with("sum") for name in ("count", "count_if", "sum", "regr_count")},
    **{name: _with("bool_and") for name in ("bool_and", "every")},
    **{name: _with("bool_or") for name in ("bool_or", "some", "any")},
    **{name: _with(name) for name in ("min", "max", "bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(("avg", "mean"), _average),
    **dict.fromkeys(("min_by", "max_by"), _by),
    **{name: _edge("min_by") for name in ("first", "first_value", "any_value")},
    **{name: _edge("max_by") for name in ("last", "last_value")},
}
