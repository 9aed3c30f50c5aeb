"""The lowering: from plan to DataFrames, one function for each operator. It runs no action, unless loops are run.

Operators are apart by what they need to know: `rowwise` ones look at a row, `per_time` ones at one time, and
`windows`, `accumulate` and `across_time` look across times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError
from tidegate.flow import plan
from tidegate.flow.errors import NotSupported
from tidegate.spark.loops.bounded import one_round, run_loop
from tidegate.spark.lowering.accumulate import accumulate
from tidegate.spark.lowering.across_time import deduplicate, join_asof, process
from tidegate.spark.lowering.per_time import aggregate, distinct, gate, join
from tidegate.spark.lowering.rowwise import explode, map_batches, select, union, where
from tidegate.spark.lowering.unfold import unfold
from tidegate.spark.lowering.windows import window_aggregate, window_apply, window_join
from tidegate.spark.runtime import Runtime
from tidegate.spark.settle import refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["lower", "lower_operator"]

_LOWERINGS: dict[type[plan.Operator], Callable[..., Any]] = {
    plan.Where: where,
    plan.Select: select,
    plan.Explode: explode,
    plan.Unfold: unfold,
    plan.MapBatches: map_batches,
    plan.Union: union,
    plan.Gate: gate,
    plan.Distinct: distinct,
    plan.Aggregate: aggregate,
    plan.Join: join,
    plan.WindowAggregate: window_aggregate,
    plan.WindowApply: window_apply,
    plan.WindowJoin: window_join,
    plan.Accumulate: accumulate,
    plan.Carry: accumulate,
    plan.Deduplicate: deduplicate,
    plan.JoinAsof: join_asof,
    plan.Process: process,
    plan.Iterate: one_round,
}


def lower(
    flow: plan.Plan, inputs: Mapping[str, DataFrame], runtime: Runtime, *, upto: str | None = None, run: bool = False
) -> dict[str, DataFrame]:
    """Answer the output of every operator, from the rows of sources and tables, as if all of time were complete.

    ``inputs`` may hold other outputs, too. With ``upto``, only what this operator needs is answered. Loops go round
    with ``run``; else they answer the right columns, and rows that are of no use.
    """
    frames = dict(inputs)
    wanted = None if upto is None else flow.upstream(upto)
    for operator in flow:
        if operator.id in frames or (wanted is not None and operator.id not in wanted):
            continue
        try:
            given = [frames[name] for name in operator.inputs]
            frames[operator.id] = lower_operator(operator, runtime, *given, run=run)
        except TidegateError as error:
            raise error.at(f"{operator.verb}(…) on {', '.join(operator.inputs)}").at(f"flow {flow.name!r}") from None
    return frames


def lower_operator(operator: plan.Operator, runtime: Runtime, *inputs: DataFrame, run: bool = False) -> DataFrame:
    """Answer the output of one operator; what Spark refuses is told in our words."""
    lowering: Callable[..., Any] | None = _LOWERINGS.get(type(operator))
    if run and isinstance(operator, plan.Iterate):
        lowering = run_loop
    if lowering is None:
        raise NotSupported(f"the Spark engine has no rule for {operator.verb}")
    try:
        with runtime.quiet():
            result: DataFrame = lowering(operator, runtime, *inputs)
            return result
    except runtime.refusals as error:
        raise refused(operator, inputs, runtime, error) from None
