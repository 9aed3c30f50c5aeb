"""The queries of NEXMark against DuckDB over all rows: bounded, and on streams with late rows and restarts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from examples.nexmark.events import Events, events, side_input
from examples.nexmark.queries import QUERIES, flow_of
from tests.examples.nexmark_oracles import ORACLES
from tests.flow.case import assert_same_rows

import tidegate as tg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Without windows of a day, all queries have answers on so many events.
COUNT = 3000
ARRIVED = "q12"


@pytest.fixture(scope="module")
def given() -> Events:
    return events(COUNT)


def oracle(name: str, tables: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
    """What a query gives over all rows; columns by name."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table, rows in tables.items():
        connection.register("given", rows)
        instants = [f.name for f in rows.schema if pa.types.is_timestamp(f.type)]
        casts = ", ".join(f"CAST({column} AS TIMESTAMP) AS {column}" for column in instants)
        connection.execute(f"CREATE TABLE {table} AS SELECT * {f'REPLACE ({casts})' if casts else ''} FROM given")
    found = connection.sql(ORACLES[name])
    return _sorted_columns(found.columns, found.fetchall())


def _sorted_columns(names: list[str], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows with their columns in the order of names; what a window is follows from the time."""
    places = [
        i for i, name in sorted(enumerate(names), key=lambda place: place[1]) if name not in ("window", "session")
    ]
    assert rows, "a query without answers tells nothing"
    return [tuple(_plain(row[i]) for i in places) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return int(value) if isinstance(value, Decimal) and value == value.to_integral() else value


def inputs_of(name: str, tables: dict[str, Any]) -> dict[str, Any]:
    """Those tables that a query reads."""
    plan = flow_of(name).plan
    return {operator.id: tables[operator.id] for operator in (*plan.sources, *plan.tables)}


def all_tables(given: Events) -> dict[str, pa.Table]:
    return given.tables() | {"side": side_input()}


def with_arrival(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Bids that arrive when they were made."""
    return tables | {"bids": tables["bids"].add_column(0, "arrived", tables["bids"]["ts"])}


@pytest.mark.parametrize("name", QUERIES)
def test_bounded(name: str, given: Events) -> None:
    """Over rows that are all there, a query gives what DuckDB gives."""
    tables = with_arrival(all_tables(given)) if name == ARRIVED else all_tables(given)
    found = flow_of(name).compute(tg.local(), inputs_of(name, tables))["out"]
    expected = oracle(name, tables)
    assert_same_rows(_sorted_columns(found.columns, found.fetchall()), expected)


def batches(tables: list[pa.Table], until: int) -> Any:
    """A function of how many were taken: those behind them, up to a place."""

    def after(taken: int) -> Iterator[pa.Table]:
        for table in tables[taken:until]:
            yield table
            time.sleep(0.01)

    return after


@pytest.mark.parametrize("name", [name for name in QUERIES if name != ARRIVED])
def test_on_streams(name: str, given: Events, tmp_path: Path) -> None:
    """In steps, with rows that come too late, and a run that goes on where another was stopped."""
    flow, steps = flow_of(name), given.steps(12)
    late: dict[str, pa.Table] = {}
    for until in (7, 12):
        inputs: dict[str, Any] = {source.id: batches(steps[source.id], until) for source in flow.plan.sources}
        inputs |= {table.id: side_input() for table in flow.plan.tables}
        # The first run stops when there is no more for now; the second one ends with its input.
        trigger = {"availableNow": True} if until < len(steps["bids"]) else None
        run = flow.start(tg.local(), inputs, {"out": tg.parquet(tmp_path / "out")}, tmp_path / "ck", trigger=trigger)
        assert run.await_termination(120)
        late = {source.id: run.late(source.id).to_arrow_table() for source in flow.plan.sources}
    found = tg.read(tg.local(), tmp_path / "out")
    on_time = {name: _without(rows, late.get(name)) for name, rows in all_tables(given).items()}
    assert_same_rows(_sorted_columns(found.columns, found.fetchall()), oracle(name, on_time))


def _without(rows: pa.Table, late: pa.Table | None) -> pa.Table:
    """Return rows without those that came late; no two rows of a source have one time and one key."""
    if late is None or not late.num_rows:
        return rows
    gone = {tuple(_plain(v) for v in row.values()) for row in late["row"].to_pylist()}
    kept = [tuple(_plain(v) for v in row.values()) not in gone for row in rows.to_pylist()]
    assert len(gone) == late.num_rows
    assert kept.count(False) == late.num_rows
    return rows.filter(pc.equal(pa.array(kept), True))


#: Those that `make test` runs on Spark; `make check` runs all.
QUICK = ("q5", "q9", "q19")


@pytest.mark.spark
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in QUERIES])
def test_bounded_on_spark(name: str, given: Events, spark: SparkSession) -> None:
    """On Spark, a query gives what DuckDB gives."""
    tables = with_arrival(all_tables(given)) if name == ARRIVED else all_tables(given)
    frames = {table: spark.createDataFrame(rows) for table, rows in inputs_of(name, tables).items()}
    found = flow_of(name).compute(spark, frames)["out"]
    rows = [tuple(row) for row in found.collect()]
    assert_same_rows(_sorted_columns(found.columns, rows), oracle(name, tables))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["q6", "q9", "q20"])
def test_on_streams_of_spark(name: str, given: Events, spark: SparkSession, tmp_path: Path) -> None:
    """In steps of files, on Spark."""
    flow = flow_of(name)
    inputs = {}
    for source in flow.plan.sources:
        (tmp_path / source.id).mkdir()
        for i, table in enumerate(given.steps(3)[source.id]):
            pq.write_table(table, tmp_path / source.id / f"{i}.parquet")
            os.utime(tmp_path / source.id / f"{i}.parquet", (1_000_000 + i, 1_000_000 + i))
        columns = ", ".join(map(str, source.schema.columns))
        files = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        inputs[source.id] = files.parquet(str(tmp_path / source.id))
    run = flow.start(spark, inputs, {"out": tg.parquet(tmp_path / "out")}, tmp_path / "ck")
    run.finish()
    late = {
        s.id: pa.table({"row": [row["row"].asDict() for row in run.late(s.id).collect()]}) for s in flow.plan.sources
    }
    on_time = {name: _without(rows, late.get(name)) for name, rows in all_tables(given).items()}
    found = tg.read(spark, tmp_path / "out")
    rows = [tuple(row) for row in found.collect()]
    assert_same_rows(_sorted_columns(found.columns, rows), oracle(name, on_time))
