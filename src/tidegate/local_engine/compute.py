"""Bounded runs in this process: a plan and tables in, relations of DuckDB out, lazily."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from tidegate.engine.inputs import check_names, with_time, without_time
from tidegate.engine.plans import lower
from tidegate.engine.relation import Relation
from tidegate.engine.tables import Rejected, Sinks, Tables
from tidegate.errors import TidegateError
from tidegate.flow.errors import NotSupported
from tidegate.flow.limits import limits
from tidegate.flow.plan import Plan, Source, Table
from tidegate.local_engine.admitted import check_expressions, check_macros
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.inputs import given_as
from tidegate.local_engine.relation import local
from tidegate.local_engine.session import Local, cursor_of

__all__ = ["compute"]


def compute(
    flow: Plan, session: Local | duckdb.DuckDBPyConnection, inputs: Mapping[str, Any]
) -> Tables[duckdb.DuckDBPyRelation]:
    """Return a relation of DuckDB for each sink; nothing is computed before one of them is asked for.

    What comes after a Python function or a loop is computed when the sink is asked for, all else when its rows are.
    """
    try:
        flow.check_sinks()
        if flow.timezone != "UTC":
            raise NotSupported(
                f"the local engine computes in UTC only, got {flow.timezone}",
                hint='Flow(…, timezone="UTC"), or run it on Spark',
            )
        check_expressions(flow)
        check_names(flow, inputs, "rows", "table")
        connection = cursor_of(session)
        if not isinstance(session, Local):
            # It takes a few milliseconds; nobody else has the DuckDB of a session of our own.
            check_macros(connection)
        backend = LocalBackend(connection)
    except TidegateError as error:
        raise error.at(f"flow {flow.name!r}") from None
    given: dict[str, Relation] = {}
    declared: list[Source | Table] = [*flow.sources, *flow.tables]
    for operator in declared:
        try:
            given[operator.id] = given_as(backend, operator, inputs[operator.id])
        except TidegateError as error:
            raise error.at(f"{operator.verb} {operator.id!r}").at(f"flow {flow.name!r}") from None
    _check(flow, backend, given)
    bounds = limits(flow)
    complete = given | {s.id: with_time(s, given[s.id], bounds[s.id]) for s in flow.sources}
    rejected = {s.id: local(without_time(s, given[s.id], bounds[s.id])).result() for s in flow.sources}
    return Tables(Sinks(flow, complete, lambda rows: local(rows).result()), Rejected(rejected, len))


def _check(flow: Plan, backend: LocalBackend, given: Mapping[str, Relation]) -> None:
    """Raise if DuckDB refuses an operator, on no rows: before anything is computed."""
    found = lower(flow, {name: backend.nothing(rows.shape) for name, rows in given.items()})
    for operator in flow:
        try:
            backend.run(local(found[operator.id]).sql)
        except duckdb.Error as error:
            refused = backend.refused(operator, [found[name] for name in operator.inputs], error)
            raise refused.at(f"{operator.verb}(…), {operator.id}").at(f"flow {flow.name!r}") from None
