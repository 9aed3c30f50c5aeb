"""`Stream`: rows with a time, and everything that can be done with them. Each method returns a new stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.flow.explain import Explanation
from tidegate.flow.preview import Preview, preview
from tidegate.flow.show import html_table
from tidegate.flow.verbs.held import Held
from tidegate.flow.verbs.looped import Looped
from tidegate.flow.verbs.moved import Moved
from tidegate.flow.verbs.paired import Paired
from tidegate.flow.verbs.ranked import Ranks
from tidegate.flow.verbs.rowwise import RowWise

__all__ = ["Stream"]


#: What PySpark's DataFrames have under another name.
_IN_SPARK = {
    "filter": "where(condition)",
    "groupBy": "aggregate(by=…, …), at each time; window(…).aggregate(by=…, …) over several",
    "groupby": "aggregate(by=…, …), at each time; window(…).aggregate(by=…, …) over several",
    "agg": "aggregate(…)",
    "withColumn": "with_columns(name=expression)",
    "withColumns": "with_columns(name=expression)",
    "withColumnRenamed": 'rename(new="old")',
    "withColumnsRenamed": 'rename(new="old")',
    "toDF": 'rename(new="old")',
    "selectExpr": "select(…)",
    "dropDuplicates": "distinct() at each time; deduplicate(…) across times",
    "drop_duplicates": "distinct() at each time; deduplicate(…) across times",
    "withWatermark": "flow.source(…, watermark=bounded(…))",
    "unionAll": "union(other)",
    "unionByName": "union(other)",
    "crossJoin": "join(other, on=())",
    "mapInArrow": "map_batches(…)",
    "mapInPandas": "map_batches(…)",
    "applyInArrow": "window(…).apply(…), or process(…)",
    "transformWithState": "process(…)",
    "writeStream": "flow.sink(name, stream), then flow.start(…)",
    "write": "flow.sink(name, stream), then flow.compute(…)",
    "show": "preview(rows); or flow.sink(name, stream), then flow.compute(…)[name].show()",
    "head": "preview(rows); or flow.sink(name, stream), then flow.compute(…)[name].show()",
    "limit": "preview(rows); or flow.sink(name, stream), then flow.compute(…)[name]",
    "collect": "flow.sink(name, stream), then flow.compute(…)[name].collect()",
}


class Stream(RowWise, Moved, Held, Ranks, Paired, Looped):
    """Rows with a time, or the rows of a table. A stream never changes, and can be used more than once.

    Expressions are Spark SQL text. They are checked when the method is called: an unknown column is an error at once.
    """

    def preview(self, rows: Any, *, limit: int = 20) -> Preview:
        """Return what this stream gives for a few rows, computed in this process as if they were all that ever comes.

        It needs no sink, and changes nothing in the flow. The result shows itself as a table; ``.rows`` has all rows as
        dicts.

        Args:
            rows: Dicts of all columns; or what ``compute`` takes on a local session: an Arrow table, a data frame, a
                path of files. If the stream is made of several sources or tables, a dict from their names to such rows.
            limit: How many rows are shown.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.where("ms > 100").preview(rows)
        where#1: 1 row
          t  page   ms
          2  news  900
        >>> clicks.where("ms > 100").preview(rows).rows
        [{'t': 2, 'page': 'news', 'ms': 900}]
        """
        return preview(self, rows, limit=limit)

    def _repr_html_(self) -> str:
        schema = self.schema
        columns = [(c.name, c.type or "open", "time" if c.name in schema.time else "") for c in schema.columns]
        caption = f"{'stream' if schema.time else 'table'} {self.id} of flow {self.flow.name}"
        if not self._is_current:
            return html_table(["column", "type", ""], columns, caption=f"{caption}, no longer part of it")
        return html_table(["column", "type", ""], columns, caption=caption) + Explanation(self._plan(), ()).svg()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            instead = _IN_SPARK.get(name)
            hint = f": use {instead}" if instead else ""
            raise AttributeError(f"a stream has no {name!r}{hint}", name=name, obj=self)
