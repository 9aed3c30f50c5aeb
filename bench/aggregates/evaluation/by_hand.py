"""The queries as one writes them in Spark, without Tidegate: for streams, and for tables alike.

Whoever writes them looks at Spark's plans. There, what is asked of the length of one text has to be asked of the other
too; a sum that stands twice in a condition is added up twice for each pair; lambdas are interpreted, so that there
should be few, and Python is faster where there are many; and a list that is exploded is computed three times, unless
`SETTINGS` leave out a rule that asks first whether it is null or empty. Where the local engine decides by the first
samples of two scans whether to look at the others, so does this.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.aggregates.evaluation.asked import SIZES, Asked
from bench.aggregates.queries import texts as text_queries
from bench.aggregates.queries.scans import SAMPLES
from tidegate.flow import plan
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SETTINGS", "by_hand"]

#: Settings of Spark that these queries, and those of Tidegate, are faster with.
SETTINGS = {
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.InferFiltersFromGenerate",
}

#: The Maps on three texts: how many words of each, and how long they are at least.
_IN_PYTHON = {"LHM": (1, 11), "AHM": (1, 0), "HHM": (3, 0)}
#: How many samples of two scans are compared before all are.
_FIRST = 32
_LONGER = {"L": 210, "A": 150, "H": 100}
_BOUNDS = {"l": 0.5, "a": 0.6, "h": 0.7}


def by_hand(asked: Asked, rows: DataFrame) -> DataFrame:
    """Write a query in its dedicated form; the columns are those that the flow gives."""
    if asked.joins:
        return _joined(asked, rows)
    return _frequent(asked, rows) if asked.query in _IN_PYTHON else _mapped(asked, rows)


def _frequent(asked: Asked, rows: DataFrame) -> DataFrame:
    """The most frequent words of three texts, by a function in Python: Spark interprets lambdas, and takes longer."""
    from pyspark.sql.functions import explode, udf

    k, least = _IN_PYTHON[asked.query]

    def top(text: str) -> list[str]:
        ranked = sorted(Counter(text.split()).items(), key=lambda word: (-word[1], word[0]))
        return [word for word, _ in ranked[:k] if len(word) >= least]

    def beside(orig, change, updated):  # type: ignore[no-untyped-def]
        # As many as each of them has.
        return list(zip(top(orig), top(change), top(updated), strict=False))

    words = udf(beside, "array<struct<orig: string, change: string, updated: string>>", useArrow=False)
    found = rows.select("ts", explode(words("orig", "change", "updated")).alias("words"))
    return found.select("ts", "words.*")


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
        # The first samples decide about most pairs, as sums of what is never negative do not fall.
        match = f"dist <> other AND {_total(_FIRST)} < {_BOUNDS[name[0]]} AND {_total(SAMPLES)} < {_BOUNDS[name[0]]}"
    end = expr("w.end - INTERVAL 1 MICROSECOND AS ts")
    return left.join(right, on).where(match).select(end, *own)


def _total(samples: int) -> str:
    """Return what the first samples differ in: one lambda for each of them, and no list in between."""
    return f"aggregate(sequence(0, {samples - 1}), CAST(0 AS DOUBLE), (total, i) -> total + abs(dist[i] - other[i]))"
