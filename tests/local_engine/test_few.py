"""Few rows by way of Python are what DuckDB gives as Arrow."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tidegate.flow.schema import Column
from tidegate.local_engine.few import as_numbers, table_of_few
from tidegate.local_engine.types import zoned

VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768"],
    "INT": ["-2147483648"],
    "BIGINT": ["9223372036854775807", "-9223372036854775808"],
    "DOUBLE": ["'nan'", "'-inf'", "-0.0", "1e308", "0.1"],
    "STRING": ["''", "chr(0) || 'é'", "'\U0001f30a'"],
    "DATE": ["'infinity'", "'-infinity'", "'0001-01-01'", "'99999-12-31'", "'1969-12-31'"],
    "TIMESTAMP": ["'infinity'", "'-infinity'", "'0001-01-01'", "'99999-12-31 23:59:59.999999'", "'1969-12-31'"],
    "TIMESTAMP_NTZ": ["'infinity'", "'-infinity'", "'0001-01-01'", "'1969-12-31 23:59:59.999999'"],
}
HERE = {"STRING": "VARCHAR", "TIMESTAMP_NTZ": "TIMESTAMP"}


@pytest.mark.parametrize("type_", VALUES)
def test_values_are_those_that_duckdb_gives_as_arrow(type_: str) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    column = Column("a b", type_)
    rows = " UNION ALL ".join(
        f'SELECT CAST({value} AS {HERE.get(type_, type_)}) AS "a b"' for value in [*VALUES[type_], "NULL"]
    )
    picked = as_numbers([column])
    assert picked is not None
    found = table_of_few(connection.execute(f"SELECT {picked} FROM ({rows})").fetchall(), [column])
    written = zoned('"a b"', type_)
    expected = connection.sql(f'SELECT {written} AS "a b" FROM ({rows})').to_arrow_table()
    assert found.schema == expected.schema
    # Bit for bit: dates and instants outside of Python's, and the sign of zero.
    assert found.column(0).is_null() == expected.column(0).is_null()
    assert _bits(found) == _bits(expected)


def _bits(table: pa.Table) -> list[bytes]:
    values = table.column(0).drop_null().combine_chunks()
    return [buffer.to_pybytes()[: 8 * len(values)] for buffer in values.buffers()[1:]]


def test_nested_values_go_another_way() -> None:
    assert as_numbers([Column("n", "INT"), Column("w", "STRUCT<start: TIMESTAMP>")]) is None
    assert as_numbers([]) is None
