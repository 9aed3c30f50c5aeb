"""What a row of the synthetic Map costs: the axis of Figure 9, in microseconds of a processor."""

from __future__ import annotations

from bench.aggregates.evaluation.sides import Session
from bench.aggregates.measure import bounded
from bench.aggregates.queries import synthetic

__all__ = ["row_cost"]

#: So many rounds of work are done in a run, on at least so many rows and at most so many.
_ROUNDS, _LEAST, _MOST = 20_000_000, 20_000, 1_000_000


def row_cost(session: Session, work: int, *, rounds: int = _ROUNDS) -> float:
    """Return the processor time of a row in the dedicated form with one output, on rows that are all there."""
    spark = session.spark
    count = min(max(rounds // work, min(_LEAST, rounds)), _MOST)
    rows = spark.range(count).selectExpr("timestamp_micros(id) AS ts", "id")
    flow = synthetic.synthetic_map(1, work)
    costs = bounded(spark, {"dedicated": lambda: flow.compute(spark, {"inputs": rows})["out"]}, warm=2, repeats=3)
    return 1e6 * costs["dedicated"].processor / count
