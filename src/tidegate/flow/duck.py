"""The reference's calculator: expressions over many rows at once, in one in-memory DuckDB connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.errors import NotSupported
from tidegate.flow.expressions import Expression
from tidegate.flow.loops.query import Query
from tidegate.flow.schema import Column, Schema
from tidegate.flow.translate import duckdb_aggregate, duckdb_name, duckdb_query, duckdb_scalar, duckdb_type

__all__ = ["Duck"]

Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def _connection() -> duckdb.DuckDBPyConnection:
    # Opening a connection takes longer than most queries here. Nothing is stored in it: each query brings its tables
    # along, and has a cursor of its own.
    return duckdb.connect(":memory:", config={"threads": 1})


class Duck:
    """Computes expressions on rows.

    >>> from tidegate.flow.expressions import bind
    >>> from tidegate.flow.schema import parse_schema
    >>> schema = parse_schema("bytes INT")
    >>> Duck().scalars([{"bytes": 512}, {"bytes": None}], schema, [bind("bytes / 1024 AS kib", schema)])
    [(0.5,), (None,)]
    """

    def __init__(self) -> None:
        self._connection = _connection()

    def scalars(self, rows: Sequence[Row], schema: Schema, expressions: Sequence[Expression]) -> list[tuple[Any, ...]]:
        """Return, for each row, the values of some expressions."""
        if not rows or all(e.is_column for e in expressions):
            return [tuple(row[e.name] for e in expressions) for row in rows]
        table = table_of(rows, schema.columns).append_column("__row", pa.array(range(len(rows))))
        types = {c.name: c.type for c in schema.columns}
        selected = [f'{self._scalar(e.sql, e.type, types)} AS "{i}"' for i, e in enumerate(expressions)]
        found = self._query(f"SELECT {', '.join(selected)} FROM rows_ ORDER BY __row", {"rows_": table}, expressions)
        return [tuple(row.values()) for row in found]

    def matching(
        self, pairs: Sequence[tuple[Row, Row]], left: Schema, right: Schema, condition: Expression
    ) -> list[bool]:
        """Return, for each pair of rows, whether it satisfies a condition on ``left`` and ``right``."""
        if not pairs:
            return []
        tables: dict[str, pa.Table] = {}
        types: dict[str, str | None] = {}
        for side, schema, rows in (("left", left, [p[0] for p in pairs]), ("right", right, [p[1] for p in pairs])):
            tables[f"{side}_"] = table_of(rows, schema.columns).append_column("__row", pa.array(range(len(pairs))))
            types |= {f"{side}.{c.name}": c.type for c in schema.columns}
        sql = (
            f'SELECT {self._scalar(condition.sql, None, types)} AS matched FROM left_ AS "left" '
            'JOIN right_ AS "right" ON "left".__row = "right".__row ORDER BY "left".__row'
        )
        return [row["matched"] is True for row in self._query(sql, tables, [condition])]

    def aggregates(
        self,
        groups: Sequence[Sequence[Row]],
        schema: Schema,
        aggregation: Aggregation,
        keys: Sequence[Row],
        key_columns: Sequence[Column],
    ) -> list[tuple[Any, ...]]:
        """Return, for each group of rows (in their order) and its key, the values of some aggregates."""
        if not groups:
            return []
        rows = [row for group in groups for row in group]
        table = table_of(rows, schema.columns)
        table = table.append_column("__group", pa.array([g for g, group in enumerate(groups) for _ in group]))
        table = table.append_column("__row", pa.array(range(len(rows))))
        types = {c.name: c.type for c in schema.columns}
        calls = [
            f"{_cast(duckdb_aggregate(call, types, order='__row'), call.type)} AS {call.name}"
            for call in aggregation.calls
        ]
        inner = f"SELECT __group, {', '.join(calls)} FROM rows_ GROUP BY __group"
        types = {c.name: c.type for c in key_columns} | {c.name: c.type for c in aggregation.calls}
        finished = [
            f'{self._scalar(output.finish, output.type, types)} AS "{i}"'
            for i, output in enumerate(aggregation.outputs)
        ]
        key_table = table_of(keys, key_columns) if key_columns else pa.table({"__none": pa.nulls(len(keys))})
        key_table = key_table.append_column("__group", pa.array(range(len(keys))))
        sql = f"SELECT {', '.join(finished)} FROM ({inner}) JOIN keys_ USING (__group) ORDER BY __group"
        found = self._query(sql, {"rows_": table, "keys_": key_table}, aggregation.outputs)
        return [tuple(row.values()) for row in found]

    def query(
        self, query: Query, relations: Mapping[str, tuple[Sequence[Row], Sequence[Column]]]
    ) -> list[dict[str, Any]]:
        """Return the facts that a query of a loop gives, from the rows and columns of the relations that it reads."""
        tables = {f"{name}_": table_of(rows, columns) for name, (rows, columns) in relations.items()}
        given = tuple((name, tuple(columns)) for name, (_, columns) in relations.items())
        outputs = [f"{_cast(duckdb_name(c.name), c.type)} AS {duckdb_name(c.name)}" for c in query.columns]
        sql = f"SELECT {', '.join(outputs)} FROM ({duckdb_query(query, given)})"
        return self._query(sql, tables, [query])

    def _scalar(self, sql: str, type_: str | None, types: Mapping[str, str | None]) -> str:
        return _cast(duckdb_scalar(sql, types), type_)

    def _query(self, sql: str, tables: Mapping[str, pa.Table], what: Sequence[Any]) -> list[dict[str, Any]]:
        cursor = self._connection.cursor()
        try:
            for name, table in tables.items():
                cursor.register(name, table)
            return rows_of(_plain_integers(cursor.sql(sql).to_arrow_table()))
        except duckdb.Error as error:
            texts = "; ".join(e.sql for e in what)
            raise NotSupported(
                f"the reference cannot compute {texts}\n  DuckDB: {str(error).splitlines()[0]}",
                hint="check this flow against batch Spark instead",
            ) from None
        finally:
            cursor.close()


def _cast(sql: str, type_: str | None) -> str:
    return f"CAST({sql} AS {duckdb_type(type_)})" if type_ else sql


def _plain_integers(table: pa.Table) -> pa.Table:
    """Return a table with sums of integers as integers; DuckDB gives them as decimals without a fraction."""
    for i, field in enumerate(table.schema):
        if field.type == pa.decimal128(38, 0):
            table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table
