"""Which expressions the local engine accepts: those that are known to mean the same as in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import duckdb

from tidegate.errors import TidegateError
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.errors import NotSupported
from tidegate.flow.expressions import Expression
from tidegate.flow.loops.query import Query
from tidegate.flow.plan import Plan, PlanOperator, Source
from tidegate.flow.translate import check_functions
from tidegate.flow.watermarks import Punctuated

__all__ = ["check_expressions", "check_macros"]


def check_expressions(flow: Plan) -> None:
    """Raise for the first expression of a flow that is not known to mean the same here as in Spark."""
    for operator in flow:
        for sql in _texts(operator):
            try:
                check_functions(sql)
            except TidegateError as error:
                raise error.at(f"{operator.verb}(…), {operator.id}") from None


#: The query for DuckDB's functions that users have replaced by macros which our queries would call.
_REPLACED = """
SELECT lower(function_name) AS name FROM duckdb_functions() GROUP BY name
HAVING bool_or(internal)
AND bool_or(NOT internal AND schema_name = current_schema() AND database_name = current_database())
ORDER BY name
"""


def check_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise if a connection has macros named like DuckDB's functions: they would change what expressions mean."""
    found = [name for (name,) in connection.execute(_REPLACED).fetchall()]
    if found:
        raise NotSupported(
            f"expected a connection in which DuckDB's functions are its own, got macros called {', '.join(found)}: "
            "with them, expressions mean something else",
            hint=f"DROP MACRO {found[0]}, give the macro another name, or tg.local()",
        )


def _texts(operator: PlanOperator) -> Iterator[str]:
    if isinstance(operator, Source) and isinstance(operator.watermark, Punctuated):
        condition = operator.watermark.condition
        yield condition.sql if isinstance(condition, Expression) else condition
    for field in fields(operator):
        value: Any = getattr(operator, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression | Query):
                yield part.sql
            elif isinstance(part, Aggregation) and not getattr(operator, "rules", ()):
                # The rules of a loop are SQL of the engine itself.
                yield from (e.sql for e in part.by)
                yield from (e.sql for e in part.outputs)
