"""All uses of PySpark's private API. Each docstring says why the public API is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "batches_mapped",
    "cause_of",
    "classes",
    "collected",
    "drop_global_view",
    "frame_of_rows",
    "groups_mapped",
    "hadoop_settings",
    "listener_names",
    "nothing_left",
    "optimized_plan",
    "partitions_of",
    "release_checkpoint",
    "rows_of_groups",
]


def classes(session: SparkSession) -> Any:
    """Return the classes of the JVM, by package. Hadoop's file systems have no Python API."""
    context: Any = session.sparkContext
    return context._jvm


def hadoop_settings(session: SparkSession) -> Any:
    """Return the settings of Hadoop's file systems, with those of the session. No public API returns them."""
    return session._jsparkSession.sessionState().newHadoopConf()


def listener_names(session: SparkSession) -> list[str]:
    """Return the class names of the query listeners. PySpark adds and removes listeners, but does not list them."""
    listeners = session._jsparkSession.streams().listListeners()
    return [str(listener.getClass().getSimpleName()) for listener in listeners]


def drop_global_view(session: SparkSession, name: str) -> None:
    """Remove a global view from the catalog. PySpark's own method also uncaches its data."""
    session._jsparkSession.sessionState().catalog().dropGlobalTempView(name)


def optimized_plan(frame: DataFrame) -> str:
    """Return the optimized plan of a DataFrame as text. `explain` only prints it."""
    return str(frame._jdf.queryExecution().optimizedPlan().toString())


def partitions_of(frame: DataFrame) -> int:
    """Return the number of partitions of a DataFrame. `rdd` also has it, but would plan the query again."""
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def release_checkpoint(frame: DataFrame) -> None:
    """Free the memory of a local checkpoint. `unpersist` has no effect on one."""
    frame._jdf.logicalPlan().rdd().unpersist(False)


def collected(frame: DataFrame) -> Any:
    """Return the rows of a DataFrame as a list in the JVM. `collect` would make Python objects of them."""
    return frame._jdf.collectAsList()


def frame_of_rows(session: SparkSession, rows: Any, like: DataFrame) -> DataFrame:
    """Return a list of rows in the JVM as a DataFrame with the schema of ``like``. PySpark needs Python objects."""
    from pyspark.sql import DataFrame

    return DataFrame(session._jsparkSession.createDataFrame(rows, like._jdf.schema()), session)


def rows_of_groups(groups: GroupedData) -> DataFrame:
    """Return the rows of grouped data. A function on groups needs their columns, which `GroupedData` hides."""
    rows: DataFrame = groups._df
    return rows


def batches_mapped(rows: DataFrame, function: Column) -> DataFrame:
    """Return the result of a function on batches of rows. `mapInArrow` requires pandas."""
    from pyspark.sql import DataFrame

    return DataFrame(rows._jdf.mapInArrow(_java(function), False, None), rows.sparkSession)


def groups_mapped(groups: GroupedData, function: Column) -> DataFrame:
    """Return the result of a function on each group. `applyInArrow` requires pandas."""
    from pyspark.sql import DataFrame

    return DataFrame(groups._jgd.flatMapGroupsInArrow(_java(function)), rows_of_groups(groups).sparkSession)


def _java(column: Any) -> Any:
    return column._jc


def cause_of(error: Any) -> Any:
    """Return the cause of an error of Spark, or None. PySpark only prints it."""
    return error._cause


def nothing_left(query: StreamingQuery) -> bool:
    """Whether a query has looked for new rows and found none. PySpark does not say why a query has ended."""
    return bool(query._jsq.streamingQuery().noNewData())
