"""The queries as one writes them in Spark, without Tidegate: for streams, and for tables alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.aggregates.evaluation.asked import SIZES, Asked
from bench.aggregates.queries import scans as scan_queries
from bench.aggregates.queries import texts as text_queries
from tidegate.flow import plan
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["by_hand"]

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
        left, right = framed.select("w", key, "orig"), framed.select("w", key, col("orig").alias("other"))
        on, own = ["w", "words"], ["words", "orig", "other"]
        match = text_queries.equally_long("orig", "other", _LONGER[name[0]])
    else:
        left = framed.select("w", "id", "dist")
        right = framed.select("w", col("id").alias("other_id"), col("dist").alias("other"))
        on, own = ["w"], ["id", "dist", "other_id", "other"]
        match = scan_queries.alike("dist", "other", f"< {_BOUNDS[name[0]]}")
    end = expr("w.end - INTERVAL 1 MICROSECOND AS ts")
    return left.join(right, on).where(match).select(end, *own)
