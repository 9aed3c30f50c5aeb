"""Relations on DuckDB: one SELECT each, over others that it names; a query has them all, as it were a chain of CTEs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.calls import WINDOW_FUNCTIONS, call
from tidegate.engine.functions import ORDER
from tidegate.engine.relation import Batches, Call, Groups, as_they_are
from tidegate.flow.arrow import arrow_type
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import FRACTIONS, quoted
from tidegate.flow.translate import duckdb_name, duckdb_type
from tidegate.local_engine.expressions import Scope, compared
from tidegate.local_engine.types import zoned

if TYPE_CHECKING:
    from tidegate.engine.relation import Relation
    from tidegate.local_engine.backend import LocalBackend
    from tidegate.local_engine.lookups import LookupPairs

__all__ = ["NO_COLUMN", "LocalRelation", "local"]

#: What is selected where there are no columns: DuckDB has no rows without any.
NO_COLUMN = '1 AS "__none"'

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
_JOINS |= {"semi": "SEMI JOIN", "anti": "ANTI JOIN"}
_SO_FAR = " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@dataclass(frozen=True, eq=False)
class LocalRelation:
    """Rows of a SELECT; ``name`` is what others call it, and it calls its ``parents`` by their names.

    What has no body is defined by the query around it.
    """

    backend: LocalBackend
    name: str
    body: str
    columns: tuple[Column, ...]
    parents: tuple[LocalRelation, ...] = ()
    #: The same rows, if some of their columns can be looked up when they are written.
    lookup: LookupPairs | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]

    @property
    def shape(self) -> tuple[Column, ...]:
        """Return the columns."""
        return self.columns

    @property
    def order(self) -> list[str]:
        """Return what rows are sorted by."""
        return [quoted(name) for name in self.names]

    @property
    def sql(self) -> str:
        """Return all of the query."""
        needed: dict[str, str] = {}
        self._collect(needed)
        *others, last = needed.values()
        if not others:
            return last
        named = ", ".join(f"{name} AS ({body})" for name, body in list(needed.items())[:-1])
        return f"WITH {named} {last}"

    def _collect(self, needed: dict[str, str]) -> None:
        pending: list[tuple[LocalRelation, bool]] = [(self, False)]
        while pending:
            relation, ready = pending.pop()
            if relation.name in needed or not relation.body:
                continue
            if ready:
                needed[relation.name] = relation.body
                continue
            pending.append((relation, True))
            pending += [(parent, False) for parent in reversed(relation.parents)]

    # The protocol.

    def select(self, columns: Mapping[str, str]) -> LocalRelation:
        """Return rows of these columns alone."""
        scope = self._scope()
        return self._made({name: scope.typed(sql) for name, sql in columns.items()})._with_lookup_of(self, columns)

    def with_columns(self, columns: Mapping[str, str], *, like: tuple[Column, ...] | None = None) -> LocalRelation:
        """Return rows with more columns, or others."""
        scope, types = self._scope(), _types(like)
        made = self._replaced({name: scope.typed(sql, types.get(name)) for name, sql in columns.items()})
        return made if like else made._with_lookup_of(self, as_they_are(self.names) | dict(columns))

    def without(self, *names: str) -> LocalRelation:
        """Return rows without some columns."""
        return self.select(as_they_are([name for name in self.names if name not in names]))

    def where(self, condition: str) -> LocalRelation:
        """Return the rows that satisfy a condition."""
        found = self._new(f"SELECT * FROM {self.name} WHERE {self._scope().condition(condition)}", self.columns)
        return replace(found, lookup=self.lookup.where(condition)) if self.lookup else found

    def group(
        self,
        keys: Mapping[str, str],
        calls: Mapping[str, Call],
        *,
        order: Sequence[str] | None = None,
        like: tuple[Column, ...] | None = None,
    ) -> LocalRelation:
        """Return one row for each group of rows with equal keys."""
        rows, calls = self._with_keys(calls)
        scope, types = rows._scope(), _types(like)
        groups = {name: _as_key(*scope.typed(sql)) for name, sql in keys.items()}
        found = {name: scope.call(one, order=order, like=types.get(name)) for name, one in calls.items()}
        numbers = ", ".join(str(i + 1) for i in range(len(groups)))
        end = f"GROUP BY {numbers}" if groups else "HAVING count(*) > 0"
        return rows._made(groups | found, end)

    def gather(self, keys: Sequence[str], calls: Mapping[str, Call]) -> LocalRelation:
        """Group by columns, to list rows."""
        return self.group(as_they_are(keys), calls)

    def over(
        self,
        calls: Mapping[str, Call],
        by: Sequence[str],
        order: Sequence[str] = (),
        *,
        so_far: bool = False,
        descending: bool | Sequence[bool] = False,
        ties: Sequence[str] | None = None,
        like: tuple[Column, ...] | None = None,
    ) -> LocalRelation:
        """Return rows with columns that are calls over others."""
        rows, calls = self._with_keys(calls)
        scope, types = rows._scope(), _types(like)
        parts = [f"PARTITION BY {', '.join(scope.scalar(sql)[0] for sql in by)}"] if by else []
        parts += [f"ORDER BY {scope.sorted_by(order, descending=descending)}"] if order else []
        window = " ".join(parts)
        found = {}
        for name, given in calls.items():
            # The number of a row is how many there are up to it, and DuckDB finds it sooner.
            counts = so_far and given.sql == "count(*)"
            one = replace(call("row_number"), type="BIGINT") if counts else given
            frame = _SO_FAR if so_far and one.function not in WINDOW_FUNCTIONS else ""
            over = f" OVER ({window}{frame})"
            found[name] = scope.call(one, order=ties, over=over, like=types.get(name))
        own = {column.name: (duckdb_name(column.name), column.type or "") for column in self.columns}
        return rows._made(own | found)

    def explode(self, name: str, array: str) -> LocalRelation:
        """Return a row for each element of an array."""
        text, type_ = self._scope().scalar(array)
        return self._replaced({name: (f"unnest({text})", type_.removeprefix("ARRAY<").removesuffix(">"))})

    def join(
        self, other: Relation, on: str, how: str = "inner", columns: Mapping[str, str] | None = None
    ) -> LocalRelation:
        """Return pairs of rows that satisfy a condition."""
        right = local(other)
        if columns is None:
            names = self.names if how in ("semi", "anti") else [*self.names, *right.names]
            columns = as_they_are(names)
        return self.backend.pairs({"left": self, "right": right}, [on], [_JOINS[how]], None, columns)

    def as_of(self, other: Relation, keys: Sequence[str], at: str, carried: str, order: Sequence[str]) -> LocalRelation:
        """Join as DuckDB does, which takes one row of several at one time: so there is one, the greatest."""
        places = as_they_are([*keys, at])
        once = local(other).group(places, {carried: call("last", carried)}, order=order)
        equal = [f"l.{duckdb_name(name)} = r.{duckdb_name(name)}" for name in keys]
        on = " AND ".join([*equal, f"l.{duckdb_name(at)} >= r.{duckdb_name(at)}"])
        body = f"SELECT l.*, r.{duckdb_name(carried)} FROM {self.name} AS l ASOF LEFT JOIN {once.name} AS r ON {on}"
        found = next(column for column in once.columns if column.name == carried)
        return self._new(body, (*self.columns, found), once)

    def union(self, other: Relation, *, fill: bool = False) -> LocalRelation:
        """Return the rows of both."""
        right = local(other)
        # Names that differ in their case are the same, as everywhere.
        spelled = {name.lower(): name for name in self.names}
        right = right.renamed({name: spelled.get(name.lower(), name) for name in right.names})
        names = [*self.names, *(name for name in right.names if fill and name not in self.names)]
        mine, theirs = ({column.name: column for column in side.columns} for side in (self, right))
        columns = tuple(mine[name] if name in mine and mine[name].type != "VOID" else theirs[name] for name in names)
        sides = []
        for side, own in ((self, mine), (right, theirs)):
            picked = [
                duckdb_name(c.name)
                if c.name in own
                else f"CAST(NULL AS {duckdb_type(c.type or '')}) AS {duckdb_name(c.name)}"
                for c in columns
            ]
            sides.append(f"SELECT {', '.join(picked)} FROM {side.name}")
        return self._new(" UNION ALL ".join(sides), columns, right)

    def distinct(self) -> LocalRelation:
        """Return each row once."""
        own = [(c.name, _as_key(duckdb_name(c.name), c.type or "")[0]) for c in self.columns]
        picked = ", ".join(f"{sql} AS {duckdb_name(name)}" for name, sql in own) or NO_COLUMN
        return self._new(f"SELECT DISTINCT {picked} FROM {self.name}", self.columns)

    def renamed(self, names: Mapping[str, str]) -> LocalRelation:
        """Return the rows with other names for some columns."""
        same = all(name == new for name, new in names.items())
        return self if same else self.select({names.get(name, name): quoted(name) for name in self.names})

    def map_arrow(
        self, function: Batches, columns: Sequence[Column], same: Sequence[str] = (), *, by: Sequence[str] | None = None
    ) -> LocalRelation:
        """Return what a function makes of batches of rows; this computes it."""
        rows = self if by is None else self._arranged(by)
        own = {column.name: column for column in self.columns}
        return self.backend.rows(list(function(iter(rows.fetch().to_batches()))), [*(own[n] for n in same), *columns])

    def apply_arrow(self, keys: Sequence[str], function: Groups, columns: Sequence[Column]) -> LocalRelation:
        """Return what a function makes of each group; this computes it."""
        own = {column.name: column for column in self.columns}
        answers = [batch for group in _groups(self._arranged(keys).fetch()) for batch in function(group).to_batches()]
        return self.backend.rows(answers, [*(own[name] for name in keys), *columns])

    def numbered(self, name: str) -> LocalRelation:
        """Return rows with a number of their own each."""
        number = f"row_number() OVER () AS {duckdb_name(name)}"
        return self._new(f"SELECT *, {number} FROM {self.name}", (*self.columns, Column(name, "BIGINT")))

    def together(self, keys: Sequence[str]) -> LocalRelation:  # noqa: ARG002
        """Return the same rows: they are all in one place."""
        return self

    def small(self) -> LocalRelation:
        """Return the same rows: DuckDB counts them itself."""
        return self

    def fetch(self) -> pa.Table:
        """Return all rows."""
        table = self.backend.run(self.sql).to_arrow_table()
        arrays = [
            column if c.type == "VOID" else column.cast(arrow_type(c.type or ""))
            for column, c in zip(table.columns, self.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=self.names).combine_chunks()

    def few(self) -> list[dict[str, Any]]:
        """Return all rows, which are few, as Python has them: this is faster than by way of Arrow."""
        found = self.backend.connection.execute(self.sql).fetchall()
        return [dict(zip(self.names, row, strict=True)) for row in found]

    def result(self) -> duckdb.DuckDBPyRelation:
        """Return the rows as users get them, lazily, on a connection of their own: instants have a zone."""
        names = [(duckdb_name(c.name), c.type or "") for c in self.columns]
        picked = ", ".join(f"{zoned(name, type_)} AS {name}" for name, type_ in names) or NO_COLUMN
        return self.backend.result(self._new(f"SELECT {picked} FROM {self.name}", self.columns).sql)

    # How relations are made of each other.

    def _with_lookup_of(self, before: LocalRelation, columns: Mapping[str, str]) -> LocalRelation:
        """Return these rows, which are columns of others, so that what those look up late, these do."""
        return replace(self, lookup=before.lookup.select(columns)) if before.lookup else self

    def _scope(self) -> Scope:
        return self.backend.scope(self)

    def _with_keys(self, calls: Mapping[str, Call]) -> tuple[LocalRelation, dict[str, Call]]:
        """Return the rows with columns for nested values by which calls compare rows, and the calls on these.

        A value that is compared is written many times: once for each of its fields.
        """
        nested: dict[str, str] = {}
        found = dict(calls)
        for name, one in calls.items():
            by = compared(one)
            if by is not None and by not in self.names and self._scope().scalar(by)[1].startswith(("STRUCT", "ARRAY")):
                column = nested.setdefault(by, f"__by{len(nested)}")
                arguments = tuple(column if argument == by else argument for argument in one.arguments)
                found[name] = replace(one, arguments=arguments)
        return self.with_columns({column: by for by, column in nested.items()}), found

    def _arranged(self, by: Sequence[str]) -> LocalRelation:
        order = ", ".join(duckdb_name(name) for name in (*by, ORDER))
        return self._new(f"SELECT * FROM {self.name} ORDER BY {order}", self.columns)

    def _made(self, columns: Mapping[str, tuple[str, str]], end: str = "") -> LocalRelation:
        picked = ", ".join(f"{sql} AS {duckdb_name(name)}" for name, (sql, _) in columns.items())
        # Rows without columns are rows all the same.
        return self._new(
            f"SELECT {picked or NO_COLUMN} FROM {self.name} {end}".rstrip(),
            tuple(Column(name, type_) for name, (_, type_) in columns.items()),
        )

    def _replaced(self, columns: Mapping[str, tuple[str, str]]) -> LocalRelation:
        own = {c.name: (duckdb_name(c.name), c.type or "") for c in self.columns}
        return self._made(own | dict(columns)) if columns else self

    def _new(self, body: str, columns: tuple[Column, ...], *others: LocalRelation) -> LocalRelation:
        return LocalRelation(self.backend, self.backend.fresh_name(), body, columns, (self, *others))


def _as_key(sql: str, type_: str) -> tuple[str, str]:
    """Return a value to group by: as in Spark, -0.0 is 0.0."""
    return (f"CAST({sql} + 0 AS {type_})" if type_ in FRACTIONS else sql), type_


def local(relation: Relation) -> LocalRelation:
    """Return a relation of this backend; those of different backends never meet."""
    assert isinstance(relation, LocalRelation), "a relation of another backend"
    return relation


def _types(like: tuple[Column, ...] | None) -> dict[str, str]:
    return {column.name: column.type or "" for column in like or ()}


def _groups(rows: pa.Table) -> Iterator[pa.Table]:
    """Return the rows of each group; in each, they are numbered from 1."""
    starts = pc.indices_nonzero(pc.equal(rows.column(ORDER), 1)).to_pylist()
    for start, end in pairwise([*starts, rows.num_rows]):
        yield rows.slice(start, end - start)
