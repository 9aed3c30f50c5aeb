"""The queries as one writes them in Spark, without Tidegate: for streams, and for tables alike.

Whoever writes them looks at Spark's plans. There, what is asked of the length of one text has to be asked of the other
too; a sum that stands twice in a condition is added up twice for each pair; and a list that is exploded is computed
three times, unless `SETTINGS` leave out a rule that asks first whether it is null or empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.aggregates.evaluation.asked import SIZES, Asked
from bench.aggregates.queries import texts as text_queries
from tidegate.flow import plan
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SETTINGS", "by_hand"]

#: Settings of Spark that these queries, and those of Tidegate, are faster with.
SETTINGS = {
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.InferFiltersFromGenerate",
}

_LONGER = {"L": 210, "A": 150, "H": 100}
_BOUNDS = {"l": 0.5, "a": 0.6, "h": 0.7}


def by_hand(asked: Asked, rows: DataFrame) -> DataFrame:
    """Write a query in its dedicated form; the columns are those that the flow gives."""
    return _joined(asked, rows) if asked.joins else _mapped(asked, rows)


def _mapped(asked: Asked, rows: DataFrame) -> DataFrame:
    """A Map is a few projections: the same expressions, one after the other."""
    for operator in asked.flow().plan:
        match operator:
            case plan.Where(condition=condition):
                rows = rows.where(condition.sql)
            case plan.Select(outputs=outputs):
                rows = rows.selectExpr(*(f"{output.sql} AS {quoted(output.name)}" for output in outputs))
            case plan.Explode(column=column):
                own = [f"explode({quoted(c)}) AS {quoted(c)}" if c == column else quoted(c) for c in rows.columns]
                rows = rows.selectExpr(*own)
            case plan.Source():
                pass
            case _:
                raise ValueError(f"expected a Map of where, select and explode, got {operator.verb}")
    return rows


def _joined(asked: Asked, rows: DataFrame) -> DataFrame:
    """A Join has both sides in windows, joined on the window and the key; watermarks let it forget state."""
    from pyspark.sql.functions import col, expr, window

    name, frames = asked.query, asked.frames
    assert frames is not None
    size, every = (f"{round(span * 1000)} milliseconds" for span in (SIZES[name[1]], frames.every))
    framed = rows.withWatermark("ts", "0 seconds").withColumn("w", window("ts", size, every))
    if name.isupper():
        key = expr(f"{text_queries.WORDS} AS words")
        long = framed.where(f"length(orig) > {_LONGER[name[0]]}").withColumn("size", expr("length(orig)"))
        left = long.select("w", "size", key, "orig")
        right = long.select("w", "size", key, col("orig").alias("other"))
        on, own = ["w", "size", "words"], ["words", "orig", "other"]
        match = "lower(orig) <> lower(other)"
    else:
        left = framed.select("w", "id", "dist")
        right = framed.select("w", col("id").alias("other_id"), col("dist").alias("other"))
        on, own = ["w"], ["id", "dist", "other_id", "other"]
        total = "aggregate(zip_with(dist, other, (a, b) -> abs(a - b)), CAST(0 AS DOUBLE), (total, d) -> total + d)"
        match = f"dist <> other AND {total} < {_BOUNDS[name[0]]}"
    end = expr("w.end - INTERVAL 1 MICROSECOND AS ts")
    return left.join(right, on).where(match).select(end, *own)
