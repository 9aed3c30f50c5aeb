"""`accumulate` from step to step: partial aggregates, merged where no later time can tell complete times apart.

With frontier F, a complete time t is represented by the meet over f in F of the join of t and f: the times that may
still appear are above the one exactly if they are above the other. On a total order that is the frontier itself, and
there is one cell for each group. A cell says in ``__here`` how many of its rows wait for their time to be complete:
all, or none once it is merged with others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.spans import units
from tidegate.spark.lowering.accumulate import answers_of, cells_of, merged_cells
from tidegate.spark.lowering.cells import mergeable
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.units import from_units, to_units
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, is_complete, parts_of
from tidegate.spark.streaming.state import Part
from tidegate.time import BOTTOM, TOP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "FEW",
    "accumulated",
    "few_cells",
    "folded_cells",
    "kept_as_cells",
    "may_be_fresh",
    "waiting_cells",
    "waiting_times",
]

#: With fewer new rows than this, their groups are sent to where the state is, and not the state to them.
FEW = 100_000


def kept_as_cells(operator: plan.Operator) -> bool:
    """Answer whether an operator is an `accumulate` whose state is partial aggregates."""
    return isinstance(operator, plan.Accumulate) and mergeable(operator.aggregation)


def waiting_cells(operator: plan.Accumulate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer the cells of new rows."""
    return cells_of(operator, runtime, rows).withColumn("__here", runtime.expr("__n"))


def waiting_times(operator: plan.Accumulate) -> list[str]:
    """Answer the times of cells in units, null for those that do not wait any more."""
    columns = enumerate(operator.schema.times)
    return [f"IF(__here > 0, {to_units(f'__t{i}', column.type or '')}, NULL)" for i, column in columns]


def may_be_fresh(operator: plan.Accumulate, part: Part, old: Frontier) -> bool:
    """Answer whether some cells of a part were not complete before."""
    return part.last is not None and not is_complete(operator.schema, old, part.last)


def accumulated(
    operator: plan.Accumulate,
    runtime: Runtime,
    rows: DataFrame,
    cells: DataFrame,
    newer: DataFrame,
    old: Frontier,
    new: Frontier,
    *,
    few: bool,
) -> DataFrame:
    """Answer for the cells that became complete, on top of those that were; ``rows`` gives the types.

    ``newer`` has the cells that may have become complete, ``few`` says that they are not many.
    """
    was, now = (complete(operator.schema, frontier, _times(operator)) for frontier in (old, new))
    fresh = newer.where(runtime.expr(f"__here > 0 AND ({now}) AND NOT ({was})"))
    known = _represented(operator, runtime, cells.where(runtime.expr(f"__here = 0 OR ({was})")), old)
    if operator.emit == "update" and operator.aggregation.by:
        # A group without new rows gives no answer.
        names = [f"__k{i}" for i in range(len(operator.aggregation.by))]
        groups = fresh.select(*(runtime.expr(name, f"{name}x") for name in names)).distinct()
        same = " AND ".join(f"{name} <=> {name}x" for name in names)
        known = known.join(runtime.F.broadcast(groups) if few else groups, runtime.expr(same), "left_semi")
    both = known.unionByName(fresh)
    return answers_of(operator, runtime, merged_cells(operator, runtime, both, rows), rows)


def few_cells(parts: list[Part]) -> bool:
    """Answer whether parts hold so few cells that their groups can be sent to where the state is."""
    return sum(part.rows for part in parts) <= FEW


def folded_cells(
    operator: plan.Accumulate, runtime: Runtime, rows: DataFrame, cells: DataFrame, frontier: Frontier
) -> DataFrame:
    """Answer cells with those of complete times merged as far as no later time can tell them apart."""
    done = f"(__here = 0 OR ({complete(operator.schema, frontier, _times(operator))}))"
    marked = cells.withColumn("__waits", runtime.expr(f"NOT {done}"))
    moved = _represented(operator, runtime, marked, frontier, unless="__waits")
    return merged_cells(operator, runtime, moved, rows, "__waits").select(*map(quoted, cells.columns))


def _times(operator: plan.Accumulate) -> list[str]:
    return [f"__t{i}" for i in range(len(operator.schema.time))]


def _represented(
    operator: plan.Accumulate, runtime: Runtime, cells: DataFrame, frontier: Frontier, unless: str = "false"
) -> DataFrame:
    """Answer cells at the times that represent theirs, merged with none so far; ``unless`` leaves some as they are."""
    schema = operator.schema
    elements = [parts for parts in (parts_of(schema, f) for f in frontier) if TOP not in parts]
    changed = {"__here": f"IF({unless}, __here, 0L)"}
    for i, column in enumerate(schema.times):
        name, type_ = f"__t{i}", column.type or ""
        joins = [
            name if part[i] is BOTTOM else f"greatest({name}, {from_units(f'{units(part[i], type_)}L', type_)})"
            for part in elements
        ]
        meet = joins[0] if len(joins) == 1 else f"least({', '.join(joins)})" if joins else name
        changed[name] = f"IF({unless}, {name}, {meet})"
    return cells.select(*runtime.exprs({name: changed.get(name, quoted(name)) for name in cells.columns}))
