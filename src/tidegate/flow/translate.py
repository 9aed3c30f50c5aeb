"""Spark SQL to DuckDB's, for the reference: only what is known to mean the same in both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from sqlglot import parse_one

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS, AS_WRITTEN
from tidegate.flow.aggregates import AggregateCall
from tidegate.flow.derive import derive
from tidegate.flow.errors import NotSupported, pointed
from tidegate.flow.functions import words
from tidegate.flow.loops.query import Query
from tidegate.flow.parser import Tree, exp, parse, parse_query, relations_of
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql

__all__ = [
    "check_functions",
    "duckdb_aggregate",
    "duckdb_name",
    "duckdb_query",
    "duckdb_scalar",
    "duckdb_type",
    "translated",
    "translated_query",
]

Types = Mapping[str, str | None]

#: Functions of one row that mean the same in both; a test compares them on values. Others are refused.
AGREED = words(
    """
    abs array array_contains array_max array_min ascii bigint boolean btrim cast ceil ceiling char_length coalesce
    concat concat_ws contains date date_add date_sub date_trunc datediff day dayofmonth double element_at endswith exp
    filter flatten float floor greatest hour if ifnull int instr isnotnull isnull last_day lcase least left length ln
    locate log10 log2 lower lpad ltrim md5 minute mod month named_struct nullif nvl nvl2 pow power quarter
    regexp_replace repeat replace reverse right rlike round rpad rtrim second sign signum sin size smallint split sqrt
    startswith string struct substr substring tinyint to_date transform trim try_cast ucase unix_date unix_micros
    upper year
    """
)


@lru_cache(maxsize=1024)
def duckdb_type(type_: str) -> str:
    """Answer DuckDB's name of a type; instants are naive, in UTC.

    >>> duckdb_type("TIMESTAMP"), duckdb_type("ARRAY<INT>")
    ('TIMESTAMP', 'INT[]')
    """
    return str(_naive(sqltypes.tree_of(type_).copy()).sql("duckdb"))


def duckdb_name(name: str) -> str:
    """Return a name as it stands in DuckDB's SQL.

    >>> print(duckdb_name('a "b" c'))
    "a ""b"" c"
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def duckdb_scalar(sql: str, types: Types) -> str:
    """Answer a scalar expression in DuckDB's SQL; ``types`` are those of the columns.

    >>> duckdb_scalar("CAST(d AS INT) + bytes DIV 2", {"d": "DOUBLE", "bytes": "INT"})
    'TRY_CAST(TRUNC("d") AS INT) + "bytes" // 2'
    """
    check_functions(sql)
    return str(_translated(parse(sql), types).sql("duckdb", identify=True))


@lru_cache(maxsize=4096)
def _parsed_type(sql: str, types: tuple[tuple[str, str | None], ...]) -> tuple[str, str | None]:
    tree, lookup = parse(sql), _lookup(dict(types))
    return str(_translated(tree, dict(types)).sql("duckdb", identify=True)), derive(tree, lookup)


def translated(sql: str, types: Types) -> tuple[str, str | None]:
    """Return an expression in DuckDB's SQL, whoever admitted its functions, and its type; None if it is not known.

    >>> translated("a DIV 2", {"a": "INT"})
    ('"a" // 2', 'BIGINT')
    """
    return _parsed_type(sql, tuple(types.items()))


def duckdb_aggregate(call: AggregateCall, types: Types, *, order: str) -> str:
    """Answer a call of an aggregate function in DuckDB's SQL, with rows in the order of the column ``order``."""
    check_functions(call.sql)
    template = call.definition.duckdb
    if template == AS_WRITTEN:
        return str(_translated(parse(call.sql), types).sql("duckdb", identify=True))
    arguments = [duckdb_scalar(argument, types) for argument in call.arguments]
    x = arguments[0]
    chosen = [duckdb_scalar(call.where, types)] if call.where else []
    known = [*chosen, f"{x} IS NOT NULL"]
    flag = call.arguments[1].lower() if len(call.arguments) > 1 else ""
    if call.rest.lower() == "ignore nulls" or flag == "true":
        chosen = known
    if call.rest and call.rest.lower() not in ("ignore nulls", "respect nulls"):
        raise _unsupported(call.sql, call.function)
    y = arguments[1] if len(arguments) > 1 else "''"
    return template.format(
        x=x,
        y=y,
        k=f"{{'y': {y}, 'o': {order}}}",
        w=_filter([*chosen, f"{y} IS NOT NULL"]),
        v="",
        o=f"ORDER BY {x if call.distinct else order}",
        d="DISTINCT " if call.distinct else "",
        f=_filter(chosen),
        n=_filter(known),
    )


