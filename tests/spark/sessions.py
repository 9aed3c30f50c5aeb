"""Sessions for processes of their own, which live for seconds or run steps of a few rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.classes import java_options

from tidegate.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["QUICK", "local_options", "quick_session"]

#: Settings for steps and queries of a few rows: to compile their plans, to check each rule of the optimiser, to plan
#: anew while they run or to write them down in full for a page that is not there would take most of the time.
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.explainMode": "simple",
}


def local_options() -> dict[str, str]:
    """Return these settings as `local_session` takes them."""
    return {name.replace(".", "__"): value for name, value in {**QUICK, "spark.sql.shuffle.partitions": "2"}.items()}


def quick_session(name: str) -> SparkSession:
    """Return a session that is soon ready."""
    os.environ["SPARK_SUBMIT_OPTS"] = java_options()
    return local_session(name, master="local[2]", **local_options())
