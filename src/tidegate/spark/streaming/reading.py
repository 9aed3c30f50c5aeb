"""Outputs as directories: who they belong to, and reading what is committed and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidegate.spark.streaming.commits import last_commit
from tidegate.spark.streaming.errors import BadCheckpoint
from tidegate.spark.streaming.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["claim", "read"]

_OWNER = "_tidegate.json"


def claim(spark: SparkSession, path: str, checkpoint: Files, sink: str, schema: StructType) -> None:
    """Mark a directory as the output of a checkpoint's sink, or raise if it is someone else's."""
    files = Files(spark, path)
    owner = {"checkpoint": checkpoint.root, "id": checkpoint.read("id")["id"], "sink": sink, "schema": schema.json()}
    if not files.exists(_OWNER) and files.names():
        raise BadCheckpoint(
            f"expected an empty directory for sink {sink!r}, got {files.root} with {len(files.names())} entries",
            hint="choose another path",
        )
    if not files.create(_OWNER, owner):
        found = files.read(_OWNER)
        if (found["id"], found["sink"]) != (owner["id"], sink):
            raise BadCheckpoint(
                f"{files.root} is the output of sink {found['sink']!r} of the checkpoint {found['checkpoint']}",
                hint="choose another path; or delete this one, if its checkpoint is gone",
            )


def read(spark: SparkSession, path: str) -> DataFrame:
    """Answer the rows under a path that a flow wrote to with `parquet`: those of committed steps, each once.

    It follows the commits: a step that is committed and was not moved to its place yet is read where it is.
    """
    from pyspark.sql.types import StructType

    files = Files(spark, path)
    if not files.exists(_OWNER):
        raise BadCheckpoint(
            f"expected the output of a flow in {files.root}, got none", hint="a path that was given to tg.parquet(…)"
        )
    owner = files.read(_OWNER)
    schema = StructType.fromJson(json.loads(owner["schema"]))
    checkpoint = Files(spark, owner["checkpoint"])
    if not checkpoint.exists("id") or checkpoint.read("id")["id"] != owner["id"]:
        raise BadCheckpoint(
            f"{files.root} was written with the checkpoint {checkpoint.root}, which is not there any more",
            hint="spark.read.parquet(path) reads what is visible",
        )
    commit = last_commit(checkpoint)
    found: list[str] = []
    if commit is not None:
        steps = [int(name.removeprefix("step=")) for name in files.names() if name.startswith("step=")]
        found = [files.path(f"step={step}") for step in sorted(steps) if step <= commit["step"]]
        for publication in commit["publish"]:
            if publication["root"] == files.root and not files.exists(publication["name"]):
                found.append(files.path(publication["staged"]))
    return spark.read.schema(schema).parquet(*found) if found else spark.createDataFrame([], schema)
