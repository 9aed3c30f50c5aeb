"""`Stream`: rows with a time, and everything that can be done with them. Each method answers a new stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tidegate.flow import joins, plan, sqltypes
from tidegate.flow.aggregates import aggregation, grouping, named
from tidegate.flow.arguments import one_of
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, ColumnClash
from tidegate.flow.expressions import Expression, bind, reference_to
from tidegate.flow.loops.build import LIMIT, loop_fields, relations_of_loop
from tidegate.flow.schema import Column, Schema, parse_schema
from tidegate.flow.spans import parse_span
from tidegate.flow.windows import Windowed, session_frame, window_frame

__all__ = ["Stream"]


#: What PySpark's DataFrames have under another name.
_IN_SPARK = {
    "filter": "where(condition)",
    "groupBy": "aggregate(by=…, …), at each time; window(…).aggregate(by=…, …) over several",
    "groupby": "aggregate(by=…, …), at each time; window(…).aggregate(by=…, …) over several",
    "agg": "aggregate(…)",
    "withColumn": "with_columns(name=expression)",
    "withColumns": "with_columns(name=expression)",
    "withColumnRenamed": "select(…) with AS",
    "selectExpr": "select(…)",
    "drop": "select(…) what is to stay",
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
    "show": "flow.sink(name, stream), then flow.compute(…)[name].show()",
    "collect": "flow.sink(name, stream), then flow.compute(…)[name].collect()",
}


class Stream(Building):
    """Rows with a time, or the rows of a table; immutable, and usable more than once.

    Expressions are Spark SQL text. They are parsed and bound here: a column that is not there is an error at once.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            said = _IN_SPARK.get(name)
            hint = f": take {said}" if said else ""
            raise AttributeError(f"a stream has no {name!r}{hint}", name=name, obj=self)

    # Row by row; the time of a row does not change.

    def where(self, condition: str) -> Stream:
        """Keep the rows that satisfy a condition.

        >>> edits = _example()
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

        >>> print(_example().select("page", "bytes / 1024 AS kib").schema)
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

        >>> print(_example().with_columns(kib="bytes / 1024").schema)
        ts TIMESTAMP, page STRING, bytes INT, kib DOUBLE; time: ts
        """
        with self._building("with_columns"):
            new = {name: bind(text, self.schema, name=name) for name, text in expressions.items()}
            lower = {name.lower(): expression for name, expression in new.items()}
            outputs = [lower.pop(c.name.lower(), reference_to(c.name, c.type)) for c in self.schema.columns]
            return self._project([*outputs, *lower.values()])

    def _project(self, outputs: list[Expression]) -> Stream:
        times = [reference_to(c.name, c.type) for c in self.schema.times]
        kept = []
        for output in outputs:
            time = next((t for t in times if t.name.lower() == output.name.lower()), None)
            if time is None:
                kept.append(output)
            elif output.sql != time.sql:
                raise ColumnClash(
                    f"expected the time column {time.name} unchanged, got {output}",
                    hint="a row keeps its time; give the new column another name, or change the time before the source",
                )
        everything = (*times, *kept)
        if not everything:
            raise BadArgument("expected at least one column, got none", hint='for example select("*")')
        schema = self._result(tuple(Column(e.name, e.type) for e in everything))
        return self._add(plan.Select, schema, outputs=everything)

    def explode(self, column: str) -> Stream:
        """Make a row for each element of an array column, with the element in its place; none if it is NULL or empty.

        >>> tagged = _example().select("split(page, ' ') AS words")
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
            return self._add(plan.Explode, Schema(columns, self.schema.time), column=found.name)

    def map_batches(self, function: Callable[[Any], Any], schema: Any) -> Stream:
        """Let a Python function turn Arrow batches of rows into others.

        ``function`` gets a ``pyarrow.RecordBatch`` and returns one with the columns of ``schema``, time columns
        included (they may be left out of ``schema``). It may only return times that occur in its input.

        >>> def longest(batch):
        ...     return batch.select(["ts", "page"])
        >>> print(_example().map_batches(longest, "page STRING").schema)
        ts TIMESTAMP, page STRING; time: ts
        """
        with self._building("map_batches"):
            if not callable(function):
                raise BadArgument(f"expected a function on Arrow batches, got {function!r} ({type(function).__name__})")
            declared = self._declared(schema)
            return self._add(plan.MapBatches, self._result((*self.schema.times, *declared)), function=function)

    # Rows held until their time is complete.

    def gate(self) -> Stream:
        """Hold the rows until their time is complete.

        >>> _example().gate().id
        'gate#1'
        """
        with self._building("gate", timed=True):
            return self._add(plan.Gate, self.schema)

    def aggregate(self, *expressions: str, by: Any = (), **named_expressions: str) -> Stream:
        """Answer one row for each time and group that has rows.

        >>> print(_example().aggregate(by="page", n="count(*)", mean="sum(bytes) / count(*)").schema)
        ts TIMESTAMP, page STRING, n BIGINT, mean DOUBLE; time: ts
        """
        with self._building("aggregate"):
            times = self.schema.times
            result = aggregation(by, expressions, named_expressions, self.schema, grouped=times)
            return self._add(plan.Aggregate, self._result((*times, *result.columns)), aggregation=result)

    def window(
        self, size: Any, *, every: Any = None, offset: Any = 0, lateness: Any = 0, over: str | None = None
    ) -> Windowed:
        """Put rows into windows of ``size`` that begin ``every`` so often; follow with ``.aggregate`` or ``.apply``.

        Windows align to the epoch, shifted by ``offset``. A result is at the last unit of its window. With
        ``lateness``, windows are answered again for rows that come late, and carry a ``revision``. On several time
        columns, ``over`` is the one that is meant; the others group.

        >>> print(_example().window("1 hour", every="10 minutes").aggregate(by="page", n="count(*)").schema)
        ts TIMESTAMP, `window` STRUCT<start: TIMESTAMP, end: TIMESTAMP>, page STRING, n BIGINT; time: ts
        """
        with self._building("window", timed=True):
            column = self._over(over)
            return Windowed(
                self, window_frame(column, size, size if every is None else every, offset, lateness), "window"
            )

    def session(self, gap: Any, *, over: str | None = None) -> Windowed:
        """Put the rows of a group into sessions: a row ``gap`` or more after the one before begins a new one.

        >>> print(_example().session("30 minutes").aggregate(by="page", n="count(*)").schema)
        ts TIMESTAMP, session STRUCT<start: TIMESTAMP, end: TIMESTAMP>, page STRING, n BIGINT; time: ts
        """
        with self._building("session", timed=True):
            return Windowed(self, session_frame(self._over(over), gap), "session")

    def accumulate(
        self, *expressions: str, by: Any = (), emit: str = "update", every: Any = None, **named_expressions: str
    ) -> Stream:
        """Answer, per group, aggregates over all rows at or below a time.

        With ``emit="update"``: a row for each time and group that has a row at exactly that time. With ``"complete"``:
        at each time that carries a row, every group that has one at or below it. With ``every``, answers at the ends
        of such periods only; on several time columns, a mapping from column to period.

        >>> print(_example().accumulate(by="page", n="count(*)").schema)
        ts TIMESTAMP, page STRING, n BIGINT; time: ts
        """
        with self._building("accumulate", timed=True):
            result = aggregation(by, expressions, named_expressions, self.schema)
            one_of(emit, "emit", ("update", "complete"))
            return self._add(
                plan.Accumulate,
                self._result((*self.schema.times, *result.columns)),
                aggregation=result,
                emit=emit,
                every=self._periods(every),
            )

    def distinct(self) -> Stream:
        """Keep each row once, by all columns, time included.

        >>> _example().distinct().id
        'distinct#1'
        """
        with self._building("distinct"):
            return self._add(plan.Distinct, self.schema)

    def deduplicate(self, by: Any, within: Any = None, *, over: str | None = None) -> Stream:
        """Keep the least row per key, by time and then by all columns; and again ``within`` after the last one kept.

        Without ``within``, once and for all: then every key is kept in state for ever.

        >>> _example().deduplicate("page", within="1 day").id
        'deduplicate#1'
        """
        with self._building("deduplicate", timed=True):
            name, type_ = self._over(over)
            keys = grouping(by, self.schema)
            span = None if within is None else parse_span(within, type_, what="within")
            return self._add(plan.Deduplicate, self.schema, by=keys, over=name, within=span)

    # Several streams.

    def union(self, other: Stream) -> Stream:
        """Put the rows of two streams together; their columns are matched by name.

        >>> edits = _example()
        >>> edits.where("bytes > 100").union(edits.where("bytes < 10")).id
        'union#1'
        """
        with self._building("union"):
            right = self._other(other)
            joins.check_union(self, right)
            columns = tuple(
                c if c.type is not None else Column(c.name, right.schema[c.name].type) for c in self.schema.columns
            )
            return self._add(plan.Union, Schema(columns, self.schema.time), others=(right,))

    def join(self, other: Stream, on: Any, *, where: str | None = None, how: str = "inner") -> Stream:
        """Pair rows of two streams that have equal times and equal columns ``on``; with a table, at every time.

        ``where`` is part of the match, and reads ``left.x`` and ``right.x``. ``how`` is ``inner``, ``left``, ``right``,
        ``full``, ``semi`` or ``anti``. Null keys never match. The result has one set of time columns, never null.

        >>> edits = _example()
        >>> pages = edits.flow.table("pages", "page STRING, topic STRING")
        >>> print(edits.join(pages, on="page").schema)
        ts TIMESTAMP, page STRING, bytes INT, topic STRING; time: ts
        """
        with self._building("join"):
            right = self._other(other)
            sides = joins.Sides.of(self, right, on, how, tables=True)
            condition = sides.condition(where)
            return self._add(
                plan.Join,
                sides.schema,
                others=(right,),
                on=sides.on,
                where=condition,
                how=sides.how,
                left_columns=sides.left_columns,
                right_columns=sides.right_columns,
                with_table=sides.with_table,
            )

    def join_asof(
        self, other: Stream, on: Any = (), *, within: Any = None, how: str = "inner", over: str | None = None
    ) -> Stream:
        """Pair each row with the latest row of ``other`` at or below its time; ``within`` bounds how far back.

        Of several rows at that time, it is the greatest by all columns. ``how`` is ``inner`` or ``left``.

        >>> edits = _example()
        >>> prices = edits.flow.source("prices", "ts TIMESTAMP, page STRING, price DOUBLE", time="ts")
        >>> print(edits.join_asof(prices, on="page", within="1 hour").schema)
        ts TIMESTAMP, page STRING, bytes INT, price DOUBLE; time: ts
        """
        with self._building("join_asof", timed=True):
            right = self._other(other)
            name, type_ = self._over(over)
            sides = joins.Sides.of(self, right, on, how, allowed=("inner", "left"))
            span = None if within is None else parse_span(within, type_, what="within", least=0)
            return self._add(
                plan.JoinAsof,
                sides.schema,
                others=(right,),
                on=sides.on,
                over=name,
                within=span,
                how=sides.how,
                left_columns=sides.left_columns,
                right_columns=sides.right_columns,
            )

    def window_join(
        self,
        other: Stream,
        on: Any,
        *,
        size: Any,
        where: str | None = None,
        every: Any = None,
        offset: Any = 0,
        how: str = "inner",
        over: str | None = None,
    ) -> Stream:
        """Pair rows that are in a window together, once for each such window, at the window's last unit.

        >>> edits = _example()
        >>> views = edits.flow.source("views", "ts TIMESTAMP, page STRING, reader STRING", time="ts")
        >>> print(edits.window_join(views, on="page", size="1 hour").schema)
        ts TIMESTAMP, page STRING, bytes INT, reader STRING; time: ts
        """
        with self._building("window_join", timed=True):
            right = self._other(other)
            frame = window_frame(self._over(over), size, size if every is None else every, offset, 0)
            sides = joins.Sides.of(self, right, on, how)
            condition = sides.condition(where)
            return self._add(
                plan.WindowJoin,
                sides.schema,
                others=(right,),
                frame=frame,
                on=sides.on,
                where=condition,
                how=sides.how,
                left_columns=sides.left_columns,
                right_columns=sides.right_columns,
            )

    def iterate(
        self,
        start: str,
        step: str,
        key: Any,
        keep: Any,
        *,
        emit: str = "update",
        also: Mapping[str, Stream] | None = None,
        rounds: int | None = None,
        limit: int = LIMIT,
    ) -> Stream:
        """Go round in a loop: at each time that carries a row, what follows from the rows at or below it.

        ``start`` and ``step`` are queries in Spark SQL that give facts. In them this stream is ``input``, other streams
        and tables are the keys of ``also``, and what the loop knows is ``known``. Of all facts for a ``key`` one is
        kept, by the rules of ``keep``, such as ``min(label) AS label``. The loop begins with what ``start`` gives, and
        goes round until ``step`` gives nothing better; more than ``limit`` rounds are an error. With ``rounds``, it
        goes round exactly so often, ``known`` being replaced each time, and queries and ``keep`` may be of any form.

        ``emit="update"`` answers the facts that are new or better at a time, ``"complete"`` all that hold.

        >>> edges = _example().flow.source("edges", "ts TIMESTAMP, src STRING, dst STRING", time="ts")
        >>> home = edges.iterate(
        ...     start="SELECT src AS page, 0 AS clicks FROM input WHERE src = 'home'",
        ...     step="SELECT e.dst AS page, k.clicks + 1 AS clicks FROM known k JOIN input e ON e.src = k.page",
        ...     key="page",
        ...     keep="min(clicks) AS clicks",
        ... )
        >>> print(home.schema)
        ts TIMESTAMP, page STRING, clicks INT; time: ts
        """
        with self._building("iterate", timed=True):
            streams = relations_of_loop(self, {} if also is None else also)
            fields = loop_fields(streams, start, step, key, keep, emit, rounds, limit)
            result = self._result((*self.schema.times, *fields["keep"].columns))
            return self._add(plan.Iterate, result, others=tuple(streams.values())[1:], **fields)

    def process(self, operator: Any, by: Any, schema: Any) -> Stream:
        """Run one copy of a specification operator for each key; data are dicts of all columns.

        A copy gets complete times only, in an order that extends theirs: the rows of a time, sorted by all columns,
        then ``WM`` of it; at the end, its ``exit`` is asked. It answers dicts of the columns of ``schema`` at the time
        that it was given or above; the key's columns are put before them.

        >>> from tidegate.spec import map_op
        >>> lengths = map_op(lambda t, row: {"length": len(row["page"])})
        >>> print(_example().process(lengths, by="page", schema="length INT").schema)
        ts TIMESTAMP, page STRING, length INT; time: ts
        """
        with self._building("process", timed=True):
            works = callable(getattr(operator, "apply", None)) and callable(getattr(operator, "exit", None))
            if isinstance(operator, type) or not works:
                got = f"{operator!r} ({type(operator).__name__})"
                hint = "pass an operator, not its class or a function; see tidegate.spec"
                raise BadArgument(f"expected an operator with apply(event) and exit(), got {got}", hint=hint)
            keys = grouping(by, self.schema)
            declared = parse_schema(schema).columns
            result = self._result((*self.schema.times, *(Column(k.name, k.type) for k in keys), *declared))
            names = tuple(c.name for c in declared)
            return self._add(plan.Process, result, operator=operator, by=keys, columns=names)


def _example() -> Stream:
    """Build the stream that the examples of this module are about."""
    from tidegate.flow.flow import Flow

    return Flow("edits").source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
