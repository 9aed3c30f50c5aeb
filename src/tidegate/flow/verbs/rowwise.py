"""Methods of `Stream` that work on one row at a time and leave its time as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.flow import plan, sqltypes
from tidegate.flow.aggregates import named
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, BadTime, ColumnClash
from tidegate.flow.expressions import Expression, bind, reference_to
from tidegate.flow.schema import Column

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["RowWise"]


class RowWise(Building):
    """Methods that work on one row at a time and leave its time as it is."""

    def where(self, condition: str) -> Stream:
        """Return the rows for which a condition is true.

        As in SQL, a row for which it is NULL is left out. Filter early: a row that is left out costs nothing later.
        Rows pass at once; nothing is kept.

        Args:
            condition: Spark SQL of type BOOLEAN.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.where("ms > 100 AND page LIKE 'n%'").preview(rows)
        where#1: 1 row
          t  page   ms
          2  news  900
        """
        with self._building("where"):
            bound = bind(condition, self.schema, what="a condition")
            if bound.type not in ("BOOLEAN", None):
                raise BadArgument(
                    f"expected a condition, got {bound.sql} of type {bound.type}", hint="compare it with something"
                )
            return self._add(plan.Where, self.schema, condition=bound)

    def select(self, *expressions: str) -> Stream:
        """Return a stream of these columns, computed from each row.

        The time columns are always part of the result, as its first columns, whether you name them or not. Rows pass at
        once; nothing is kept.

        Args:
            *expressions: Spark SQL, with ``AS`` unless it is a column: ``"page"``, ``"ms / 1000 AS seconds"``. ``"*"``
                means all columns.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.select("page", "ms / 1000 AS seconds").preview(rows)
        select#1: 2 rows
          t  page  seconds
          1  home     0.04
          2  news      0.9
        """
        with self._building("select"):
            outputs: list[Expression] = []
            for text in expressions:
                if isinstance(text, str) and text.strip() == "*":
                    outputs += [reference_to(c.name, c.type) for c in self.schema.columns]
                else:
                    outputs.append(named(bind(text, self.schema), text))
            return self._project(outputs)

    def with_columns(self, **expressions: str) -> Stream:
        """Return the stream with columns added or replaced; all other columns stay.

        Rows pass at once; nothing is kept.

        Args:
            **expressions: The name of each column and its Spark SQL. A name that the stream has already is replaced, in
                its place; others are added at the end. Expressions see the columns from before.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.with_columns(seconds="ms / 1000", page="upper(page)").preview(rows)
        select#1: 2 rows
          t  page   ms  seconds
          1  HOME   40     0.04
          2  NEWS  900      0.9
        """
        with self._building("with_columns"):
            new = {name: bind(text, self.schema, name=name) for name, text in expressions.items()}
            lower = {name.lower(): expression for name, expression in new.items()}
            outputs = [lower.pop(c.name.lower(), reference_to(c.name, c.type)) for c in self.schema.columns]
            return self._project([*outputs, *lower.values()])

    def drop(self, *columns: str) -> Stream:
        """Return the stream without some of its columns.

        A time column cannot be dropped, since a row keeps its time. Rows pass at once; nothing is kept.

        Args:
            *columns: Names of columns. Unlike in PySpark, a name that the stream does not have is an error.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.drop("ms").preview(rows)
        drop#1: 2 rows
          t  page
          1  home
          2  news
        """
        with self._building("drop"):
            left_out = {self._not_a_time(name, "left out").name for name in columns}
            kept = [reference_to(c.name, c.type) for c in self.schema.columns if c.name not in left_out]
            return self._project(kept, name="drop")

    def rename(self, /, **new_from_old: str) -> Stream:
        """Return the stream with other names for some columns, which stay in their places.

        Use it before a join or a union, where columns are matched by name. A time column cannot be renamed. Rows pass
        at once; nothing is kept.

        Args:
            **new_from_old: ``new="old"`` for each column. Two columns may swap names.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.rename(title="page", took="ms").preview(rows)
        rename#1: 2 rows
          t  title  took
          1  home     40
          2  news    900
        """
        with self._building("rename"):
            new: dict[str, str] = {}
            for name, old in new_from_old.items():
                found = self._not_a_time(old, "renamed").name
                if found in new:
                    raise ColumnClash(
                        f"expected one new name for {found}, got {new[found]} and {name}",
                        hint=f'with_columns({name}="{found}") makes a copy',
                    )
                new[found] = name
            references = [reference_to(c.name, c.type) for c in self.schema.columns]
            return self._project([replace(r, name=new.get(r.name, r.name)) for r in references], name="rename")

    def _not_a_time(self, name: Any, what: str) -> Column:
        """Return the column of this name, or raise if it is a time column; ``what`` is for the message: "renamed"."""
        found = self._column(name)
        if found.name in self.schema.time:
            raise BadTime(
                f"expected columns other than the time column{'s' * (len(self.schema.time) > 1)} "
                f"{', '.join(self.schema.time)}, got {found.name}, which cannot be {what}",
                hint="a row keeps its time, under the name that the source gives it; "
                f'with_columns(copy="{found.name}") makes a copy',
            )
        return found

    def _project(self, outputs: list[Expression], *, name: str = "") -> Stream:
        times = [reference_to(c.name, c.type) for c in self.schema.times]
        kept = []
        for output in outputs:
            time = next((t for t in times if t.name.lower() == output.name.lower()), None)
            if time is None:
                kept.append(output)
            elif output.sql != time.sql:
                raise ColumnClash(
                    f"expected the time column {time.name} unchanged, got {output}",
                    hint="a row keeps its time; give the new column another name, or move the row with at(…)",
                )
        everything = (*times, *kept)
        if not everything:
            raise BadArgument("expected at least one column, got none", hint='for example select("*")')
        schema = self._result(tuple(Column(e.name, e.type) for e in everything))
        return self._add(plan.Select, schema, name=name, outputs=everything)

    def explode(self, column: str) -> Stream:
        """Return a row for each element of an array column, with the element in place of the array.

        The other columns are repeated. A row whose array is NULL or empty gives no rows. Rows pass at once; nothing is
        kept.

        Args:
            column: The name of a column of type ARRAY.

        >>> import tidegate as tg
        >>> posts = tg.Flow("blog").source("posts", "t INT, tags ARRAY<STRING>", time="t")
        >>> posts.explode("tags").preview([{"t": 1, "tags": ["a", "b"]}, {"t": 2, "tags": []}])
        explode#1: 2 rows
          t  tags
          1  a
          1  b
        """
        with self._building("explode"):
            found = self._column(column)
            if found.name in self.schema.time:
                raise BadArgument(f"expected an array column, got the time column {found.name}")
            element = None
            if found.type is not None:
                element = sqltypes.element(found.type)
                if element is None:
                    hint = f"map_entries({found.name}) makes an array of it" if found.type.startswith("MAP") else ""
                    raise BadArgument(f"expected an array column, got {found}", hint=hint)
            columns = tuple(Column(c.name, element) if c == found else c for c in self.schema.columns)
            return self._add(plan.Explode, self.schema.of(columns), column=found.name)

    def map_batches(self, function: Callable[[Any], Any], schema: Any) -> Stream:
        """Return the rows that a Python function makes of Arrow batches of rows.

        Use it for what SQL cannot express, such as a model or a library. The engine decides where a batch begins and
        ends, so the result must not depend on that. Rows pass at once; nothing is kept.

        Args:
            function: Takes a ``pyarrow.RecordBatch`` and returns one with the time columns and the columns of
                ``schema``. It may drop, change and multiply rows, but return only times that are in its batch.
            schema: The columns that it returns, such as ``"page STRING, score DOUBLE"``; time columns may be left out.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING, ms INT", time="t")
        >>> def without_slow(batch):
        ...     return batch.filter([ms < 100 for ms in batch["ms"].to_pylist()]).select(["t", "page"])
        >>> rows = [{"t": t, "page": page, "ms": ms} for t, page, ms in [(1, "home", 40), (2, "news", 900)]]
        >>> clicks.map_batches(without_slow, "page STRING").preview(rows)
        map_batches#1: 1 row
          t  page
          1  home
        """
        with self._building("map_batches"):
            if not callable(function):
                raise BadArgument(f"expected a function on Arrow batches, got {function!r} ({type(function).__name__})")
            declared = self._declared(schema)
            return self._add(plan.MapBatches, self._result((*self.schema.times, *declared)), function=function)
