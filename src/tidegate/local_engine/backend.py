"""DuckDB as a backend of the engine: how relations are made, computed and held."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from tidegate.engine.calls import call
from tidegate.engine.relation import Call, ComputedRows, Measurement, Relation
from tidegate.flow.agreed.conditions import in_join
from tidegate.flow.arrow import arrow_type
from tidegate.flow.errors import BadExpression, FlowError
from tidegate.flow.loops.query import Query
from tidegate.flow.plan import PlanOperator
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name, duckdb_type, translated_query
from tidegate.local_engine.expressions import TranslationScope
from tidegate.local_engine.hoisted import hoisted
from tidegate.local_engine.lookups import lookup_pairs
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation, local
from tidegate.local_engine.session import utc_cursor
from tidegate.local_engine.types import spark_type

__all__ = ["LocalBackend"]

T = TypeVar("T")
#: The prefix of all names that are made in a connection.
_PREFIX = "__tidegate_"
_NUMBERS = count(1)
#: How many types of expressions are cached from step to step.
_REMEMBERED = 4096
_TEMPORARY = f"SELECT table_name FROM duckdb_tables() WHERE temporary AND starts_with(table_name, '{_PREFIX}')"
_ROUND = '"__round"'
#: Joins of which each row comes from one row of the first table.
_BY_FIRST = ("JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN")


class LocalBackend:
    """A connection to DuckDB."""

    refusals: tuple[type[Exception], ...] = (duckdb.Error,)

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._made: dict[Any, Any] = {}
        #: Objects registered by name in this connection only, which other connections do not see.
        self._registered: dict[str, Any] = {}
        #: Other connections to the same DuckDB that compute something for this one.
        self._others: list[duckdb.DuckDBPyConnection] = []

    @cached_property
    def threads(self) -> int:
        """How many cores DuckDB uses."""
        ((found,),) = self.connection.execute("SELECT current_setting('threads')").fetchall()
        return int(found)

    @contextmanager
    def another_connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open another connection to the same DuckDB, so that two queries can run at the same time."""
        own = utc_cursor(self.connection)
        self._others.append(own)
        try:
            yield own
        finally:
            self._others.remove(own)
            own.close()

    def interrupt(self) -> None:
        """Interrupt what is being computed. This may be called from another thread, also when all is closed."""
        for connection in (self.connection, *self._others):
            with suppress(duckdb.ConnectionException):
                connection.interrupt()

    # How relations are made.

    def rows(self, batches: Sequence[pa.RecordBatch], columns: Sequence[Column]) -> LocalRelation:
        """Return rows of Arrow data as a relation."""
        schema = pa.schema(
            [pa.field(c.name, pa.null() if c.type == "VOID" else arrow_type(c.type or "")) for c in columns]
        )
        tables = [pa.Table.from_batches([batch]).select(schema.names).cast(schema) for batch in batches]
        return self.table(pa.concat_tables(tables) if tables else schema.empty_table(), columns)

    def table(self, rows: Any, columns: Sequence[Column]) -> LocalRelation:
        """Return anything that DuckDB can read, as a relation with declared columns."""
        name = self.fresh_name()
        self.register(name, rows)
        return self._read(name, columns)

    def register(self, name: str, rows: Any) -> None:
        """Register anything that DuckDB can read under a name."""
        self.connection.register(name, rows)
        self._registered[name] = rows

    def nothing(self, shape: tuple[Column, ...]) -> LocalRelation:
        """Return an empty relation of a shape."""
        nulls = [f"{_null(c.type)} AS {duckdb_name(c.name)}" for c in shape]
        return LocalRelation(self, self.fresh_name(), f"SELECT {', '.join(nulls)} WHERE false", tuple(shape))

    def _read(self, name: str, columns: Sequence[Column]) -> LocalRelation:
        picked, own = ", ".join(duckdb_name(c.name) for c in columns), self.fresh_name()
        return LocalRelation(self, own, f"SELECT {picked or NO_COLUMN} FROM {name}", tuple(columns), base=own)

    # How they are computed.

    def run(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query, lazily."""
        return self.connection.sql(sql)

    def result(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query, lazily, on its own connection, so that several can be read at the same time."""
        own = utc_cursor(self.connection)
        held = {name for (name,) in self.connection.execute(_TEMPORARY).fetchall()}
        for name in dict.fromkeys(re.findall(rf"\b{_PREFIX}\d+\b", sql)):
            if name in held:
                # Registered tables are visible in one connection only.
                own.register(name, self.connection.sql(f"SELECT * FROM {name}").to_arrow_table())
            elif name in self._registered:
                own.register(name, self._registered[name])
        return own.sql(sql)

    def fresh_name(self) -> str:
        """Return a name that is unique in all connections of this process."""
        return f"{_PREFIX}{next(_NUMBERS)}"

    def scope(self, rows: LocalRelation) -> TranslationScope:
        """Return the scope of expressions over the columns of a relation."""
        return TranslationScope({"": _types_of(rows)}, self._type_of)

    def _type_of(self, text: str, tables: Mapping[str, Mapping[str, str | None]]) -> str:
        """Return the type that DuckDB finds for an expression, on no rows."""
        known = tuple((alias, *columns.items()) for alias, columns in tables.items())
        return self.once(("type", text, known), lambda: self._described(text, tables))

    def _described(self, text: str, tables: Mapping[str, Mapping[str, str | None]]) -> str:
        empty = []
        for alias, columns in tables.items():
            nulls = ", ".join(f"{_null(type_)} AS {duckdb_name(name)}" for name, type_ in columns.items())
            empty.append(f"(SELECT {nulls or '1'})" + (f" AS {duckdb_name(alias)}" if alias else ""))
        return spark_type(str(self.connection.sql(f"SELECT {text} AS x FROM {', '.join(empty)} LIMIT 0").types[0]))

    def pairs(
        self,
        tables: Mapping[str, LocalRelation],
        conditions: Sequence[str | None],
        how: Sequence[str],
        where: str | None,
        columns: Mapping[str, str],
        types: Mapping[str, str | None] = MappingProxyType({}),
    ) -> LocalRelation:
        """Return the join of tables, each joined to those before it.

        ``conditions`` and ``how`` have the condition and the kind of each join, in the order of the tables.
        """
        tables, (*found, filter_) = hoisted(tables, [*conditions, where])
        scope = TranslationScope({alias: _types_of(rows) for alias, rows in tables.items()}, self._type_of)
        picked = {name: scope.typed(sql, types.get(name)) for name, sql in columns.items()}
        first, *others = (f"{rows.name} AS {duckdb_name(alias)}" for alias, rows in tables.items())
        parts = [first]
        for table, on, kind in zip(others, found, how, strict=True):
            parts.append(f"{kind} {table} ON {in_join(kind, on.sql(scope.condition), ranged=on.ranged)}")
        texts = ", ".join(f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in picked.items())
        body = f"SELECT {texts} FROM {' '.join(parts)}"
        body += f" WHERE {filter_.sql(scope.condition)}" if where else ""
        lookup = None
        if where is None and list(how) == ["JOIN"]:
            lookup = lookup_pairs(tables, found[0], found[0].sql(scope.condition), columns, picked)
        return LocalRelation(
            self,
            self.fresh_name(),
            body,
            tuple(Column(name, type_) for name, (_, type_) in picked.items()),
            tuple(dict.fromkeys(tables.values())),
            lookup,
            _divisible(list(tables.values()), how),
        )

    # The protocol.

    def refused(self, operator: PlanOperator, inputs: Sequence[Relation], error: Exception) -> FlowError:  # noqa: ARG002
        """Return the error for an operator that DuckDB refuses."""
        return BadExpression(f"DuckDB refuses {operator.verb}: {str(error).splitlines()[0]}")

    def quiet(self) -> AbstractContextManager[None]:
        """Do nothing: DuckDB prints no errors."""
        return nullcontext()

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value for a key; it is made the first time only."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def in_rounds(self) -> AbstractContextManager[None]:
        """Do nothing: small computations need no other settings."""
        return nullcontext()

    def held(self, rows: Relation) -> str:
        """Compute rows into a table, and return its name. The table exists until it is dropped."""
        return self.held_rows(rows)[0]

    def held_rows(self, rows: Relation) -> tuple[str, int]:
        """Compute rows into a table; return its name and the number of rows."""
        name = self.fresh_name()
        found = self.connection.execute(f"CREATE TEMP TABLE {name} AS {local(rows).sql}").fetchone()
        return name, int(found[0]) if found else 0

    def table_rows(self, name: str, columns: Sequence[Column]) -> LocalRelation:
        """Return the rows of a table that was made here."""
        return self._read(name, columns)

    def copied(self, rows: LocalRelation, columns: str, target: str) -> int:
        """Write some columns of rows to a Parquet file; return how many rows there are."""
        query = self._picked(rows, columns)
        found = self.connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet)").fetchone()
        return int(found[0]) if found else 0

    def picked(self, rows: LocalRelation, columns: str, *, most: int | None) -> duckdb.DuckDBPyRelation:
        """Return some columns of rows, lazily, and at most ``most`` rows."""
        return self.run(self._picked(rows, columns) + ("" if most is None else f" LIMIT {most}"))

    def fetched(self, rows: LocalRelation, columns: str, *, most: int) -> list[tuple[Any, ...]]:
        """Return some columns of rows as Python values, and at most ``most`` rows."""
        return self.connection.execute(f"{self._picked(rows, columns)} LIMIT {most}").fetchall()

    def _picked(self, rows: LocalRelation, columns: str) -> str:
        return self.with_columns_as(rows, columns).sql

    def with_columns_as(self, rows: LocalRelation, columns: str) -> LocalRelation:
        """Return rows with the SELECT list ``columns``, which is DuckDB's SQL."""
        body = f"SELECT {columns} FROM {rows.name}"
        return LocalRelation(self, self.fresh_name(), body, rows.columns, (rows,), base=rows.base)

    def drop(self, name: str) -> None:
        """Drop a table that was made here."""
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")

    def hold(self, rows: pa.Table) -> str:
        """Register rows in memory, and return their name. It stays from step to step, until it is released."""
        name = self.fresh_name()
        self.connection.register(name, rows)
        return name

    def release(self, name: str) -> None:
        """Release rows that `hold` has registered."""
        self.connection.unregister(name)

    def release_all(self) -> None:
        """Release what was registered, and the cached types of expressions that no later step needs."""
        for name in self._registered:
            self.connection.unregister(name)
        self._registered.clear()
        if len(self._made) > _REMEMBERED:
            self._made = {key: made for key, made in self._made.items() if key[0] == "view"}

    def kept(self, rows: Relation, counts: Mapping[str, Call] = MappingProxyType({})) -> ComputedRows:
        """Return rows, computed into a table. It is dropped when they are released."""
        name = self.held(rows)
        held = self._read(name, rows.columns)
        seen = held.group({}, {"rows": call("count", "*"), **counts}).few()
        return ComputedRows(held, lambda: self.drop(name), seen[0] if seen else {"rows": 0, **_of_none(counts)})

    def watched(self, rows: Relation, calls: Mapping[str, Call]) -> tuple[Relation, Callable[[], Mapping[str, Any]]]:
        """Return the same rows, and a function that computes the calls over them."""
        return rows, lambda: next(iter(self._observed(Measurement(rows, calls))), _of_none(calls))

    def observed(self, measurements: Mapping[str, Measurement]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the result rows of each measurement, by its name. They are computed one after the other."""
        return {name: self._observed(one) for name, one in measurements.items()}

    def _observed(self, measurement: Measurement) -> list[Mapping[str, Any]]:
        keys = {"__part": measurement.apart[0]} if measurement.apart else {}
        found = local(measurement.rows.group(keys, measurement.calls)).few()
        return [row | {"part": _key_text(row.get("__part"))} for row in found]

    def numbered(self, rows: Relation, name: str) -> LocalRelation:
        """Return the rows, each with a unique number."""
        return local(rows).numbered(name)

    def kept_few(self, rows: Relation, counts: Mapping[str, Call], *, at_most: int) -> ComputedRows | None:
        """Return a few rows, computed; None if there are more than ``at_most``."""
        kept = self.kept(rows, counts)
        if kept.size <= at_most:
            return kept
        kept.release()
        return None

    def combined(self, below: ComputedRows | None, top: ComputedRows) -> ComputedRows:
        """Return the rows of two `ComputedRows` as one, and release the first."""
        if below is None:
            return self.kept(top.rows)
        both = self.kept(below.rows.union(top.rows))
        below.release()
        return both

    def repeated(
        self,
        begun: Relation,
        step: Callable[[Relation, Relation], Relation],
        key: Sequence[str],
        *,
        rounds: int,
        at_most: int,
    ) -> ComputedRows | None:
        """Return the rows of all rounds, computed by a recursive query.

        In it, its own name stands for the rows of the last round, and ``recurring`` has all rows so far.
        """
        first, name, number = local(begun), self.fresh_name(), self.fresh_name()
        columns = ", ".join(duckdb_name(c.name) for c in first.columns)
        going_on = f"HAVING count(*) <= {at_most} AND max({_ROUND}) < {rounds}"
        this = LocalRelation(self, number, f"SELECT max({_ROUND}) + 1 AS {_ROUND} FROM {name} {going_on}", ())
        # If this round has no number, nothing is read, and the query ends.
        read = f"SELECT {columns} FROM {name} SEMI JOIN {number} ON true"
        last = LocalRelation(self, self.fresh_name(), read, first.columns, (this,))
        then = local(step(last, LocalRelation(self, f"recurring.{name}", "", first.columns)))
        if then.columns != first.columns:
            return None
        numbered = f"SELECT * FROM {then.name} CROSS JOIN {number}"
        again = LocalRelation(self, self.fresh_name(), numbered, (), (then, this))
        query = f"{name}({columns}, {_ROUND}) USING KEY ({', '.join(map(duckdb_name, key))})"
        rows = f"(SELECT *, 0 FROM ({first.sql})) UNION ({again.sql})"
        body = f"WITH RECURSIVE {query} AS ({rows}) SELECT * FROM {name}"
        return self.kept(LocalRelation(self, self.fresh_name(), body, (*first.columns, Column("__round", "INT"))))

    def cached(self, rows: Relation) -> ComputedRows:
        """Return rows that are computed once, because they are read more than once."""
        return self.kept(rows)

    def query(
        self, query: Query, tables: Mapping[str, Relation], views: Mapping[str, str] = MappingProxyType({})
    ) -> LocalRelation:
        """Return the result of any SQL query on tables."""
        given = {name: local(tables[name]) for name in query.relations if name not in views}
        read = {**views, **{name: rows.name for name, rows in given.items()}}
        columns = {rows.name: rows.columns for rows in given.values()}
        columns |= {view: self._made["view", view] for view in views.values()}
        text = translated_query(query, read, columns)
        parents = tuple(given.values())
        whole = LocalRelation(self, self.fresh_name(), f"SELECT * FROM ({text})", (), parents)
        described = self.run(whole.sql)
        known = {c.name: c.type for c in query.columns}
        columns_of = zip(described.columns, described.types, strict=True)
        typed = tuple(Column(name, known.get(name) or spark_type(str(type_))) for name, type_ in columns_of)
        names = [(duckdb_name(c.name), duckdb_type(c.type or "")) for c in typed]
        casts = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in names)
        return LocalRelation(
            self, self.fresh_name(), f"SELECT {casts or NO_COLUMN} FROM ({text})", typed, whole.parents
        )

    @contextmanager
    def views(self, tables: Mapping[str, Relation]) -> Iterator[Mapping[str, str]]:
        """Give relations names that queries can use."""
        held = {name: self.kept(rows) for name, rows in tables.items()}
        names = {}
        for name, kept in held.items():
            table = local(kept.rows).body.rpartition(" ")[2]
            self._made["view", table] = kept.rows.columns
            names[name] = table
        try:
            yield names
        finally:
            for name, kept in held.items():
                self._made.pop(("view", names.get(name)), None)
                kept.release()

    def joined(
        self,
        tables: Mapping[str, Relation],
        joins: Sequence[str | None],
        where: str | None,
        columns: Mapping[str, tuple[str, str | None]],
    ) -> LocalRelation:
        """Return the join of several tables."""
        given = {alias: local(rows) for alias, rows in tables.items()}
        texts = {name: sql for name, (sql, _) in columns.items()}
        types = {name: type_ for name, (_, type_) in columns.items()}
        return self.pairs(given, joins, ["JOIN"] * len(joins), where, texts, types)


def _divisible(tables: Sequence[LocalRelation], how: Sequence[str]) -> str | None:
    """Return the base of a join: that of its first table, or that table; None if a row may come of several of its rows.

    A table that is joined with itself is no base, but with hoisted columns it may be.
    """
    first, *others = tables
    if not all(kind in _BY_FIRST for kind in how):
        return None
    bases = (name for name in (first.base, first.name) if name and not any(rows.reads(name) for rows in others))
    return next(bases, None)


def _null(type_: str | None) -> str:
    return "NULL" if type_ in (None, "VOID") else f"CAST(NULL AS {duckdb_type(type_)})"


def _types_of(rows: LocalRelation) -> dict[str, str | None]:
    return {column.name: column.type for column in rows.columns}


def _of_none(calls: Mapping[str, Call]) -> dict[str, Any]:
    """Return the results of calls over no rows."""
    return {name: 0 if one.function.startswith("count") else None for name, one in calls.items()}


def _key_text(value: Any) -> str | None:
    """Return a text that is different for different values; None for NULL."""
    return value if value is None or isinstance(value, str) else repr(value)
