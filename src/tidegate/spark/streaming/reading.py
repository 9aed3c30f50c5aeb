"""Reading outputs: what is committed and nothing else, at once or as a stream."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tidegate.engine.commits.by_step import checked_steps, directory_of
from tidegate.engine.commits.commit import Publication
from tidegate.engine.inputs import STEP
from tidegate.engine.steps.owner import owner_of
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.identity import checkpoint_id
from tidegate.engine.storage.log import last_commit
from tidegate.engine.storage.published import PROMISES
from tidegate.extras import require
from tidegate.flow.arguments import checked_path
from tidegate.flow.sqltypes import quoted
from tidegate.spark.hadoop import files_at
from tidegate.spark.streaming.parts import READ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["published_time", "read", "read_promises", "read_stream"]

# Spark overlooks files that are older than the newest by a week, which a clock that was wrong for a while makes them.
_EVER = {"maxFileAge": "36500d"}


def read(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """Return the rows under a path that a flow wrote to with `parquet`: those of committed steps, each once.

    It follows the commits: a step that is committed and was not moved to its place yet is read where it is. Before
    anything is read, all files are seen to be there as they were written; if not, that is an error. Columns that the
    sink had at one time and not at another are NULL where it had none.
    """
    require("spark", "tg.read")
    from pyspark.sql.types import StructType

    files = files_at(spark, checked_path(path, "read(…)", hint='tg.read(spark, "out/hourly")'))
    owner = owner_of(files)
    schema = StructType.fromJson(json.loads(owner["schema"]))
    checkpoint = files_at(spark, owner["checkpoint"])
    if not checkpoint.exists("id") or checkpoint_id(checkpoint) != owner["id"]:
        raise BadCheckpoint(
            f"{files.root} was written with the checkpoint {checkpoint.root}, which is not there any more",
            hint="spark.read.parquet(path) reads what is visible",
        )
    commit = last_commit(checkpoint)
    found: list[str] = []
    if commit is not None:
        own = [p for p in map(Publication.decode, commit["publish"]) if _is_in(files, p)]
        totals = [outlet["rows"] for outlet in commit["outlets"].values() if outlet["root"] == files.root]
        found = checked_steps(files, "", commit["step"], {p.name: p for p in own}, totals[0] if totals else None)
    return spark.read.options(**READ).schema(schema).parquet(*found) if found else spark.createDataFrame([], schema)


def _is_in(files: Files, publication: Publication) -> bool:
    """Whether a publication is of this directory, whose path may have been spelled otherwise when it was written."""
    own = not directory_of(publication)
    return own and (publication.root == files.root or files.exists(publication.staged))


def read_stream(spark: SparkSession, path: str | os.PathLike[str], **options: Any) -> DataFrame:
    """Return the rows that a flow writes to ``path`` with `parquet` as a stream, each once, as steps are published.

    It is for sources that are declared with ``watermark=tg.published(path)``: the column ``__step`` lets the other flow
    know when it has read all rows that a frontier speaks of. ``options`` are those of Spark's file source, such as
    ``maxFilesPerTrigger``. It has the columns that the output has when this is called.
    """
    require("spark", "tg.read_stream")
    from pyspark.sql.functions import regexp_extract
    from pyspark.sql.types import StructType

    files = files_at(spark, checked_path(path, "read_stream(…)", hint='tg.read_stream(spark, "out/hourly")'))
    schema = StructType.fromJson(json.loads(owner_of(files)["schema"]))
    # A glob of directories, and not their parent: `step` is no column of the rows, and may be one of the user's.
    rows = spark.readStream.schema(schema).options(**_EVER | READ | options).parquet(files.path("step=*"))
    # Not by its name in SQL: an output may have a column that is called so.
    path_of_row = rows.metadataColumn("_metadata")["file_path"]
    step = regexp_extract(path_of_row, "/step=([0-9]+)/[^/]*$", 1).cast("bigint")
    return rows.select(*(quoted(name) for name in schema.names), step.alias(STEP))


def read_promises(spark: SparkSession, path: str) -> DataFrame:
    """Answer the frontiers that are published beside an output as a stream of texts, ``value``."""
    return spark.readStream.options(**_EVER).text(files_at(spark, path).path(PROMISES))


def published_time(spark: SparkSession, path: str) -> list[list[str]]:
    """Answer the names and types of the time columns of an output."""
    found: list[list[str]] = owner_of(files_at(spark, path))["time"]
    return found
