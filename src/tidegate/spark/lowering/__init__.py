"""The lowering: from DataFrames to a DataFrame, one function for each operator but loops. Only `unfold` may run jobs.

Operators are apart by what they need to know: `rowwise` ones look at a row, `per_time` ones at one time, and
`windows`, `accumulate` and `across_time` look across times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.errors import NotSupported
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

__all__ = ["lower_by", "lower_operator"]

_LOWERINGS: dict[type[plan.Operator], Callable[..., DataFrame]] = {
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
}


def lower_operator(operator: plan.Operator, runtime: Runtime, *inputs: DataFrame) -> DataFrame:
    """Return the output of one operator, as if all of time were complete."""
    lowering = _LOWERINGS.get(type(operator))
    if lowering is None:
        raise NotSupported(f"the Spark engine has no rule for {operator.verb}")
    return lower_by(lowering, operator, runtime, *inputs)


def lower_by(
    lowering: Callable[..., DataFrame], operator: plan.Operator, runtime: Runtime, *inputs: DataFrame
) -> DataFrame:
    """Return the output of one operator by a function for its kind; what Spark refuses is told in our words."""
    try:
        with runtime.quiet():
            return lowering(operator, runtime, *inputs)
    except runtime.refusals as error:
        raise refused(operator, inputs, runtime, error) from None
