"""Instants with a zone and without one are the same instants."""

from __future__ import annotations

import duckdb
import pytest

from tidegate.local_engine.types import unzoned, zoned, zoned_type

INSTANTS = ["'2026-01-01 12:00:00.000001'", "'1969-12-31 23:59:59.999999'", "'0001-01-01'", "'9999-12-31 23:59:59'"]
INSTANTS += ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'", "'-infinity'", "NULL"]


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    """A DuckDB in UTC."""
    found = duckdb.connect()
    found.execute("SET TimeZone = 'UTC'")
    return found


@pytest.mark.parametrize("instant", INSTANTS)
def test_an_instant_is_what_a_cast_makes_of_it(connection: duckdb.DuckDBPyConnection, instant: str) -> None:
    """Without asking a calendar, a zone is given and taken as by a cast, at the ends of time and beyond them, too."""
    plain, zone = f"CAST({instant} AS TIMESTAMP)", f"CAST({instant} AS TIMESTAMPTZ)"
    given = f"{zoned(plain, 'TIMESTAMP')} IS NOT DISTINCT FROM CAST({plain} AS TIMESTAMPTZ)"
    taken = f"{unzoned(zone, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMP')} IS NOT DISTINCT FROM CAST({zone} AS TIMESTAMP)"
    assert connection.sql(f"SELECT {given}, {taken}").fetchall() == [(True, True)]


@pytest.mark.parametrize(
    "value", ["{'at': TIMESTAMP '2026-01-01', 'o''n': {'x': NULL::TIMESTAMP, 'n': 1}}", "NULL", "{'at': NULL}"]
)
def test_instants_inside_of_structs(connection: duckdb.DuckDBPyConnection, value: str) -> None:
    """A struct gets zones where it has instants, and stays NULL where it is."""
    type_ = "STRUCT<at: TIMESTAMP, `o'n`: STRUCT<x: TIMESTAMP, n: INT>>"
    plain = f'CAST({value} AS STRUCT("at" TIMESTAMP, "o\'n" STRUCT(x TIMESTAMP, n INT)))'
    found = connection.sql(
        f"SELECT {zoned('v', type_)} AS a, CAST(v AS {zoned_type(type_)}) AS b FROM (SELECT {plain} v)"
    )
    assert found.types[0] == found.types[1]
    ((a, b),) = found.fetchall()
    assert a == b
