"""The file systems that a run can write to: those that create and rename files atomically.

A commit is valid because only one run can create its file. A step becomes visible as a whole because its directory is
renamed at once. Local disks and HDFS do both atomically, and viewfs passes calls on to HDFS. Object stores copy a
directory file by file, and in their Hadoop connectors, *create if it does not exist* is two requests, so two runs can
both succeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.engine.storage.errors import UnfitFileSystem
from tidegate.spark.jvm import classes, hadoop_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_store"]

_FIT = ("file", "hdfs", "viewfs")


def check_store(spark: SparkSession, path: str, what: str) -> None:
    """Raise if a run can't use the file system of a path. Nothing is accessed. ``what`` names the path in the error."""
    hadoop = classes(spark).org.apache.hadoop.fs
    conf = hadoop_settings(spark)
    given = hadoop.Path(path).toUri().getScheme()
    scheme = str(given or hadoop.FileSystem.getDefaultUri(conf).getScheme())
    if scheme not in _FIT:
        default = "" if given else ", the default file system of Spark"
        raise UnfitFileSystem(
            f"expected {what} on a file system that creates and renames in one operation ({', '.join(_FIT)}), "
            f"got {path} on {scheme}{default}",
            hint="put it on HDFS or on a disk that all workers share, and copy results from there",
        )
