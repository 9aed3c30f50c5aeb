"""The local engine, for cases and for comparisons: rows in, rows out, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

import tidegate as tg
from tidegate.flow.arrow import table_of
from tidegate.flow.schema import Schema
from tidegate.local_engine.session import Local
from tidegate.local_engine.types import spark_type
from tidegate.testing.local import plain

Rows = dict[str, list[tuple[Any, ...]]]


@cache
def shared_session() -> Local:
    """Return a session for many flows: to open one takes longer than most of them."""
    return tg.local()


def by_local(flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """Run a flow with one sink on bounded inputs, and return the rows of the sink."""
    (sink,) = flow.plan.sinks
    return all_by_local(flow, inputs)[sink.name]


def all_by_local(flow: tg.Flow, inputs: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """Run a flow on bounded inputs, and return the rows of each sink."""
    plan = flow.plan
    given = {o.id: arrow_rows(o.schema, inputs[o.id]) for o in (*plan.sources, *plan.tables)}
    tables = flow.compute(shared_session(), given)
    return {sink.name: rows_of(plan[sink.input].schema, tables[sink.name]) for sink in plan.sinks}


def arrow_rows(schema: Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Rows as the local engine takes them."""
    return table_of([dict(zip(schema.names, row, strict=True)) for row in rows], schema.columns)


def rows_of(schema: Schema, found: duckdb.DuckDBPyRelation) -> list[tuple[Any, ...]]:
    assert found.columns == list(schema.names)
    for derived, type_ in zip(schema.columns, found.types, strict=True):
        settled = spark_type(str(type_))
        known = (derived.type or settled).replace("TIMESTAMP_NTZ", "TIMESTAMP")
        assert known == settled, f"{derived} was derived, {settled} came out"
    return [tuple(map(plain, row)) for row in found.fetchall()]
