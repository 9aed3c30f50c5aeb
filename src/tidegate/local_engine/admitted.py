"""Which expressions the local engine takes: those that are known to mean what they mean in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tidegate.errors import TidegateError
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.loops.query import Query
from tidegate.flow.plan import Operator, Plan, Source
from tidegate.flow.translate import check_functions
from tidegate.flow.watermarks import Punctuated

__all__ = ["check_expressions"]


def check_expressions(flow: Plan) -> None:
    """Raise for the first expression of a flow that is not known to mean the same here as in Spark."""
    for operator in flow:
        for sql in _texts(operator):
            try:
                check_functions(sql)
            except TidegateError as error:
                raise error.at(f"{operator.verb}(…), {operator.id}") from None


def _texts(operator: Operator) -> Iterator[str]:
    if isinstance(operator, Source) and isinstance(operator.watermark, Punctuated):
        condition = operator.watermark.condition
        yield condition.sql if isinstance(condition, Expression) else condition
    for field in fields(operator):
        value: Any = getattr(operator, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression | Query):
                yield part.sql
            elif isinstance(part, Aggregation) and not getattr(operator, "rules", ()):
                # The rules of a loop are texts of the engine's own.
                yield from (e.sql for e in part.by)
                yield from (e.sql for e in part.outputs)
