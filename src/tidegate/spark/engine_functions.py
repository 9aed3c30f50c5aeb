"""Writes the engine's own SQL functions in Spark SQL: ``__moving``, ``__packed`` and ``__digit``."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.flow.sql import Sql

__all__ = ["spark_text"]


def spark_text(sql: str) -> str:
    """Return SQL in which the engine's own functions are written in Spark SQL.

    ``__moving(x, n)`` is the number n, which differs from step to step. Spark would compile a literal number into the
    generated code. It passes an array beside the code, so n becomes an element of an array with one element. Its index
    is computed from x, because Spark would replace a constant index. So the code stays the same in all steps, and
    neither Spark nor the JVM has to compile it again. ``__packed`` and ``__digit`` compute with decimals of up to 38
    digits.

    >>> spark_text("x >= __moving(x, 7L)")
    'x >= get(array(7L), CAST(x & 0L AS INT))'
    >>> spark_text("__packed(c, a, n, b, 1)")
    '(c + a * n + b * 1)'
    """
    if not any(f"{name}(" in sql for name in _WRITTEN):
        return sql
    whole = Sql.of(sql)
    found = [(call.sql, _WRITTEN[call.name](*call.arguments)) for call in whole.calls() if call.name in _WRITTEN]
    return whole.substitute(found)


def _moving(x: str, n: str) -> str:
    return f"get(array({n}), CAST({x} & 0L AS INT))"


def _packed(first: str, *rest: str) -> str:
    return f"({' + '.join([first, *(f'{a} * {b}' for a, b in zip(rest[::2], rest[1::2], strict=True))])})"


def _digit(x: str, step: str, size: str, low: str) -> str:
    # DIV gives a BIGINT. The dividend is a multiple of the divisor, and the quotient is small enough.
    return f"(({x} % ({step} * {size}) - {x} % {step} + {low} * {step}) DIV {step})"


#: How calls of the engine's own functions are written in Spark SQL.
_WRITTEN: dict[str, Callable[..., str]] = {"__moving": _moving, "__packed": _packed, "__digit": _digit}
