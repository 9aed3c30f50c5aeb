"""Outputs as directories: who they belong to, and reading what is committed and nothing else."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tidegate.extras import require
from tidegate.flow.arguments import checked_path
from tidegate.flow.schema import Schema
from tidegate.spark.inputs import STEP
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.identity import checkpoint_id
from tidegate.spark.streaming.log import last_commit
from tidegate.spark.streaming.published import PROMISES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["claim", "published_time", "read", "read_promises", "read_stream"]

_OWNER = "_tidegate.json"
_KEYS = {"checkpoint": str, "id": str, "sink": str, "schema": str, "time": list}
_RESTORE = "restore the file from a copy; spark.read.parquet(path) reads what is visible in the directory"

# Spark overlooks files that are older than the newest by a week, which a clock that was wrong for a while makes them.
_EVER = {"maxFileAge": "36500d"}


def claim(spark: SparkSession, path: str, checkpoint: Files, sink: str, schema: StructType, times: Schema) -> None:
    """Mark a directory as the output of a checkpoint's sink, or raise if it is someone else's.

    ``schema`` has the columns, ``times`` says which of them are time: others may follow the frontier of this output.
    """
    files = Files(spark, path)
    owner = {
        "checkpoint": checkpoint.root,
        "id": checkpoint_id(checkpoint),
        "sink": sink,
        "schema": schema.json(),
        "time": [[column.name, column.type] for column in times.times],
    }
    if not files.exists(_OWNER) and files.names():
        raise BadCheckpoint(
            f"expected an empty directory for sink {sink!r}, got {files.root} with {len(files.names())} entries",
            hint="choose another path",
        )
    files.make(PROMISES)
    if not files.create(_OWNER, owner):
        found = _owner(files)
        if (found["id"], found["sink"]) != (owner["id"], sink):
            raise BadCheckpoint(
                f"{files.root} is the output of sink {found['sink']!r} of the checkpoint {found['checkpoint']}",
                hint="choose another path; or delete this one, if its checkpoint is gone",
            )


def read(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """Answer the rows under a path that a flow wrote to with `parquet`: those of committed steps, each once.

    It follows the commits: a step that is committed and was not moved to its place yet is read where it is.
    """
    require("spark", "tg.read")
    from pyspark.sql.types import StructType

    files = Files(spark, checked_path(path, "read(…)", hint='tg.read(spark, "out/hourly")'))
    owner = _owner(files)
    schema = StructType.fromJson(json.loads(owner["schema"]))
    checkpoint = Files(spark, owner["checkpoint"])
    if not checkpoint.exists("id") or checkpoint_id(checkpoint) != owner["id"]:
        raise BadCheckpoint(
            f"{files.root} was written with the checkpoint {checkpoint.root}, which is not there any more",
            hint="spark.read.parquet(path) reads what is visible",
        )
    commit = last_commit(checkpoint)
    found: list[str] = []
    if commit is not None:
        own = [p for p in commit["publish"] if p["root"] == files.root]
        # Before the others are listed: what is moved meanwhile is in its place then.
        staged = {p["name"]: p["staged"] for p in own if files.exists(p["staged"])}
        steps = [int(name.removeprefix("step=")) for name in files.names() if name.startswith("step=")]
        names = [f"step={step}" for step in sorted(steps) if step <= commit["step"]]
        found = [files.path(name) for name in [*names, *(s for name, s in staged.items() if name not in names)]]
    return spark.read.schema(schema).parquet(*found) if found else spark.createDataFrame([], schema)


def read_stream(spark: SparkSession, path: str | os.PathLike[str], **options: Any) -> DataFrame:
    """Answer the rows that a flow writes to ``path`` with `parquet` as a stream, each once, as steps are published.

    It is for sources that are declared with ``watermark=tg.published(path)``: the column ``__step`` lets the other flow
    know when it has read all rows that a frontier speaks of. ``options`` are those of Spark's file source, such as
    ``maxFilesPerTrigger``.
    """
    require("spark", "tg.read_stream")
    from pyspark.sql.types import StructType

    files = Files(spark, checked_path(path, "read_stream(…)", hint='tg.read_stream(spark, "out/hourly")'))
    schema = StructType.fromJson(json.loads(_owner(files)["schema"]))
    # A glob of directories, and not their parent: `step` is no column of the rows, and may be one of the user's.
    rows = spark.readStream.schema(schema).options(**_EVER | options).parquet(files.path("step=*"))
    step = "CAST(regexp_extract(_metadata.file_path, '/step=([0-9]+)/[^/]*$', 1) AS BIGINT)"
    return rows.selectExpr(*(quoted(name) for name in schema.names), f"{step} AS {STEP}")


def read_promises(spark: SparkSession, path: str) -> DataFrame:
    """Answer the frontiers that are published beside an output as a stream of texts, ``value``."""
    return spark.readStream.options(**_EVER).text(Files(spark, path).path(PROMISES))


def published_time(spark: SparkSession, path: str) -> list[list[str]]:
    """Answer the names and types of the time columns of an output."""
    found: list[list[str]] = _owner(Files(spark, path))["time"]
    return found


def _owner(files: Files) -> dict[str, Any]:
    if not files.exists(_OWNER):
        raise BadCheckpoint(
            f"expected the output of a flow in {files.root}, got none",
            hint="a path that was given to tg.parquet(…), of a flow that was started",
        )
    return files.read(_OWNER, "the owner of an output", _KEYS, hint=_RESTORE)
