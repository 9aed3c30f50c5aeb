"""The local engine, for cases and for comparisons: rows in, rows out, in plain Python."""

from __future__ import annotations

from typing import Any

import duckdb

import tidegate as tg
from tidegate.engine.inputs import with_time
from tidegate.engine.plans import lower
from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.limits import limits
from tidegate.local.backend import LocalBackend

Rows = dict[str, list[tuple[Any, ...]]]


def by_local(flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """Run a flow with one sink on bounded inputs, and return the rows of the sink."""
    plan = flow.plan
    with duckdb.connect(":memory:") as connection:
        backend = LocalBackend(connection)
        given = {}
        for operator in (*plan.sources, *plan.tables):
            rows = [dict(zip(operator.schema.names, row, strict=True)) for row in inputs[operator.id]]
            given[operator.id] = backend.table(table_of(rows, operator.schema.columns), operator.schema.columns)
        bounds = limits(plan)
        given |= {s.id: with_time(s, given[s.id], bounds[s.id]) for s in plan.sources}
        found = lower(plan, given, run=True)
        (sink,) = plan.sinks
        result = found[sink.input]
        schema = plan[sink.input].schema
        assert result.names == list(schema.names)
        for derived, settled in zip(schema.columns, result.columns, strict=True):
            assert derived.type in (None, settled.type), f"{derived} was derived, {settled} came out"
        return [tuple(row.values()) for row in rows_of(result.fetch())]
