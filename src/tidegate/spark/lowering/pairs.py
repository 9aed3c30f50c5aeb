"""Pairs of rows that match, as one native join: shared by joins at equal times, with tables, and in windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.flow.equations import RIGHT, implied
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Join, WindowJoin
from tidegate.flow.schema import Schema
from tidegate.flow.substitute import from_pack
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
    placed: Callable[[DataFrame], DataFrame] = lambda side: side,
) -> DataFrame:
    """Join two sides on the columns ``equal`` (by their SQL on either side), on ``on``, and on the condition.

    ``times`` are the time columns of the result: SQL over ``equal``, or over the left side. They and ``on`` come from
    the side that has the row, so that they are never null for want of a partner. ``placed`` puts a side into windows.
    """
    names = _names(operator, left, right)
    left, right = placed(left), placed(right.toDF(*names.values()))
    where = _respelled(operator.where, names)
    same = [f"`left`.{sql} = `right`.{sql}" for sql in [*equal.values(), *map(quoted, operator.on)]]
    conditions = [*same, *([f"({where.sql})", *_implied(operator, where, left, right)] if where else [])]
    pairs = left.alias("left").join(
        right.alias("right"), runtime.expr(" AND ".join(conditions) or "true"), _SPARK.get(operator.how, operator.how)
    )
    return pairs.select(
        *(runtime.expr(_shared(operator.how, sql), name) for name, sql in times.items()),
        *(runtime.expr(_shared(operator.how, quoted(name)), name) for name in operator.on),
        *(runtime.expr(f"`left`.{quoted(name)}", name) for name in operator.left_columns),
        *(runtime.expr(f"`right`.{quoted(names[name])}", name) for name in operator.right_columns),
    )


def _names(operator: Join | WindowJoin, left: DataFrame, right: DataFrame) -> Mapping[str, str]:
    """Answer what to call the columns of the right side: as those of the left, where both have the same types.

    The sides of a stream that is joined with itself then differ in nothing, and Spark computes one of them only.
    """
    own = {name: name for name in right.columns}
    shared = {name.lower() for name in (*operator.on, *operator.schema.time)}
    mine, theirs = ([c for c in columns_of(side.schema) if c.name.lower() not in shared] for side in (left, right))
    if [c.type for c in mine] != [c.type for c in theirs]:
        return own
    return own | {c.name: m.name for c, m in zip(theirs, mine, strict=True)}


def _respelled(where: Expression | None, names: Mapping[str, str]) -> Expression | None:
    """Answer a condition that calls the columns of the right side by other names."""
    if where is None or all(old == new for old, new in names.items()):
        return where
    fields = {
        old.lower(): Expression(new, f"{quoted(RIGHT)}.{quoted(new)}", None, (f"{RIGHT}.{new}",))
        for old, new in names.items()
    }
    respelled = from_pack(where, RIGHT, fields)
    assert respelled is not None, "a condition reads a side by its columns only"
    return respelled


def _implied(operator: Join | WindowJoin, where: Expression, left: DataFrame, right: DataFrame) -> tuple[str, ...]:
    """Answer conditions on one side that Spark does not find: it infers them from equal columns only."""
    schemas = Schema(columns_of(left.schema), operator.schema.time), Schema(columns_of(right.schema))
    return implied(where, operator.on, *schemas)


def _shared(how: str, sql: str) -> str:
    if how == "full":
        return f"coalesce(`left`.{sql}, `right`.{sql})"
    return f"`right`.{sql}" if how == "right" else f"`left`.{sql}"
