"""Reads outputs of flows, at once or as a stream. Only committed rows are read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tidegate.engine.inputs import STEP
from tidegate.engine.steps.owner import owner_of
from tidegate.engine.steps.published_steps import committed_steps
from tidegate.engine.storage.published import PROMISES
from tidegate.flow.arguments import checked_path
from tidegate.flow.sqltypes import quoted
from tidegate.spark.hadoop import files_at
from tidegate.spark.streaming.parts import READ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "read_promises", "read_stream"]

# Spark ignores files that seem a week older than the newest one, which happens if a clock was wrong for a while.
_EVER = {"maxFileAge": "36500d"}
# Names of directories are not read as columns: the columns are in the files.
_NESTED = {"recursiveFileLookup": "true"}


def read(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """Return the rows of an output as a DataFrame."""
    from pyspark.sql.types import StructType

    files = files_at(spark, checked_path(path, "read(…)", hint='tg.read(spark, "out/hourly")'))
    text, found = committed_steps(files)
    schema = StructType.fromJson(json.loads(text))
    rows = spark.read.options(**READ | _NESTED).schema(schema)
    return rows.parquet(*found) if found else spark.createDataFrame([], schema)


def read_stream(spark: SparkSession, path: str | os.PathLike[str], **options: Any) -> DataFrame:
    """Return an output as a streaming DataFrame, with the number of the step in one more column."""
    from pyspark.sql.functions import regexp_extract
    from pyspark.sql.types import StructType

    files = files_at(spark, checked_path(path, "read_stream(…)", hint='tg.read_stream(spark, "out/hourly")'))
    schema = StructType.fromJson(json.loads(owner_of(files)["schema"]))
    # The path is a glob of directories and not their parent, because otherwise Spark would add a column `step`, which
    # the user may have, too.
    rows = spark.readStream.schema(schema).options(**_EVER | READ | _NESTED | options).parquet(files.path("step=*"))
    # The column is not found by its name in SQL, because an output may have a column with the same name.
    path_of_row = rows.metadataColumn("_metadata")["file_path"]
    step = regexp_extract(path_of_row, "/step=([0-9]+)/((?!step=)[^/=]+=[^/]*/)*[^/]*$", 1).cast("bigint")
    return rows.select(*(quoted(name) for name in schema.names), step.alias(STEP))


def read_promises(spark: SparkSession, path: str) -> DataFrame:
    """Return the frontiers that are published beside an output, as a stream of strings, ``value``."""
    return spark.readStream.options(**_EVER).text(files_at(spark, path).path(PROMISES))
