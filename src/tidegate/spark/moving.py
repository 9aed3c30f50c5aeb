"""Numbers that are others in each step, written so that Spark's code stays the same."""

from __future__ import annotations

from tidegate.flow.sql import Sql

__all__ = ["spark_text"]


def spark_text(sql: str) -> str:
    """Return a text with each ``__moving(x, n)`` as the first of an array of one, at a place that depends on x.

    Spark compiles a number into the code of a query, and an array beside it. So the code stays the same from step to
    step, and neither Spark nor the JVM has to compile it again.

    >>> spark_text("x >= __moving(x, 7L)")
    'x >= get(array(7L), CAST(x & 0L AS INT))'
    """
    if "__moving(" not in sql:
        return sql
    whole = Sql.of(sql)
    found = [(call.sql, call.arguments) for call in whole.calls() if call.name == "__moving"]
    return whole.substitute([(old, f"get(array({n}), CAST({x} & 0L AS INT))") for old, (x, n) in found])
