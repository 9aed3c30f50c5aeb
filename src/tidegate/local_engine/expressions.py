"""Expressions and function calls, translated from Spark SQL to DuckDB's SQL, with the types that they have in Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from tidegate.engine.relation import Call
from tidegate.flow.aggregate_functions import AS_WRITTEN
from tidegate.flow.agreed.aggregates import STAR, guarded, prepared
from tidegate.flow.agreed.compile import compiled
from tidegate.flow.agreed.lists import key
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Lets, inlined
from tidegate.flow.translate import (
    duckdb_type,
    translated,
    translated_condition,
    translated_in_columns,
    unsupported_arguments,
)

__all__ = ["AllTyped", "TranslationScope", "compared", "key", "levels", "types_of_all"]

#: A function that returns the type of an expression in DuckDB's SQL. It is given the expression and the columns of the
#: tables that it reads, by alias, with their types.
Asked: TypeAlias = Callable[[str, Mapping[str, Mapping[str, str | None]]], str]

#: Functions that exist only over a window, and the types of their results. None: the type of the argument.
_OF_WINDOWS = {"row_number": "INT", "lag": None, "lead": None}
#: Aggregates that take the first or last row, and the names of DuckDB's functions for that over a window.
_ENDS = {"first": "first_value", "last": "last_value"}
#: Aggregates that compare values, and DuckDB's functions that compare by a key instead: Spark orders nested values
#: differently, so they are compared by `key`.
_COMPARING = {"min": "ARG_MIN", "max": "ARG_MAX"}


class AllTyped(NamedTuple):
    """Expressions in DuckDB's SQL with their types, by name, and the columns that they read beside those of the table.

    Each level of columns may read those of the levels before it.
    """

    found: dict[str, tuple[str, str]]
    levels: list[dict[str, str]]


class TranslationScope:
    """The columns that expressions may read, and the translation of expressions over them.

    ``tables`` has the types of columns, by the alias of the table and the name of the column. A single table has the
    alias ``""``. ``ask`` returns DuckDB's type of an expression, for expressions whose type in Spark is not known here.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, str | None]], ask: Asked) -> None:
        self.tables = tables
        self.types = types_of_all(tables)
        self._ask = ask

    def scalar(self, sql: str) -> tuple[str, str]:
        """Return an expression in DuckDB's SQL, and its type in Spark. In DuckDB, it may have another type."""
        text, type_ = translated(sql, self.types)
        if type_ is None:
            return text, self._ask(text, self.tables)
        return text, type_

    def typed(self, sql: str, wanted: str | None = None) -> tuple[str, str]:
        """Return an expression in DuckDB's SQL, cast to the type that it has in Spark, and that type.

        With ``wanted``, it is cast to this type instead.
        """
        text, type_ = translated(sql, self.types)
        type_ = wanted or type_
        return (text, self._ask(text, self.tables)) if type_ is None else (self._cast(text, type_), type_)

    def all_typed(self, columns: Mapping[str, str], wanted: Mapping[str, str]) -> AllTyped:
        """Return expressions in DuckDB's SQL, by name, as `typed` does, and the columns that they read.

        ``wanted`` has types to cast to instead, by name.
        """
        found, lets = {}, Lets()
        for i, (name, sql) in enumerate(columns.items()):
            value = translated_in_columns(sql, self.types)
            type_ = wanted.get(name) or value.type
            if type_ is None:
                found[name] = self.typed(sql)
                continue
            # Several expressions may have the same names.
            own = {let: f"{let}c{i}" for _, let in value.lets}
            lets += [(inlined(text, own), own[let]) for text, let in value.lets]
            found[name] = self._cast(inlined(value.sql, own), type_), type_
        return AllTyped(found, levels(lets))

    def _cast(self, text: str, type_: str) -> str:
        return text if type_ == "VOID" or self._is_column(text, type_) else f"CAST({text} AS {duckdb_type(type_)})"

    def condition(self, sql: str) -> str:
        """Return the condition of a WHERE or a join in DuckDB's SQL; raise if it is not a BOOLEAN."""
        return translated_condition(sql, self.types)

    def sorted_by(self, order: Sequence[str], *, descending: bool | Sequence[bool] = False) -> str:
        """Return the list of an ORDER BY in which NULL is the least value, also inside of nested values."""
        down = [descending] * len(order) if isinstance(descending, bool) else descending
        hows = ["DESC NULLS LAST" if falls else "ASC NULLS FIRST" for falls in down]
        return ", ".join(f"{key(*self.scalar(sql))} {how}" for sql, how in zip(order, hows, strict=True))

    def call(
        self, call: Call, *, order: Sequence[str] | None = None, over: str = "", like: str | None = None
    ) -> tuple[str, str]:
        """Return a call of an aggregate or window function in DuckDB's SQL, cast to its type in Spark, and that type.

        ``order`` are expressions by which the rows of the call are sorted. ``over`` is the OVER clause of a window,
        which has an order of its own; it begins with a space. ``like`` is a type to cast to instead.
        """
        text, type_ = self._call(call, order, over)
        wanted = like or call.type or type_ or self._ask(text, self.tables)
        return f"CAST({text} AS {duckdb_type(wanted)})", wanted

    def _call(self, call: Call, order: Sequence[str] | None, over: str) -> tuple[str, str | None]:
        if call.function in _OF_WINDOWS:
            found = [self.scalar(argument) for argument in call.arguments]
            own = _OF_WINDOWS[call.function] or found[0][1]
            return f"{call.function}({', '.join(sql for sql, _ in found)}){over}", own
        record = call.definition
        chosen = [self.condition(call.where)] if call.where else []
        found, type_ = self._arguments(call, chosen)
        x, x_type = found[0]
        if call.function in _COMPARING and key(x, x_type) != x and not call.distinct:
            return f"{_COMPARING[call.function]}({x}, {key(x, x_type)}){_filter(chosen)}{over}", type_
        if record.duckdb == AS_WRITTEN:
            quantifier = "DISTINCT " if call.distinct else ""
            arguments = ", ".join(sql for sql, _ in found)
            if len(found) > 1 and type_ == "BIGINT":
                # count(a, b) leaves out rows in which one of the values is NULL.
                whole = " AND ".join(f"{sql} IS NOT NULL" for sql, _ in found)
                arguments = f"CASE WHEN {whole} THEN row({arguments}) END"
            return f"{record.names[0]}({quantifier}{arguments}){_filter(chosen)}{over}", type_
        known = [*chosen, f"{x} IS NOT NULL"]
        flag = call.arguments[1].lower() if len(call.arguments) > 1 else ""
        if "ignore" in call.rest.lower() or flag == "true":
            chosen = known
        if over and record.names[0] in _ENDS:
            # Over a window, DuckDB's first_value and last_value take no FILTER, but can ignore NULL. So rows that are
            # not chosen become NULL, and a value is wrapped in a struct, so that it is not NULL itself.
            own = f"CASE WHEN {' AND '.join(f'({c})' for c in chosen) or 'true'} THEN {{'v': {x}}} END"
            return f"({_ENDS[record.names[0]]}({own} IGNORE NULLS){over})['v']", type_
        inside = "" if over or not order else f"ORDER BY {self.sorted_by(order)}"
        y, y_type = found[1] if len(found) > 1 else ("''", "STRING")
        ties = [key(*self.scalar(sql)) for sql in order or ()]
        return (
            record.duckdb.format(
                x=x,
                y=y,
                k=_tied(key(y, y_type), ties),
                o=f"ORDER BY {x}" if call.distinct else inside,
                d="DISTINCT " if call.distinct else "",
                f=_filter(chosen),
                n=_filter(known),
                w=_filter([*chosen, f"{y} IS NOT NULL"]),
                v=over,
            ),
            type_,
        )

    def _arguments(self, call: Call, chosen: Sequence[str]) -> tuple[list[tuple[str, str]], str | None]:
        """Return the arguments of a call in DuckDB's SQL, each with its type, and the type of the call.

        ``chosen`` are the conditions on the rows that the call reads. For other rows, an argument must not fail.
        """
        given = []
        for argument in call.arguments:
            if argument == "*":
                given.append(STAR)
                continue
            sql, type_ = self.scalar(argument)
            given.append(replace(compiled(argument, self.types, engine=True), sql=sql, type=type_))
        try:
            ready = prepared(call.definition, call.function, given, call.rest)
        except MeaningDiffers as error:
            raise unsupported_arguments(call, error) from None
        found = [guarded(value, chosen) for value in ready.arguments]
        return [(value.sql, value.type or "") for value in found], ready.type

    def _is_column(self, text: str, type_: str) -> bool:
        return any(text == f'"{name}"' and own == type_ for name, own in self.types.items())


