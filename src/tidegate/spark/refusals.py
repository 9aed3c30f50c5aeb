"""The error for an operator that Spark refuses, such as one with an unknown function or a wrong type.

A flow is built without Spark, so this is found out when Spark analyses the plan, before data is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.errors import BadArgument, BadExpression, FlowError, pointed
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Iterate, PlanOperator, Where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.spark.runtime import Runtime

__all__ = ["message_of", "refused"]


def refused(operator: PlanOperator, inputs: Sequence[DataFrame], runtime: Runtime, error: Exception) -> FlowError:
    """Return the error for an operator that Spark refuses. Each expression is tried, to name the one that is wrong."""
    if isinstance(operator, Iterate):
        # The queries of a loop use columns that its inputs do not have, so its expressions can't be tried one by one.
        fragment = _fragment(error)
        return (
            _explained(fragment, error) if fragment else BadExpression(f"Spark refuses this loop: {message_of(error)}")
        )
    with runtime.quiet():
        for sql, aggregate in _expressions(operator):
            blamed = _try(sql, inputs, runtime, aggregate=aggregate)
            if blamed is not None:
                return _explained(sql, blamed)
    if isinstance(operator, Where):
        return BadArgument(
            f"expected a condition, got {operator.condition.sql}\n  Spark: {message_of(error)}",
            hint="compare it with something",
        )
    return BadExpression(f"Spark refuses this operator: {message_of(error)}")


def _expressions(operator: PlanOperator) -> Iterator[tuple[str, bool]]:
    """Yield the expressions of an operator, each with whether it aggregates."""
    for field in fields(operator):
        value: Any = getattr(operator, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression):
                yield part.sql, False
            elif isinstance(part, Aggregation):
                yield from ((e.sql, False) for e in part.by)
                yield from ((call.sql, True) for call in part.calls)


def _try(sql: str, inputs: Sequence[DataFrame], runtime: Runtime, *, aggregate: bool) -> Exception | None:
    try:
        rows = inputs[0] if len(inputs) == 1 else inputs[0].alias("left").crossJoin(inputs[1].alias("right"))
        rows.groupBy().agg(runtime.expr(sql)) if aggregate else rows.select(runtime.expr(sql))
    except runtime.refusals as error:
        return error
    return None


def _fragment(error: Any) -> str:
    """Return the piece of our SQL that an error of Spark is about; empty if it does not say."""
    for context in error.getQueryContext() or ():
        try:
            return str(context.fragment())
        except Exception:  # a context of the DataFrame API has no text
            continue
    return ""


def _explained(sql: str, error: Any) -> BadExpression:
    start, end = 0, len(sql)
    for context in error.getQueryContext() or ():
        try:
            begin, stop = context.startIndex(), context.stopIndex()
        except Exception:  # a context of the DataFrame API has no place in a text
            continue
        if 0 <= begin <= stop < len(sql):
            start, end = begin, stop + 1
            break
    condition = error.getCondition() or ""
    hint = ""
    if condition.startswith("UNRESOLVED_ROUTINE"):
        hint = "Spark has no function of that name; your own: spark.udf.register(name, function)"
    elif condition.startswith("DATATYPE_MISMATCH"):
        hint = "CAST(… AS type) makes one type of another"
    return BadExpression(pointed(message_of(error), sql, start, end), hint=hint)


def message_of(error: Any) -> str:
    r"""Return the message of an error of Spark in one line, without its codes.

    >>> message_of(ValueError("[A.B] Cannot do that. SQLSTATE: 42K09; line 1 pos 4;\n'Project"))
    'Cannot do that'
    """
    text = str(error).split("\n")[0]
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.sub(r"\s*SQLSTATE: .*$", "", text)
    return re.sub(r"[;.]?\s*(line \d+ pos \d+)?;?\s*$", "", text).strip()
