"""Bounded runs in this process: a plan and tables in, relations of DuckDB out, lazily."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import duckdb

from tidegate.engine.glance import Glances
from tidegate.engine.inputs import on_points, with_time, without_time
from tidegate.engine.plans import lower
from tidegate.engine.relation import Relation
from tidegate.engine.tables import Rejected, Sinks, Tables
from tidegate.errors import TidegateError
from tidegate.flow.agreed.zones import in_zone
from tidegate.flow.clocks import declared_schema
from tidegate.flow.limits import limits
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Plan, Source, Table
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.admitted import check_expressions, check_macros
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.error_messages import describe_error
from tidegate.local_engine.glance import TIME_LIMIT, glances_of
from tidegate.local_engine.inputs import given_as
from tidegate.local_engine.relation import local
from tidegate.local_engine.session import Local, cursor_of

__all__ = ["LocalTables", "check_operators", "compute"]


class LocalTables(Tables[duckdb.DuckDBPyRelation]):
    """The rows of each sink as relations of DuckDB, which computes them when rows are requested."""

    def __init__(
        self,
        flow: Plan,
        sinks: Sinks[duckdb.DuckDBPyRelation],
        rejected: Rejected[duckdb.DuckDBPyRelation],
        backend: LocalBackend,
        rejects: Mapping[str, Relation],
    ) -> None:
        super().__init__(flow, sinks, rejected)
        self._sinks = sinks
        self._backend = backend
        self._rejects = rejects

    def _glances(self) -> Glances:
        return glances_of(self._flow, self._sinks, self._rejects, self._backend, seconds=TIME_LIMIT)

    def failing(self, sink: str) -> str | None:
        """Return the first operator before a sink whose rows cannot be computed, and why; None if all can.

        An error while rows are read is DuckDB's, which knows nothing of operators. So this computes one operator after
        the other, which may take long.
        """
        if sink not in self:
            self[sink]
        for operator, rows in self._sinks.upstream(sink):
            found = local(rows)
            every = ", ".join(f"count(hash({duckdb_name(name)}))" for name in found.names) or "count(*)"
            try:
                self._backend.run(f"SELECT {every} FROM ({found.sql})").fetchall()
            except duckdb.Error as error:
                return f"{operator.verb}(…), {operator.id}: {describe_error(error).text}"
        return None


def compute(flow: Plan, session: Local | duckdb.DuckDBPyConnection, inputs: Mapping[str, Any]) -> LocalTables:
    """Return a relation of DuckDB for each sink; nothing is computed before one is requested.

    What comes after a Python function or a loop is computed when the sink is requested, everything else when its rows
    are.
    """
    try:
        flow.check_sinks()
        check_expressions(flow)
        flow = plan_on_points(flow)
        flow.check_inputs(inputs, "rows", "table")
        connection = cursor_of(session)
        if not isinstance(session, Local):
            # This takes a few milliseconds. Nobody else can add macros to the DuckDB of our own session.
            check_macros(connection)
        backend = LocalBackend(connection)
    except TidegateError as error:
        raise error.at(f"flow {flow.name!r}") from None
    given: dict[str, Relation] = {}
    unreadable: dict[str, Relation] = {}
    declared: list[Source | Table] = [*flow.sources, *flow.tables]
    for operator in declared:
        try:
            found = given_as(backend, replace(operator, schema=declared_schema(operator)), inputs[operator.id])
            given[operator.id] = found.rows
            if found.unreadable is not None:
                unreadable[operator.id] = found.unreadable
        except TidegateError as error:
            raise error.at(f"{operator.verb} {operator.id!r}").at(f"flow {flow.name!r}") from None
    with in_zone(flow.timezone):
        points = {s.id: on_points(s, given[s.id]) for s in flow.sources}
        check_operators(flow, backend, {**given, **points})
        return _tables(flow, backend, given, unreadable)


def _tables(
    flow: Plan, backend: LocalBackend, given: Mapping[str, Relation], unreadable: Mapping[str, Relation]
) -> LocalTables:
    bounds = limits(flow)
    complete = {**given} | {s.id: with_time(s, given[s.id], bounds[s.id]) for s in flow.sources}
    rejected = {s.id: without_time(s, given[s.id], bounds[s.id]) for s in flow.sources}
    for name, rows in unreadable.items():
        rejected[name] = rejected[name].union(rows) if name in rejected else rows
    results = {name: local(rows).result() for name, rows in rejected.items()}
    sinks = Sinks(flow, complete, lambda rows: local(rows).result(), lambda: in_zone(flow.timezone))
    return LocalTables(flow, sinks, Rejected(results, len, sinks.rejected()), backend, rejected)


def check_operators(flow: Plan, backend: LocalBackend, given: Mapping[str, Relation]) -> None:
    """Raise if DuckDB refuses an operator on no rows, before anything is computed."""
    found = lower(flow, {name: backend.nothing(rows.shape) for name, rows in given.items()})
    for operator in flow:
        try:
            backend.run(local(found[operator.id]).sql)
        except duckdb.Error as error:
            refused = backend.refused(operator, [found[name] for name in operator.inputs], error)
            raise refused.at(f"{operator.verb}(…), {operator.id}").at(f"flow {flow.name!r}") from None
