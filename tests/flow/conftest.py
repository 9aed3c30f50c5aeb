"""Engines for the cases: each runs a flow on the rows of its sources and answers the rows of its sink."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import Any

import pytest
from tests.flow.case import Engine
from tests.flow.short_run import LOOPS_ON_SPARK, ON_STREAMS, SHARE_ON_SPARK
from tests.local_engine.engine import by_local
from tests.local_engine.steps import by_local_steps
from tests.spark.engine import by_spark
from tests.spark.steps import by_steps

import tidegate as tg
from tidegate.flow.values import sort_key

Rows = dict[str, list[tuple[Any, ...]]]


def by_reference(flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """The specification; only the end of the input completes times."""
    return _reference(flow, inputs, watermarks=False)


def by_reference_with_watermarks(flow: tg.Flow, inputs: Rows) -> list[tuple[Any, ...]]:
    """The specification; the rows come in the order of time, and each time is complete after its rows."""
    return _reference(flow, inputs, watermarks=True)


def _reference(flow: tg.Flow, inputs: Rows, *, watermarks: bool) -> list[tuple[Any, ...]]:
    plan = flow.plan
    given: dict[str, list[Any]] = {}
    for table in plan.tables:
        given[table.id] = [dict(zip(table.schema.names, row, strict=True)) for row in inputs[table.id]]
    for source in plan.sources:
        rows = [dict(zip(source.schema.names, row, strict=True)) for row in inputs[source.id]]
        times = source.schema.time_of
        if not watermarks:
            given[source.id] = [tg.DT(times(row), row) if times(row) is not None else row for row in rows]
            continue
        untimed = [row for row in rows if times(row) is None]
        rows = [row for row in rows if times(row) is not None]
        rows.sort(key=lambda row: [sort_key(row[name]) for name in source.schema.time])
        if source.schema.ordered:
            rows.sort(key=lambda row: source.schema.order.key(times(row)))
        grouped = groupby(rows, key=times)
        marked = [event for t, group in grouped for event in [*(tg.DT(t, r) for r in group), tg.WM(t)]]
        given[source.id] = [*untimed, *marked]
    results = flow.reference(given)
    names = plan[plan.sinks[0].input].schema.names
    assert all(tuple(row) == names for row in results.rows("out")), "columns come in the order of the schema"
    assert not any(results.late.values())
    return [tuple(row.values()) for row in results.rows("out")]


ENGINES: dict[str, Engine] = {
    "reference": by_reference,
    "reference, watermarks": by_reference_with_watermarks,
    "local": by_local,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases on streams, of loops, and five of six on Spark, to the long run."""
    on_spark: dict[str, int] = {}
    for item in items:
        engine, _, case = getattr(getattr(item, "callspec", None), "id", "").partition("-")
        table = case.partition(":")[0]
        if engine == "streaming":
            slow = case not in ON_STREAMS
        elif engine == "spark" and table == "iterate":
            slow = case not in LOOPS_ON_SPARK
        elif engine == "spark":
            # What an operator computes is the same text on all engines: what differs is how Spark takes it.
            slow = on_spark.setdefault(table, 0) % SHARE_ON_SPARK > 0
            on_spark[table] += 1
        else:
            slow = False
        if slow:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(
    params=[
        *ENGINES,
        "local, streaming",
        *(pytest.param(name, marks=pytest.mark.spark) for name in ("spark", "streaming")),
    ]
)
def engine(request: pytest.FixtureRequest) -> tuple[str, Engine]:
    """An engine, by its name."""
    if request.param in ENGINES:
        return request.param, ENGINES[request.param]
    if request.param == "local, streaming":
        return request.param, partial(by_local_steps, directory=request.getfixturevalue("tmp_path"))
    spark = request.getfixturevalue("spark")
    if request.param == "spark":
        return "spark", partial(by_spark, spark)
    return "streaming", partial(by_steps, spark, directory=request.getfixturevalue("tmp_path"))
