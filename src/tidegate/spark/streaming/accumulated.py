"""`accumulate` from step to step: what is complete is kept as partial aggregates, merged where no later time can tell.

With frontier F, a complete time t is represented by the meet over f in F of the join of t and f: the times that may
still appear are above the one exactly if they are above the other. On a total order that is the frontier itself, and
there is one cell for each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.spark.lowering.accumulate import answers_of, cells_of, counted_at, mergeable, merged_cells
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.units import from_units
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, parts_of
from tidegate.time import BOTTOM, TOP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["accumulated", "fresh_cells", "kept_as_cells", "merged_state", "not_counted_yet"]


def kept_as_cells(operator: plan.Operator) -> bool:
    """Answer whether an operator is an `accumulate` whose state is partial aggregates."""
    return isinstance(operator, plan.Accumulate) and mergeable(operator)


def not_counted_yet(
    operator: plan.Accumulate, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier
) -> DataFrame:
    """Answer the rows that are not in cells yet: the time from which on they count is not complete."""
    return rows.where(runtime.expr(f"NOT ({complete(schema, frontier, _counted(operator))})"))


def fresh_cells(
    operator: plan.Accumulate, schema: Schema, runtime: Runtime, rows: DataFrame, old: Frontier, new: Frontier
) -> tuple[DataFrame, DataFrame]:
    """Answer the rows that count from now on, and their cells."""
    pending = not_counted_yet(operator, schema, runtime, rows, old)
    fresh = pending.where(runtime.expr(complete(schema, new, _counted(operator))))
    return fresh, cells_of(operator, runtime, fresh)


def accumulated(
    operator: plan.Accumulate,
    runtime: Runtime,
    rows: DataFrame,
    before: DataFrame,
    fresh: DataFrame,
    old: Frontier,
) -> DataFrame:
    """Answer for the fresh cells, on top of the cells from before; ``rows`` gives the types."""
    known = _represented(operator, runtime, before, old)
    if operator.emit == "update" and operator.aggregation.by:
        # A group without new rows gives no answer.
        names = [f"__k{i}" for i in range(len(operator.aggregation.by))]
        groups = fresh.select(*(runtime.expr(name, f"{name}x") for name in names)).distinct()
        same = " AND ".join(f"{name} <=> {name}x" for name in names)
        known = known.join(groups, runtime.expr(same), "left_semi")
    both = known.unionByName(fresh.withColumn("__here", runtime.expr("__n")))
    return answers_of(operator, runtime, merged_cells(operator, runtime, both, rows), rows)


def merged_state(
    operator: plan.Accumulate, runtime: Runtime, rows: DataFrame, cells: DataFrame, frontier: Frontier
) -> DataFrame:
    """Answer the cells of complete times, merged as far as no later time can tell them apart."""
    known = _represented(operator, runtime, cells, frontier)
    return merged_cells(operator, runtime, known, rows).select(*map(quoted, cells.columns))


def _counted(operator: plan.Accumulate) -> list[str]:
    return [f"({sql})" for sql in counted_at(operator)]


def _represented(operator: plan.Accumulate, runtime: Runtime, cells: DataFrame, frontier: Frontier) -> DataFrame:
    schema = operator.schema
    elements = [parts for parts in (parts_of(schema, f) for f in frontier) if TOP not in parts]
    moved = {}
    for i, column in enumerate(schema.times):
        name, type_ = f"__t{i}", column.type or ""
        joins = [
            name if part[i] is BOTTOM else f"greatest({name}, {from_units(f'{units(part[i], type_)}L', type_)})"
            for part in elements
        ]
        moved[name] = joins[0] if len(joins) == 1 else f"least({', '.join(joins)})" if joins else name
    others = {name: quoted(name) for name in cells.columns if name not in moved and name != "__here"}
    return cells.select(*runtime.exprs({**others, **moved, "__here": "0L"}))
