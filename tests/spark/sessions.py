"""Sessions for processes of their own, which live for seconds or run steps of a few rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.classes import java_options

from tidegate.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["quick_session"]


def quick_session(name: str) -> SparkSession:
    """Return a session that is soon ready, and interprets plans: to compile them would take most of the time."""
    os.environ["SPARK_SUBMIT_OPTS"] = java_options()
    options = {
        "spark__sql__shuffle__partitions": "2",
        "spark__sql__codegen__wholeStage": "false",
        "spark__sql__codegen__factoryMode": "NO_CODEGEN",
    }
    return local_session(name, master="local[2]", **options)
