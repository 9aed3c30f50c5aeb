"""Runs on Spark that die at a named point of a step, in one process: nothing of the engine runs after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.deaths import Died, Killer, SerialKiller
from tests.spark.engine import frame

from tidegate.flow.plan import Plan
from tidegate.spark.hadoop import files_at
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.spark.streaming.start import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Died", "Killer", "SerialKiller", "run_dying"]


def run_dying(
    spark: SparkSession, plan: Plan, output: Any, directory: Path, cuts: list[list[tuple[Any, ...]]], killer: Killer
) -> None:
    """Run steps of a flow with one source and one sink; after a death, the next engine gets the batch once more."""

    def engine() -> Any:
        files = files_at(spark, str(directory / "checkpoint"))
        return prepare(plan, spark, {}, {"out": output}, files, probe=killer)

    running, number = engine(), 0
    while number < len(cuts):
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, cuts[number])})
        try:
            running.step(batch, number)
            number += 1
        except Died:
            running = engine()
    assert killer.done
