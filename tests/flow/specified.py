"""The specification, for comparisons: rows in, rows out, in plain Python."""

from __future__ import annotations

from typing import Any

import tidegate as tg

Rows = dict[str, list[tuple[Any, ...]]]


def by_reference(flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """Run a flow with one sink, and return the rows of the sink; only the end of the input completes times."""
    plan = flow.plan
    given: dict[str, list[Any]] = {}
    for operator in (*plan.tables, *plan.sources):
        given[operator.id] = [dict(zip(operator.schema.names, row, strict=True)) for row in inputs[operator.id]]
    for source in plan.sources:
        given[source.id] = [tg.DT(source.schema.time_of(row), row) for row in given[source.id]]
    (sink,) = plan.sinks
    return [tuple(row.values()) for row in flow.reference(given).rows(sink.name)]
