"""The lowering: one function for each operator except loops, from its input relations to its output relation.

Only `unfold` may compute something. Modules are divided by what operators look at: `rowwise` at one row, `per_time` at
one time, and `windows`, `accumulate` and `across_time` across times.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.engine.lowering.accumulate import accumulate
from tidegate.engine.lowering.across_time import deduplicate, join_asof, process
from tidegate.engine.lowering.intervals import interval_join
from tidegate.engine.lowering.moving import at
from tidegate.engine.lowering.per_time import aggregate, distinct, gate, join
from tidegate.engine.lowering.rowwise import explode, map_batches, select, union, where
from tidegate.engine.lowering.tops import top
from tidegate.engine.lowering.unfold import unfold
from tidegate.engine.lowering.windows import window_aggregate, window_apply, window_join, window_top
from tidegate.engine.relation import Relation
from tidegate.flow import plan
from tidegate.flow.errors import NotSupported

__all__ = ["lower_by", "lower_operator"]

_LOWERINGS: dict[type[plan.PlanOperator], Callable[..., Relation]] = {
    plan.Where: where,
    plan.Select: select,
    plan.Restored: select,
    plan.Explode: explode,
    plan.Unfold: unfold,
    plan.MapBatches: map_batches,
    plan.Union: union,
    plan.At: at,
    plan.Gate: gate,
    plan.Distinct: distinct,
    plan.Aggregate: aggregate,
    plan.Join: join,
    plan.WindowAggregate: window_aggregate,
    plan.WindowApply: window_apply,
    plan.WindowJoin: window_join,
    plan.WindowTop: window_top,
    plan.Accumulate: accumulate,
    plan.Carry: accumulate,
    plan.Top: top,
    plan.Last: top,
    plan.Latest: top,
    plan.Deduplicate: deduplicate,
    plan.JoinAsof: join_asof,
    plan.IntervalJoin: interval_join,
    plan.Process: process,
}


def lower_operator(operator: plan.PlanOperator, *inputs: Relation) -> Relation:
    """Return the output of an operator, as if all times were complete."""
    lowering = _LOWERINGS.get(type(operator))
    if lowering is None:
        raise NotSupported(f"there is no rule for what {operator.verb} computes")
    return lower_by(lowering, operator, *inputs)


def lower_by(lowering: Callable[..., Relation], operator: plan.PlanOperator, *inputs: Relation) -> Relation:
    """Return the output of an operator by a function for its kind. Errors of the backend are raised in our form."""
    backend = inputs[0].backend
    try:
        with backend.quiet():
            return lowering(operator, *inputs)
    except backend.refusals as error:
        raise backend.refused(operator, inputs, error) from None