def _filter(conditions: list[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""


@lru_cache(maxsize=256)
def duckdb_query(query: Query, relations: tuple[tuple[str, tuple[Column, ...]], ...]) -> str:
    """Answer a query of a loop in DuckDB's SQL; the table of a relation is its name and an underscore.

    >>> query = Query("SELECT src % 2 AS node FROM input", (Column("node", "INT"),), (), ("input",))
    >>> duckdb_query(query, (("input", (Column("src", "INT"),)),))
    'SELECT "src" % 2 AS "node" FROM "input_" AS "input"'
    """
    check_functions(query.sql)
    tables = {name: f"{name}_" for name in query.relations}
    return translated_query(query, tables, {f"{name}_": columns for name, columns in relations})


def translated_query(query: Query, tables: Mapping[str, str], columns: Mapping[str, Sequence[Column]]) -> str:
    """Return a query in DuckDB's SQL, whoever admitted its functions; relations are read from tables with columns."""
    tree = parse_query(query.select(tables))
    types: dict[str, str | None] = {}
    for table in relations_of(tree):
        for column in columns[table.name.lower()]:
            types[f"{table.alias}.{column.name}"] = column.type
            types[column.name] = column.type if types.get(column.name, column.type) == column.type else None
    return str(_translated(tree, types).sql("duckdb", identify=True))


def check_functions(sql: str) -> None:
    """Raise unless all functions of a text are known to mean the same in both."""
    for call in Sql.of(sql).calls():
        if not _agreed(call.name):
            raise _unsupported(sql, call.name, *call.function.span)


def _agreed(word: str) -> bool:
    function = AGGREGATE_FUNCTIONS.get(word)
    return word in AGREED if function is None else bool(function.duckdb)


def _unsupported(sql: str, function: str, start: int = 0, end: int = 1) -> NotSupported:
    return NotSupported(
        pointed(f"the reference has no {function} that is known to mean what Spark's does", sql, start, end),
        hint="check this flow against batch Spark instead",
    )


def _lookup(types: Types) -> Callable[[exp.Column], str | None]:
    lower = {name.lower(): type_ for name, type_ in types.items()}

    def lookup(column: exp.Column) -> str | None:
        parts = [part.name for part in column.parts]
        qualified = ".".join(parts[:2]).lower()
        taken = 2 if qualified in lower and len(parts) > 1 else 1
        type_ = lower.get(qualified if taken == 2 else parts[0].lower())
        for part in parts[taken:]:
            type_ = sqltypes.field(type_, part) if type_ else None
        return type_

    return lookup


def _translated(tree: Tree, types: Types) -> Tree:
    lookup, copy = _lookup(types), tree.copy()
    # From the leaves up, so that what is wrapped has been looked at.
    for cast in list(copy.find_all(exp.Cast)):
        inner = derive(cast.this, lookup)
        fraction = inner is not None and (inner in sqltypes.FRACTIONS or inner.startswith("DECIMAL"))
        # Spark cuts off the fraction; DuckDB rounds.
        if fraction and sqltypes.of_tree(cast.to) in sqltypes.INTEGERS:
            cast.set("this", exp.Trunc(this=cast.this.copy()))
    return _naive(copy.transform(_rewritten))


#: Functions that DuckDB has not, or not so, by what they are there.
_REWRITTEN = {
    # Spark passes NULL on if one of the lists is NULL; DuckDB passes over it.
    "flatten": "CASE WHEN len(?) = list_count(?) THEN flatten(?) END",
    "pmod": "CASE WHEN ? % ?2 < 0 THEN (? % ?2 + ?2) % ?2 ELSE ? % ?2 END",
    "timestamp_micros": "make_timestamp(?)",
    "date_from_unix_date": "CAST(DATE '1970-01-01' + ? AS DATE)",
    "get": "list_extract(?, ?2 + 1)",
    "array_repeat": "list_transform(range(?2), lambda __n: ?)",
    "array_distinct": "list_filter(?, lambda __e, __i: list_position(?, __e) = __i)",
    "xxhash64": "CAST(hash(?*) >> 1 AS BIGINT)",
}


def _rewritten(node: Tree) -> Tree:
    """Return what a function of Spark is in DuckDB, if it is more than another name."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else _CLASSES.get(type(node).__name__, "")
    if name not in _REWRITTEN or node.meta.get("rewritten"):
        return node
    given = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
    given = [argument.transform(_rewritten) for argument in given]
    text = _REWRITTEN[name].replace("?*", ", ".join(f"?{i + 1}" for i in range(len(given))))
    return _filled(text, given)


#: The functions of the table that the parser has classes for.
_CLASSES = {"Flatten": "flatten", "DateFromUnixDate": "date_from_unix_date", "ArrayDistinct": "array_distinct"}


def _filled(text: str, given: Sequence[Tree]) -> Tree:
    """Return a template of DuckDB with arguments for ``?`` (the first), ``?2`` and so on."""
    found = parse_one(re.sub(r"\?(\d*)", lambda place: f"__given_{place[1] or 1}", text), dialect="duckdb")
    for column in list(found.find_all(exp.Column)):
        if column.name.startswith("__given_"):
            argument = given[int(column.name.removeprefix("__given_")) - 1].copy()
            column.replace(argument if isinstance(argument, exp.Column | exp.Literal) else exp.paren(argument))
    for inner in found.walk():
        inner.meta["rewritten"] = True
    return found


def _naive(tree: Tree) -> Tree:
    """Make every instant naive: all are in UTC."""
    for node in tree.find_all(exp.DataType):
        if node.this in (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPNTZ):
            node.set("this", exp.DataType.Type.TIMESTAMP)
    return tree
