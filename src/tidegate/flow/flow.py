"""`Flow`: what a user begins with. It declares sources, tables and sinks, and holds the plan that streams add to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tidegate.extras import require
from tidegate.flow import watermarks
from tidegate.flow.arguments import checked_name, checked_timezone, checked_was, one_of, time_columns
from tidegate.flow.building import not_a_stream
from tidegate.flow.clocks import Arrival, arriving_schema
from tidegate.flow.errors import BadArgument, BadTime, FlowError, NameTaken
from tidegate.flow.explain import Explanation, explain
from tidegate.flow.limits import with_bounds
from tidegate.flow.orders import Ordered, ordered_schema
from tidegate.flow.plan import Plan, PlanOperator, Sink, Source, Table
from tidegate.flow.rewrite import optimize, to_aggregates
from tidegate.flow.schema import parse_schema
from tidegate.flow.stream import Stream
from tidegate.flow.watermarks import Arriving, Watermark, at_end

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

    from tidegate.engine.outputs import Output, Transactional
    from tidegate.engine.runs import Run
    from tidegate.engine.steps.metrics import Reporter
    from tidegate.engine.tables import Tables
    from tidegate.local_engine.session import Local
    from tidegate.reference import ReferenceResults

__all__ = ["Flow"]

_LATE = ("divert", "fail", "drop")
_REPLACE = "replace=True replaces it, for a notebook cell that is run again"


class Flow:
    """A dataflow over rows with a time: sources and tables, operators on streams, and sinks.

    Building one needs no Spark session and no JVM.

    >>> import tidegate as tg
    >>> flow = tg.Flow("edits")
    >>> edits = flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
    >>> flow.sink("big", edits.where("bytes > 100"))
    >>> print(flow.plan)
    flow edits
      edits = source(watermark=at_end(), late=divert) -> ts TIMESTAMP, page STRING, bytes INT; time: ts
      where#1 = where(edits, condition=bytes > 100) -> ts TIMESTAMP, page STRING, bytes INT; time: ts
      sink big = where#1
    """

    def __init__(self, name: str, *, timezone: str = "UTC") -> None:
        self.name = checked_name(name, "a flow")
        self.timezone = checked_timezone(timezone)
        self._operators: dict[str, PlanOperator] = {}
        self._sinks: dict[str, Sink] = {}
        self._numbers: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Flow({self.name!r}, {len(self.plan.operators)} operators, sinks: {', '.join(self._sinks) or 'none'})"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def source(
        self,
        name: str,
        schema: Any,
        *,
        time: str | tuple[str, ...] | list[str] | Arrival | Ordered,
        watermark: Watermark | None = None,
        late: str = "divert",
        was: str = "",
        replace: bool = False,
    ) -> Stream:
        """Declare a source of rows: its columns, which of them are its time, and how times become complete.

        Args:
            name: The name under which `compute` and `start` are given its rows.
            schema: DDL text, a mapping from name to type, or a ``StructType``.
            time: One column (a total order) or several (a product order), of an integer type, DATE or TIMESTAMP. Or
                ``tg.arrival()``: the time of a row is when it arrives. Or ``tg.ordered(…)``, for any other order.
            watermark: How times become complete; `at_end` by default. With ``tg.arrival()`` there is none.
            late: What happens to late rows: ``"divert"`` sets them aside, ``"fail"`` ends the run with an error, and
                ``"drop"`` drops them. They are counted in any case.
            was: The name that the source had before, so that an old checkpoint can still be used.
            replace: Whether it may replace a source of the same name, for a notebook cell that is run again. If the
                new source differs from the old one, everything that was built on the old one is removed.

        >>> import tidegate as tg
        >>> tg.Flow("web").source("clicks", "ts TIMESTAMP, page STRING", time="ts", watermark=tg.bounded("1 hour"))
        Stream(clicks: ts TIMESTAMP, page STRING; time: ts)
        """
        try:
            checked_name(name, "a source")
            self._free(name, replace=replace)
            if isinstance(time, Arrival):
                parsed = arriving_schema(time, parse_schema(schema))
                if watermark is not None:
                    raise BadArgument(
                        f"expected no watermark with time={time!r}, got {watermark!r}",
                        hint="leave it out: a step completes the time at which its rows arrive",
                    )
                watermark = Arriving()
            elif isinstance(time, Ordered):
                parsed = ordered_schema(time, parse_schema(schema))
            else:
                parsed = parse_schema(schema, time=time_columns(time))
            one_of(late, "late", _LATE)
            checked_was(was, name)
            resolved = watermarks.resolve(at_end() if watermark is None else watermark, parsed)
        except FlowError as error:
            raise error.at(f"source {name!r}").at(f"flow {self.name!r}") from None
        return self._declare(Source(id=name, schema=parsed, watermark=resolved, late=late, was=was))

    def table(self, name: str, schema: Any, *, was: str = "", replace: bool = False) -> Stream:
        """Declare a table: rows without a time, complete from the start, to be joined with streams.

        ``was`` and ``replace`` are as for `source`.

        >>> import tidegate as tg
        >>> tg.Flow("web").table("pages", "page STRING, topic STRING")
        Stream(pages: page STRING, topic STRING; a table)
        """
        try:
            checked_name(name, "a table")
            self._free(name, replace=replace)
            checked_was(was, name)
            parsed = parse_schema(schema)
        except FlowError as error:
            raise error.at(f"table {name!r}").at(f"flow {self.name!r}") from None
        return self._declare(Table(id=name, schema=parsed, was=was))

    def sink(self, name: str, stream: Stream, *, replace: bool = False) -> None:
        """Make a stream a result of the flow, under a name; ``replace`` allows to replace the sink of that name.

        A sink may also be added to a flow that already has a checkpoint, if the operators with state that it needs are
        there. It then begins with what its stream gives from the next start on.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, ms INT", time="t")
        >>> for limit in (100, 200):
        ...     clicks.flow.sink("slow", clicks.where(f"ms > {limit}"), replace=True)
        >>> clicks.flow
        Flow('web', 2 operators, sinks: slow)
        """
        try:
            checked_name(name, "a sink")
            if name in self._sinks and not replace:
                raise NameTaken(
                    f"there already is a sink {name!r}, of {self._sinks[name].input}",
                    hint=f"give each sink a name of its own; {_REPLACE}",
                )
            if not isinstance(stream, Stream):
                raise not_a_stream(stream)
            if stream.flow is not self:
                raise BadArgument(
                    f"the stream {stream.id} belongs to flow {stream.flow.name!r}",
                    hint="build the whole flow on one Flow",
                )
            stream._check_current()
            if not stream.schema.time:
                raise BadTime(
                    f"expected a stream, got the table {stream.id}: it has no time", hint="join a stream with it"
                )
        except FlowError as error:
            raise error.at(f"sink {name!r}").at(f"flow {self.name!r}") from None
        self._sinks[name] = Sink(name, stream.id)

    @property
    def plan(self) -> Plan:
        """The plan: all operators that a sink needs, and all sources and tables."""
        needed = {sink.input for sink in self._sinks.values()}
        for operator in reversed(self._operators.values()):
            if operator.id in needed:
                needed.update(operator.inputs)
        kept = [o for o in self._operators.values() if o.id in needed or isinstance(o, Source | Table)]
        return with_bounds(Plan(self.name, tuple(kept), tuple(self._sinks.values()), self.timezone))

    def explain(self) -> Explanation:
        """Return a description of the flow: operators, columns, times, what is held and why, and what may go wrong.

        It prints as text, draws itself in a notebook, and has ``.mermaid()`` and ``.svg()``.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING", time="t", watermark=tg.bounded(5))
        >>> clicks.flow.sink("n", clicks.accumulate(by="page", n="count(*)"))
        >>> [concern.what for concern in clicks.flow.explain().warnings]
        ['a total is kept for each page for ever: state grows with every new one']
        """
        return explain(self.plan)

    def to_aggregates(self, *, using: str = "A+", looped: bool = False) -> Flow:
        """Return this flow written with Aggregates: Map, Filter, FlatMap, inner Join, distinct and accumulate.

        With ``using="A+"``, an Aggregate may answer with many rows. With ``"A"`` it answers with one row, which holds a
        list, and an operator after it unfolds the list. Engines do that in one pass; with ``looped`` they run a loop
        with a round for each element, as the paper has it, which is slow.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, ms INT", time="t")
        >>> clicks.flow.sink("slow", clicks.where("ms > 100"))
        >>> [operator.verb for operator in clicks.flow.to_aggregates(using="A").plan]
        ['source', 'aggregate', 'unfold', 'select']
        """
        return self._with(to_aggregates(self.plan, using=using, looped=looped))

    def optimize(self) -> Flow:
        """Return this flow with compositions of Aggregates replaced by dedicated operators, such as ``where``.

        It does not matter whether `to_aggregates` or a user wrote them.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, ms INT", time="t")
        >>> pack = clicks.aggregate(by="ms", slow="collect_list(struct(ms)) FILTER (WHERE ms > 100)")
        >>> clicks.flow.sink("slow", pack.explode("slow").select("slow.ms AS ms"))
        >>> [str(operator.condition) for operator in clicks.flow.optimize().plan if operator.verb == "where"]
        ['ms > 100']
        """
        return self._with(optimize(self.plan))

    def reference(self, inputs: Mapping[str, Iterable[Any]]) -> ReferenceResults:
        """Run the flow on the specification's operators, in plain Python; every engine must give the same rows.

        ``inputs`` has a list for each source and table. Its entries are rows, as dicts of all columns or as
        ``DT(t, row)``. In the list of a source, ``WM(t)`` says that times up to ``t`` are complete; watermark
        strategies are not used. The result maps each sink to its events.

        >>> import tidegate as tg
        >>> clicks = tg.Flow("web").source("clicks", "t INT, page STRING", time="t")
        >>> clicks.flow.sink("n", clicks.aggregate(by="page", n="count(*)"))
        >>> clicks.flow.reference({"clicks": [{"t": 1, "page": "a"}, {"t": 1, "page": "a"}, tg.WM(1)]})["n"]
        [DT(1, {'t': 1, 'page': 'a', 'n': 2}), WM(1)]
        """
        # Import here: it takes a while to load, and building a flow does not need it.
        from tidegate.reference import reference

        return reference(self.plan, inputs)

    def compute(self, session: SparkSession | Local | DuckDBPyConnection, inputs: Mapping[str, Any]) -> Tables[Any]:
        """Run the flow on bounded inputs, and return the rows of each sink, lazily.

        ``inputs`` has the rows of each source and table, with the columns that were declared. On a Spark session they
        are DataFrames, and so are the results. On ``tg.local()``, or a connection to DuckDB, they are Arrow tables,
        data frames, relations or paths of files, and results are relations of DuckDB. Everything is complete at the
        end of the input, so no row is late. Rows without a time are in ``.rejected``, with the reason.

        >>> import pyarrow as pa
        >>> import tidegate as tg
        >>> flow = tg.Flow("web")
        >>> clicks = flow.source("clicks", "t INT, page STRING", time="t")
        >>> flow.sink("n", clicks.window(10).aggregate(by="page", n="count(*)"))
        >>> rows = pa.table({"t": pa.array([1, 2, 12], pa.int32()), "page": ["home", "home", "news"]})
        >>> tables = flow.compute(tg.local(), {"clicks": rows})
        >>> tables["n"].order("t").fetchall()
        [(9, {'start': 0, 'end': 10}, 'home', 2), (19, {'start': 10, 'end': 20}, 'news', 1)]
        """
        from tidegate.local_engine.session import is_local

        if is_local(session):
            from tidegate.local_engine.compute import compute as compute_locally

            return compute_locally(self.plan, cast("Local | DuckDBPyConnection", session), inputs)
        # Import here: the engine needs PySpark, and building a flow does not.
        require("spark", f"compute of flow {self.name!r}")
        from tidegate.spark import compute

        return compute(self.plan, cast("SparkSession", session), inputs)

    def start(
        self,
        session: SparkSession | Local | DuckDBPyConnection,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Output | Transactional],
        checkpoint: str | PathLike[str],
        *,
        trigger: Mapping[str, Any] | None = None,
        metrics: str | Path | Reporter | None = None,
        allow_pickle: bool = False,
        ui: bool | int = False,
    ) -> Run:
        """Run the flow on streams. Each answer comes once, when its time is complete, even if the run fails in between.

        Args:
            session: A Spark session, ``tg.local()``, or a connection to DuckDB.
            inputs: On Spark, a streaming DataFrame for each source and a bounded one for each table. On a local
                session, ``tg.files(…)``, an iterator of Arrow batches or a stream reader for each source, and what
                `compute` takes for each table.
            outputs: Where each sink writes to, such as ``tg.parquet(path)``.
            checkpoint: A directory that belongs to this run. A later start continues from it.
            trigger: What ``DataStreamWriter.trigger`` takes. With ``availableNow`` or ``once``, the run ends when all
                present input is read. That completes sources that are declared `at_end`, and closes the checkpoint.
            metrics: A local file that gets a line of JSON for each step, or a function that gets a mapping.
            allow_pickle: Whether `process` may pickle the state of operators that do not have ``state()``. Reading a
                pickle can run any code, so allow it only if nobody else can write to the checkpoint.
            ui: Whether to serve a page on this machine that shows the run, at ``run.ui``; or the port to serve it at.

        >>> import tempfile
        >>> import pyarrow as pa
        >>> import tidegate as tg
        >>> flow = tg.Flow("web")
        >>> clicks = flow.source("clicks", "t INT", time="t", watermark=tg.bounded(2))
        >>> flow.sink("n", clicks.window(10).aggregate(n="count(*)"))
        >>> batches = [pa.table({"t": pa.array(times, pa.int32())}) for times in ([1, 5], [12, 4], [31])]
        >>> place = tempfile.TemporaryDirectory()
        >>> outputs = {"n": tg.parquet(place.name + "/n")}
        >>> run = flow.start(tg.local(), {"clicks": iter(batches)}, outputs, checkpoint=place.name + "/checkpoint")
        >>> run.await_termination()
        True
        >>> tg.read(tg.local(), place.name + "/n").order("t").project("t, n").fetchall()
        [(9, 3), (19, 1), (39, 1)]
        >>> place.cleanup()
        """
        from tidegate.local_engine.session import is_local

        options: dict[str, Any] = {"trigger": trigger, "metrics": metrics, "allow_pickle": allow_pickle}
        page = None
        if ui is not False:
            from tidegate.live import open_page

            page = open_page(ui)
        run: Run
        if is_local(session):
            from tidegate.local_engine.streaming import start as start_locally

            run = start_locally(
                self.plan, cast("Local | DuckDBPyConnection", session), inputs, outputs, checkpoint, **options
            )
        else:
            require("spark", f"start of flow {self.name!r}")
            from tidegate.spark.streaming import start

            run = start(self.plan, cast("SparkSession", session), inputs, outputs, checkpoint, **options)
        if page is not None:
            run.ui = page.add(checkpoint)
        return run

    def _with(self, plan: Plan) -> Flow:
        """Return a flow with the same name and time zone, but another plan."""
        flow = Flow(self.name, timezone=self.timezone)
        flow._operators = {operator.id: operator for operator in plan}
        flow._sinks = {sink.name: sink for sink in plan.sinks}
        flow._numbers = dict(self._numbers)
        return flow

    def _free(self, name: str, *, replace: bool) -> None:
        if name in self._operators and not replace:
            raise NameTaken(
                f"there already is a {self._operators[name].verb} {name!r}", hint=f"take another name; {_REPLACE}"
            )

    def _declare(self, operator: Source | Table) -> Stream:
        """Add a source or a table. If it replaces another one, remove what was built on that one."""
        old = self._operators.get(operator.id)
        if old == operator:
            return Stream(self, operator)
        stale = {operator.id}
        for other in self._operators.values() if old is not None else ():
            if stale.intersection(other.inputs):
                stale.add(other.id)
        # Keep its place: checkpoints know sources by their order.
        self._operators = {k: o for k, o in self._operators.items() if k not in stale or k == operator.id}
        self._sinks = {k: sink for k, sink in self._sinks.items() if sink.input not in stale}
        return self._add(operator)

    def _number(self, verb: str) -> str:
        """Return the next free name for an operator."""
        self._numbers[verb] = self._numbers.get(verb, 0) + 1
        return f"{verb}#{self._numbers[verb]}"

    def _add(self, operator: PlanOperator) -> Stream:
        self._operators[operator.id] = operator
        return Stream(self, operator)
