"""Spark SQL to DuckDB's, for the reference and the local engine: only what is known to mean the same in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.aggregates import AggregateCall
from tidegate.flow.agreed.aggregates import STAR, aggregated, prepared
from tidegate.flow.agreed.calls import CASTING
from tidegate.flow.agreed.compile import Refused, Types, compiled, compiled_condition
from tidegate.flow.agreed.nodes import quoted_name as duckdb_name
from tidegate.flow.agreed.queries import compiled_query
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.table import FUNCTIONS
from tidegate.flow.agreed.values import Value, duckdb_type
from tidegate.flow.errors import NotSupported, pointed
from tidegate.flow.loops.query import Query
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql

__all__ = [
    "admitted",
    "check_functions",
    "duckdb_aggregate",
    "duckdb_name",
    "duckdb_query",
    "duckdb_scalar",
    "duckdb_type",
    "translated",
    "translated_condition",
    "translated_in_columns",
    "translated_query",
    "unsupported_arguments",
]

_REFERENCE, _LOCAL = "the reference", "the local engine"
_HINTS = {_REFERENCE: "check this flow against batch Spark instead", _LOCAL: "run this flow on Spark instead"}


def admitted(sql: str, types: Types, *, who: str = _REFERENCE) -> str | None:
    """Return the type of an expression; raise if a part of it is not known to mean the same in DuckDB as in Spark.

    >>> admitted("a DIV 2", {"a": "INT"})
    'BIGINT'
    """
    try:
        return compiled(sql, types).type
    except Refused as refused:
        raise _unsupported(sql, refused, who) from None


#: Names of functions that are known to agree for some types.
_KNOWN = {signature.partition("(")[0] for signature in FUNCTIONS} | set(CASTING)
#: Types that have a size.
_SIZED = {"decimal", "numeric", "dec", "varchar", "char"}
_KNOWN |= {"struct", "named_struct", "arrays_zip", "cast", "try_cast"}


def check_functions(sql: str) -> None:
    """Raise if a text of a user has a function that is not known to agree, whatever its arguments are.

    The types of arguments are checked when it is translated. The engine's own texts may have a few more functions.
    """
    for call in Sql.of(sql).calls():
        if call.name in _SIZED and all(argument.isdecimal() for argument in call.arguments):
            # A type, as in a cast.
            continue
        function = AGGREGATE_FUNCTIONS.get(call.name)
        if call.name not in _KNOWN if function is None else not function.duckdb:
            raise _unsupported(sql, Refused(call.name, call.function.span), _REFERENCE)


def duckdb_scalar(sql: str, types: Types) -> str:
    """Return a scalar expression in DuckDB's SQL; ``types`` are those of the columns.

    >>> duckdb_scalar("CAST(d AS INT)", {"d": "DOUBLE"})
    'CAST(trunc("d") AS INT)'
    """
    admitted(sql, types)
    return compiled(sql, types).sql


def translated(sql: str, types: Types) -> tuple[str, str | None]:
    """Return an expression of a user's or of the engine in DuckDB's SQL, and its type; None if it is not known.

    >>> translated("a & 2", {"a": "BIGINT"})
    ('CAST("a" & CAST(CAST(2 AS INT) AS BIGINT) AS BIGINT)', 'BIGINT')
    """
    try:
        value = compiled(sql, types, engine=True)
    except Refused as refused:
        raise _unsupported(sql, refused, _LOCAL) from None
    return value.sql, value.type


def translated_in_columns(sql: str, types: Types) -> Value:
    """Return an expression in DuckDB's SQL that may read other expressions as columns, its ``lets``.

    >>> value = translated_in_columns("transform(array(a + b), c -> c * c)[0]", {"a": "DOUBLE", "b": "DOUBLE"})
    >>> [sql for sql, _ in value.lets]
    ['CAST(CAST("a" + "b" AS DOUBLE) AS DOUBLE)']
    """
    try:
        return compiled(sql, types, engine=True, in_columns=True)
    except Refused as refused:
        raise _unsupported(sql, refused, _LOCAL) from None


def translated_condition(sql: str, types: Types) -> str:
    """Return the condition by which rows are filtered or joined, in DuckDB's SQL.

    >>> translated_condition("a > 2 AND b", {"a": "INT", "b": "BOOLEAN"})
    '((CAST("a" > CAST(2 AS INT) AS BOOLEAN)) AND ("b"))'
    """
    try:
        return compiled_condition(sql, types, engine=True).sql
    except Refused as refused:
        raise _unsupported(sql, refused, _LOCAL) from None


def duckdb_aggregate(call: AggregateCall, types: Types, *, order: str) -> str:
    """Return a call of an aggregate function in DuckDB's SQL, with rows in the order of the column ``order``."""
    given = [STAR if argument == "*" else _part_of(call, argument, types) for argument in call.arguments]
    chosen = [_part_of(call, call.where, types, condition=True).sql] if call.where else []
    try:
        found = prepared(call.definition, call.function, given, call.rest)
    except MeaningDiffers as error:
        raise unsupported_arguments(call, error, _REFERENCE) from None
    return aggregated(
        call.definition, found, distinct=call.distinct, chosen=chosen, tie=order, order=f"ORDER BY {order}"
    )


def _part_of(call: AggregateCall, sql: str, types: Types, *, condition: bool = False) -> Value:
    """Return an argument or the condition of a call; an error about it shows its place in the whole call."""
    try:
        return compiled_condition(sql, types) if condition else compiled(sql, types)
    except Refused as refused:
        at = call.sql.find(sql)
        start, end = refused.span if at >= 0 else (0, len(call.sql))
        span = (start + max(at, 0), end + max(at, 0))
        raise _unsupported(call.sql, Refused(refused.what, span, refused.why), _REFERENCE) from None


def unsupported_arguments(call: AggregateCall, error: MeaningDiffers, who: str = _LOCAL) -> NotSupported:
    """Build the error for a call of an aggregate function that is not known to agree for its arguments."""
    function = Sql.of(call.sql).calls()[0].function
    return _unsupported(call.sql, Refused(str(error), function.span), who)


@lru_cache(maxsize=256)
def duckdb_query(query: Query, relations: tuple[tuple[str, tuple[Column, ...]], ...]) -> str:
    """Return a query of a loop in DuckDB's SQL; the table of a relation is its name and an underscore."""
    tables = {name: f"{name}_" for name in query.relations}
    return _query(query, tables, {f"{name}_": columns for name, columns in relations}, _REFERENCE)


def translated_query(query: Query, tables: Mapping[str, str], columns: Mapping[str, Sequence[Column]]) -> str:
    """Return a query in DuckDB's SQL; relations are read from tables with columns."""
    return _query(query, tables, columns, _LOCAL)


def _query(query: Query, tables: Mapping[str, str], columns: Mapping[str, Sequence[Column]], who: str) -> str:
    sql = query.select(tables)
    known = {table: {column.name: column.type for column in own} for table, own in columns.items()}
    try:
        return compiled_query(sql, known)[0]
    except Refused as refused:
        raise _unsupported(sql, refused, who) from None


def _unsupported(sql: str, refused: Refused, who: str) -> NotSupported:
    what = f"{who} cannot compute {refused.what} as Spark does"
    what += f": {refused.why}" if refused.why else ""
    return NotSupported(pointed(what, sql, *refused.span), hint=_HINTS[who])
