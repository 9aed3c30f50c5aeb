"""Pairs of rows that match, as one native join: shared by joins at equal times, with tables, and in windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate.flow.plan import Join, WindowJoin
from tidegate.flow.rewrite.equations import implied
from tidegate.flow.schema import Schema
from tidegate.spark.lowering.rows import columns_of, quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["joined"]

_SPARK = {"semi": "left_semi", "anti": "left_anti", "full": "full_outer"}


def joined(
    operator: Join | WindowJoin,
    runtime: Runtime,
    left: DataFrame,
    right: DataFrame,
    equal: Mapping[str, str],
    times: Mapping[str, str],
) -> DataFrame:
    """Join two sides on the columns ``equal`` (by their SQL on either side), on ``on``, and on the condition.

    ``times`` are the time columns of the result: SQL over ``equal``, or over the left side. They and ``on`` come from
    the side that has the row, so that they are never null for want of a partner.
    """
    same = [f"`left`.{sql} = `right`.{sql}" for sql in [*equal.values(), *map(quoted, operator.on)]]
    conditions = [*same, *([f"({operator.where.sql})"] if operator.where else []), *_implied(operator, left, right)]
    pairs = left.alias("left").join(
        right.alias("right"), runtime.expr(" AND ".join(conditions) or "true"), _SPARK.get(operator.how, operator.how)
    )
    return pairs.select(
        *(runtime.expr(_shared(operator.how, sql), name) for name, sql in times.items()),
        *(runtime.expr(_shared(operator.how, quoted(name)), name) for name in operator.on),
        *(runtime.expr(f"`left`.{quoted(name)}", name) for name in operator.left_columns),
        *(runtime.expr(f"`right`.{quoted(name)}", name) for name in operator.right_columns),
    )


def _implied(operator: Join | WindowJoin, left: DataFrame, right: DataFrame) -> tuple[str, ...]:
    """Answer conditions on one side that Spark does not find: it infers them from equal columns only."""
    if operator.where is None:
        return ()
    schemas = Schema(columns_of(left.schema), operator.schema.time), Schema(columns_of(right.schema))
    return implied(operator.where, operator.on, *schemas)


def _shared(how: str, sql: str) -> str:
    if how == "full":
        return f"coalesce(`left`.{sql}, `right`.{sql})"
    return f"`right`.{sql}" if how == "right" else f"`left`.{sql}"