def levels(lets: Lets) -> list[dict[str, str]]:
    """Return columns in levels, each of which reads only columns of the levels before it.

    >>> levels([("x", "a"), ("a + 1", "b"), ("y", "c")])
    [{'a': 'x', 'c': 'y'}, {'b': 'a + 1'}]
    """
    levels: list[dict[str, str]] = []
    depth: dict[str, int] = {}
    for text, name in lets:
        read = [at for other, at in depth.items() if re.search(rf"(?<!\w){re.escape(other)}(?!\w)", text)]
        depth[name] = max(read, default=-1) + 1
        if depth[name] == len(levels):
            levels.append({})
        levels[depth[name]][name] = text
    return levels


def _tied(first: str, ties: Sequence[str]) -> str:
    """Return a struct to compare rows by: the key ``first``, and if that is equal, ``ties`` in turn, NULL first."""
    if not ties:
        return first
    fields = [f"'y': {first}"]
    for i, tie in enumerate(ties):
        fields.append(f"'n{i}': {tie} IS NOT NULL, 'v{i}': {tie}")
    return f"{{{', '.join(fields)}}}"


def _filter(conditions: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""


def types_of_all(tables: Mapping[str, Mapping[str, str | None]]) -> dict[str, str | None]:
    """Return the types of columns by ``column`` and ``alias.column``. A name that several tables have is left out."""
    found: dict[str, str | None] = {}
    times: dict[str, int] = {}
    for alias, columns in tables.items():
        for name, type_ in columns.items():
            times[name] = times.get(name, 0) + 1
            found[name] = type_
            if alias:
                found[f"{alias}.{name}"] = type_
    return {name: type_ for name, type_ in found.items() if times.get(name, 1) == 1}


def compared(call: Call) -> str | None:
    """Return the argument by which a call compares rows, as x in ``max(x)`` and y in ``max_by(x, y)``; None without."""
    if call.function in _OF_WINDOWS:
        return None
    if call.function in _COMPARING and not call.distinct:
        return call.arguments[0]
    return call.arguments[1] if "{k}" in call.definition.duckdb and len(call.arguments) > 1 else None
