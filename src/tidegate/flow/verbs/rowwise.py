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

        >>> edits.where("bytes > 100 AND page LIKE 'A%'").id
        'where#1'
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

        >>> print(edits.select("page", "bytes / 1024 AS kib").schema)
        ts TIMESTAMP, page STRING, kib DOUBLE; time: ts
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

        >>> print(edits.with_columns(kib="bytes / 1024").schema)
        ts TIMESTAMP, page STRING, bytes INT, kib DOUBLE; time: ts
        """
        with self._building("with_columns"):
            new = {name: bind(text, self.schema, name=name) for name, text in expressions.items()}
            lower = {name.lower(): expression for name, expression in new.items()}
            outputs = [lower.pop(c.name.lower(), reference_to(c.name, c.type)) for c in self.schema.columns]
            return self._project([*outputs, *lower.values()])

    def drop(self, *columns: str) -> Stream:
        """Leave columns out; time columns stay, since a row keeps its time.

        >>> print(edits.drop("bytes").schema)
        ts TIMESTAMP, page STRING; time: ts
        """
        with self._building("drop"):
            left_out = {self._not_a_time(name, "left out").name for name in columns}
            kept = [reference_to(c.name, c.type) for c in self.schema.columns if c.name not in left_out]
            return self._project(kept, name="drop")

    def rename(self, /, **new_from_old: str) -> Stream:
        """Give columns other names, ``new="old"``; they stay in their places. Names can be exchanged.

        >>> print(edits.rename(title="page", size="bytes").schema)
        ts TIMESTAMP, title STRING, size INT; time: ts
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

        >>> tagged = edits.select("split(page, ' ') AS words")
        >>> print(tagged.explode("words").schema)
        ts TIMESTAMP, words (open); time: ts
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

        ``function`` gets a ``pyarrow.RecordBatch`` and returns one with the columns of ``schema``, time columns
        included (they may be left out of ``schema``). It may only return times that occur in its input.

        >>> def longest(batch):
        ...     return batch.select(["ts", "page"])
        >>> print(edits.map_batches(longest, "page STRING").schema)
        ts TIMESTAMP, page STRING; time: ts
        """
        with self._building("map_batches"):
            if not callable(function):
                raise BadArgument(f"expected a function on Arrow batches, got {function!r} ({type(function).__name__})")
            declared = self._declared(schema)
            return self._add(plan.MapBatches, self._result((*self.schema.times, *declared)), function=function)
