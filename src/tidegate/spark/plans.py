"""Whole plans on DataFrames: every operator by the lowering, and loops in rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError
from tidegate.flow.plan import Iterate, Operator, Plan
from tidegate.spark.loops.bounded import one_round, run_loop
from tidegate.spark.lowering import lower_by, lower_operator
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["lower"]


def lower(
    flow: Plan, inputs: Mapping[str, DataFrame], runtime: Runtime, *, upto: str | None = None, run: bool = False
) -> dict[str, DataFrame]:
    """Return the output of every operator, from the rows of sources and tables, as if all of time were complete.

    ``inputs`` may hold other outputs, too. With ``upto``, there is only what this operator needs. Loops go round with
    ``run``; else they give the right columns, and rows that are of no use.
    """
    frames = dict(inputs)
    wanted = None if upto is None else flow.upstream(upto)
    for operator in flow:
        if operator.id in frames or (wanted is not None and operator.id not in wanted):
            continue
        try:
            given = [frames[name] for name in operator.inputs]
            frames[operator.id] = _lowered(operator, runtime, given, run=run)
        except TidegateError as error:
            raise error.at(f"{operator.verb}(…) on {', '.join(operator.inputs)}").at(f"flow {flow.name!r}") from None
    return frames


def _lowered(operator: Operator, runtime: Runtime, inputs: list[DataFrame], *, run: bool) -> DataFrame:
    if isinstance(operator, Iterate):
        return lower_by(run_loop if run else one_round, operator, runtime, *inputs)
    return lower_operator(operator, runtime, *inputs)
