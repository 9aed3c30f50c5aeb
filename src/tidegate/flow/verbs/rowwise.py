"""Row by row; the time of a row does not change."""

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
    """Row by row; the time of a row does not change."""

    def where(self, condition: str) -> Stream:
        """Keep the rows that satisfy a condition.

        Use it first: what is left out early costs nothing later. A row whose condition is NULL is left out, too.

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
        """Compute columns from each row; ``"*"`` means all. Time columns stay, and come first.

        Use it for the columns that the rest of the flow needs. An expression is Spark SQL, with ``AS`` for its name.

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
        """Add columns computed from each row, or replace some; the others stay.

        Use it where all other columns are needed as well: ``name="expression"``.

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
        """Leave columns out; time columns stay, since a row keeps its time.

        Use it where fewer columns go than stay.

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
        """Give columns other names, ``new="old"``; they stay in their places. Names can be exchanged.

        Use it before a join or a union, whose columns are matched by name.

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
        """Return a column that may be changed; ``what`` is done to it."""
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
        """Make a row for each element of an array column, with the element in its place; none if it is NULL or empty.

        Use it for rows that carry lists. All other columns are repeated.

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
        """Let a Python function turn Arrow batches of rows into others.

        Use it for what SQL cannot say: a model, a library.

        ``function`` gets a ``pyarrow.RecordBatch`` and returns one with the columns of ``schema``, time columns
        included (they may be left out of ``schema``). It may only return times that occur in its input.

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
