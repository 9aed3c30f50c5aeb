"""Reading outputs: what is committed and nothing else, at once or as a stream."""

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

# Spark overlooks files that are older than the newest by a week, which a clock that was wrong for a while makes them.
_EVER = {"maxFileAge": "36500d"}
# Names of directories are no columns: what they are named after is in the files, as it was.
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
    # A glob of directories, and not their parent: `step` is no column of the rows, and may be one of the user's.
    rows = spark.readStream.schema(schema).options(**_EVER | READ | _NESTED | options).parquet(files.path("step=*"))
    # Not by its name in SQL: an output may have a column that is called so.
    path_of_row = rows.metadataColumn("_metadata")["file_path"]
    step = regexp_extract(path_of_row, "/step=([0-9]+)/((?!step=)[^/=]+=[^/]*/)*[^/]*$", 1).cast("bigint")
    return rows.select(*(quoted(name) for name in schema.names), step.alias(STEP))


def read_promises(spark: SparkSession, path: str) -> DataFrame:
    """Return the frontiers that are published beside an output as a stream of texts, ``value``."""
    return spark.readStream.options(**_EVER).text(files_at(spark, path).path(PROMISES))
