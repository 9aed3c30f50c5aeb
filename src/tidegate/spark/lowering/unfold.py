"""X, the loop that unfolds lists: in one go, or as a loop that the driver runs, to know what that costs.

As a loop, a round is one job and one Aggregate: tuples meet by all their attributes, each gives one element out, and
comes round with an index that is one higher (Listing 3, mended). There are as many rounds as the longest list has
elements. This is the one place where the lowering runs jobs: how many rounds there are depends on the rows.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.rowwise import explode
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["unfold"]


def unfold(operator: plan.Unfold, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Make a row of each element; none if the array is null or empty."""
    return _rounds(operator, runtime, rows) if operator.looped else explode(operator, runtime, rows)


def _rounds(operator: plan.Unfold, runtime: Runtime, rows: DataFrame) -> DataFrame:
    carried = quoted(operator.column)
    # Identical tuples share an instance. They are counted, so that each of them is unfolded.
    met = rows.where(runtime.expr(f"size({carried}) > 0")).groupBy(*map(quoted, rows.columns))
    looping = met.agg(*runtime.exprs({"__copies": "count(*)"})).withColumn("__index", runtime.expr("0L"))
    element = {
        name: f"{carried}[__index % size({carried})]" if name == operator.column else quoted(name)
        for name in rows.columns
    }
    out = [rows.where("false").select(*runtime.exprs(element | {operator.column: f"{carried}[0]"}))]
    while True:
        looping = looping.localCheckpoint(eager=False)
        if looping.count() == 0:
            return reduce(lambda a, b: a.unionAll(b), out)
        out.append(looping.select(*runtime.exprs(element)))
        following = looping.withColumn("__index", runtime.expr("__index + 1"))
        looping = following.where(runtime.expr(f"__index < __copies * size({carried})")).distinct()
