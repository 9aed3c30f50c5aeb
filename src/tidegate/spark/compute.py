"""Bounded runs, from DataFrames to DataFrames. Everything is lazy. The end of the input makes all times complete."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from tidegate.engine.glance import ROWS, Glance, Glances, not_at_a_glance
from tidegate.engine.inputs import with_time, without_time
from tidegate.engine.plans import lower
from tidegate.engine.tables import Rejected, Sinks, Tables, as_declared
from tidegate.errors import TidegateError
from tidegate.flow.limits import limits
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Iterate, Plan, Sink
from tidegate.spark.backend import SparkBackend
from tidegate.spark.inputs import check_inputs
from tidegate.spark.relation import frame_of
from tidegate.spark.runtime import Runtime, spark_runtime
from tidegate.spark.workers import check_workers, runs_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["compute"]


#: Spark's settings for rows in notebooks: whether a DataFrame shows its rows, and how many.
_EAGER, _MANY = "spark.sql.repl.eagerEval.enabled", "spark.sql.repl.eagerEval.maxNumRows"


class SparkTables(Tables["DataFrame"]):
    """The rows of each sink as DataFrames, which Spark computes when rows are requested."""

    def __init__(
        self, flow: Plan, sinks: Mapping[str, DataFrame], rejected: Rejected[DataFrame], runtime: Runtime
    ) -> None:
        super().__init__(flow, sinks, rejected)
        self._runtime = runtime

    def _glances(self) -> Glances:
        # A job may take long, so rows are shown only if the session shows the rows of all DataFrames.
        asked = self._runtime.session.conf.get(_EAGER) == "true"
        sinks = {sink.name: self._glance(sink, asked=asked) for sink in self._flow.sinks}
        return Glances(sinks, {s.id: self.rejected[s.id].count() for s in self._flow.sources} if asked else {})

    def _glance(self, sink: Sink, *, asked: bool) -> Glance:
        why = not_at_a_glance(self._flow, sink.input)
        if why or not asked:
            return Glance(why=f"as {why}" if why else f"as {_EAGER} is not true")
        most = min(ROWS, int(str(self._runtime.session.conf.get(_MANY))))
        frame = self[sink.name]
        rows = frame.take(most + 1)
        return Glance(frame.columns, rows[:most], more=len(rows) > most)


def compute(flow: Plan, spark: SparkSession, inputs: Mapping[str, DataFrame]) -> Tables[DataFrame]:
    """Return a DataFrame for each sink. Nothing is read before its rows are requested.

    A sink after a loop is an exception: the rounds of the loop are run when the DataFrame is requested.
    """
    try:
        flow.check_sinks()
        runtime = spark_runtime(spark)
    except TidegateError as error:
        raise error.at(f"flow {flow.name!r}") from None
    flow = plan_on_points(flow)
    given = check_inputs(flow, inputs)
    if runs_python(flow):
        try:
            check_workers(runtime)
        except TidegateError as error:
            error.at(f"flow {flow.name!r}")
            raise
    # Spark fixes the time zone of an expression when it is built.
    with runtime.settings(spark__sql__session__timeZone=flow.timezone):
        return _tables(flow, given, runtime)


def _tables(flow: Plan, given: Mapping[str, DataFrame], runtime: Runtime) -> Tables[DataFrame]:
    bounds = limits(flow)
    backend = SparkBackend(runtime)
    rows = {name: backend.relation(frame) for name, frame in given.items()}
    relations = lower(flow, rows | {s.id: with_time(s, rows[s.id], bounds[s.id]) for s in flow.sources})
    around = partial(runtime.settings, spark__sql__session__timeZone=flow.timezone)
    lazily = Sinks(flow, relations, frame_of, around)
    sinks: Mapping[str, DataFrame] = {
        sink.name: frame_of(as_declared(flow[sink.input], relations[sink.input])) for sink in flow.sinks
    }
    if any(isinstance(operator, Iterate) for operator in flow):
        loops = {operator.id for operator in flow if isinstance(operator, Iterate)}
        before = {id_: rows for id_, rows in relations.items() if not flow.upstream(id_) & loops}
        # A loop is run once, when a sink that needs it is requested.
        sinks = lazily = Sinks(flow, before, frame_of, around)
    rejected = {s.id: frame_of(without_time(s, rows[s.id], bounds[s.id])) for s in flow.sources}
    return SparkTables(flow, sinks, Rejected(rejected, lambda frame: frame.count(), lazily.rejected()), runtime)
