"""Relations on DuckDB. Each is one SELECT, which names the relations that it reads; these become CTEs of the query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from tidegate.local_engine.expressions import TranslationScope, compared
from tidegate.local_engine.types import zoned

if TYPE_CHECKING:
    from tidegate.engine.relation import Relation
    from tidegate.local_engine.backend import LocalBackend
    from tidegate.local_engine.lookups import LookupPairs

__all__ = ["NO_COLUMN", "LocalRelation", "local"]

#: The SELECT list of a relation without columns: in DuckDB, every row has a column.
NO_COLUMN = '1 AS "__none"'

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
_JOINS |= {"semi": "SEMI JOIN", "anti": "ANTI JOIN"}
_SO_FAR = " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@dataclass(frozen=True, eq=False)
class LocalRelation:
    """The rows of a SELECT. Nothing is computed before they are fetched or written.

    The methods are those of the protocol `Relation`, which says what they do. Docstrings here only add what is special
    to DuckDB.
    """

    backend: LocalBackend
    #: The name by which other relations read this one.
    name: str
    #: The SELECT. It is empty if the query around it defines the name.
    body: str
    columns: tuple[Column, ...]
    #: The relations that the SELECT reads.
    parents: tuple[LocalRelation, ...] = ()
    #: The same rows as row numbers, if strings can be looked up when they are written; see `lookups`.
    lookup: LookupPairs | None = None
    #: The name of a relation that this one reads once, and of which each row here comes from one row; see `divided`.
    base: str | None = None
    #: If this is a union, the relations that it has the rows of, one after the other; each may be written by itself.
    pieces: tuple[LocalRelation, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def shape(self) -> tuple[Column, ...]:
        """The columns, which are the shape here."""
        return self.columns

    @property
    def order(self) -> list[str]:
        """The expressions that sort rows by all columns in turn."""
        return [quoted(name) for name in self.names]

    @property
    def sql(self) -> str:
        """The whole query: the SELECT, after a WITH clause that defines all relations that it needs."""
        return self.sql_with({})

    def sql_with(self, bodies: Mapping[str, str]) -> str:
        """Return the whole query, with other SELECTs for some relations, by name; what only those read is left out."""
        *others, last = self._needed(bodies).items()
        named = ", ".join(f"{name} AS ({bodies.get(name, relation.body)})" for name, relation in others)
        own = bodies.get(last[0], last[1].body)
        return f"WITH {named} {own}" if named else own

    def leaves(self) -> tuple[LocalRelation, list[LocalRelation]]:
        """Return the base, and the other relations without parents that this one reads."""
        assert self.base is not None
        needed = self._needed({self.base: ""})
        others = [found for found in needed.values() if not found.parents and found.name != self.base]
        return needed[self.base], others

    def reads(self, name: str) -> bool:
        """Whether a relation of this name is among those that this one reads, or is this one."""
        return name in self._needed({})

    def _needed(self, given: Collection[str]) -> dict[str, LocalRelation]:
        """Return the relations that a query has to define, by name: each after those that it reads, this one last.

        What only those read whose names are ``given`` is left out.
        """
        needed: dict[str, LocalRelation] = {}
        pending: list[tuple[LocalRelation, bool]] = [(self, False)]
        while pending:
            relation, ready = pending.pop()
            if relation.name in needed or not relation.body:
                continue
            if ready or relation.name in given:
                needed[relation.name] = relation
                continue
            pending.append((relation, True))
            pending += [(parent, False) for parent in reversed(relation.parents)]
        return needed

    # The protocol.

    def select(self, columns: Mapping[str, str]) -> LocalRelation:
        """Return the rows with these columns only."""
        typed = self._scope().all_typed(columns, {})
        made = self._reading(typed.levels)._made(typed.found)
        return made._row_by_row(self)._with_lookup_of(self, columns)

    def with_columns(self, columns: Mapping[str, str], *, like: tuple[Column, ...] | None = None) -> LocalRelation:
        """Return the rows with columns added or replaced. Those that are also in ``like`` get the types of these."""
        typed = self._scope().all_typed(columns, _types(like))
        made = self._reading(typed.levels)._made(self._own() | typed.found) if columns else self
        made = made._row_by_row(self)
        return made if like else made._with_lookup_of(self, as_they_are(self.names) | dict(columns))

    def without(self, *names: str) -> LocalRelation:
        """Return the rows without some columns."""
        return self.select(as_they_are([name for name in self.names if name not in names]))

    def where(self, condition: str) -> LocalRelation:
        """Return the rows that satisfy a condition."""
        found = self._new(f"SELECT * FROM {self.name} WHERE {self._scope().condition(condition)}", self.columns)
        found = found._row_by_row(self)
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
        """Return one row for each group, with its rows collected into lists."""
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
        """Return the rows with added columns, which are calls over windows."""
        rows, calls = self._with_keys(calls)
        scope, types = rows._scope(), _types(like)
        parts = [f"PARTITION BY {', '.join(scope.scalar(sql)[0] for sql in by)}"] if by else []
        parts += [f"ORDER BY {scope.sorted_by(order, descending=descending)}"] if order else []
        window = " ".join(parts)
        found = {}
        for name, given in calls.items():
            # A running count(*) is the number of the row, which DuckDB computes faster.
            counts = so_far and given.sql == "count(*)"
            one = replace(call("row_number"), type="BIGINT") if counts else given
            frame = _SO_FAR if so_far and one.function not in WINDOW_FUNCTIONS else ""
            over = f" OVER ({window}{frame})"
            found[name] = scope.call(one, order=ties, over=over, like=types.get(name))
        return rows._made(self._own() | found)

    def explode(self, name: str, array: str) -> LocalRelation:
        """Return a row for each element of an array."""
        text, type_ = self._scope().scalar(array)
        element = {name: (f"unnest({text})", type_.removeprefix("ARRAY<").removesuffix(">"))}
        return self._made(self._own() | element)._row_by_row(self)

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
        """Return the rows with the carried column, by DuckDB's ASOF JOIN.

        Of several rows at one time, DuckDB takes any. So it is given only the greatest.
        """
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
        # Column names are not case-sensitive.
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
        pieces = (*(self.pieces or (self,)), *(right.pieces or (right,)))
        # What is written piece by piece has to have the same columns in each.
        alike = all(piece.columns == columns for piece in pieces)
        return replace(self._new(" UNION ALL ".join(sides), columns, right), pieces=pieces if alike else ())

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
        """Return the result of a function on batches of rows. It is computed at once, in this thread."""
        rows = self if by is None else self._arranged(by)
        own = {column.name: column for column in self.columns}
        return self.backend.rows(list(function(iter(rows.fetch().to_batches()))), [*(own[n] for n in same), *columns])

    def apply_arrow(self, keys: Sequence[str], function: Groups, columns: Sequence[Column]) -> LocalRelation:
        """Return the result of a function on each group. It is computed at once, in this thread."""
        own = {column.name: column for column in self.columns}
        answers = [batch for group in _groups(self._arranged(keys).fetch()) for batch in function(group).to_batches()]
        return self.backend.rows(answers, [*(own[name] for name in keys), *columns])

    def numbered(self, name: str) -> LocalRelation:
        """Return the rows, each with a unique number from 1 on."""
        number = f"row_number() OVER () AS {duckdb_name(name)}"
        return self._new(f"SELECT *, {number} FROM {self.name}", (*self.columns, Column(name, "BIGINT")))

    def together(self, keys: Sequence[str]) -> LocalRelation:  # noqa: ARG002
        """Return the same rows: all are in one process."""
        return self

    def small(self) -> LocalRelation:
        """Return the same rows: DuckDB estimates their number itself."""
        return self

    def fetch(self) -> pa.Table:
        """Return all rows, computed, with Spark's types as Arrow has them."""
        table = self.backend.run(self.sql).to_arrow_table()
        arrays = [
            column if c.type == "VOID" else column.cast(arrow_type(c.type or ""))
            for column, c in zip(table.columns, self.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=self.names).combine_chunks()

    def few(self) -> list[dict[str, Any]]:
        """Return all rows, computed, as Python values. For a few rows, this is faster than Arrow."""
        found = self.backend.connection.execute(self.sql).fetchall()
        return [dict(zip(self.names, row, strict=True)) for row in found]

    def result(self) -> duckdb.DuckDBPyRelation:
        """Return the rows as users get them, lazily: timestamps have a time zone, and the connection is separate."""
        names = [(duckdb_name(c.name), c.type or "") for c in self.columns]
        picked = ", ".join(f"{zoned(name, type_)} AS {name}" for name, type_ in names) or NO_COLUMN
        return self.backend.result(self._new(f"SELECT {picked} FROM {self.name}", self.columns).sql)

    # How one relation is made from another.

    def _row_by_row(self, before: LocalRelation) -> LocalRelation:
        """Return this relation with the base of ``before``, from which it was made row by row."""
        return replace(self, base=before.base)

    def _with_lookup_of(self, before: LocalRelation, columns: Mapping[str, str]) -> LocalRelation:
        """Return this relation with the lookups of ``before``, from which it was made by selecting ``columns``."""
        return replace(self, lookup=before.lookup.select(columns)) if before.lookup else self

    def _scope(self) -> TranslationScope:
        return self.backend.scope(self)

    def _with_keys(self, calls: Mapping[str, Call]) -> tuple[LocalRelation, dict[str, Call]]:
        """Return the rows with added columns for nested values that calls compare, and the calls on those columns.

        The SQL that compares a nested value repeats the value for each of its fields. As a column, it is computed once.
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
        # Rows without columns still count.
        return self._new(
            f"SELECT {picked or NO_COLUMN} FROM {self.name} {end}".rstrip(),
            tuple(Column(name, type_) for name, (_, type_) in columns.items()),
        )

    def _reading(self, levels: Sequence[Mapping[str, str]]) -> LocalRelation:
        """Return the rows with columns that expressions read, in DuckDB's SQL, level by level."""
        rows = self
        for level in levels:
            added = ", ".join(f"{sql} AS {name}" for name, sql in level.items())
            rows = rows._new(f"SELECT *, {added} FROM {rows.name}", self.columns)
        return rows

    def _own(self) -> dict[str, tuple[str, str]]:
        return {column.name: (duckdb_name(column.name), column.type or "") for column in self.columns}

    def _new(self, body: str, columns: tuple[Column, ...], *others: LocalRelation) -> LocalRelation:
        return LocalRelation(self.backend, self.backend.fresh_name(), body, columns, (self, *others))


def _as_key(sql: str, type_: str) -> tuple[str, str]:
    """Return a value to group by, and its type. As in Spark, -0.0 and 0.0 are one group."""
    return (f"CAST({sql} + 0 AS {type_})" if type_ in FRACTIONS else sql), type_


def local(relation: Relation) -> LocalRelation:
    """Return a relation as one of this backend. Relations of different backends are never used together."""
    assert isinstance(relation, LocalRelation), "a relation of another backend"
    return relation


def _types(like: tuple[Column, ...] | None) -> dict[str, str]:
    return {column.name: column.type or "" for column in like or ()}


def _groups(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of each group. Groups come one after another, and the number 1 begins a new one."""
    starts = pc.indices_nonzero(pc.equal(rows.column(ORDER), 1)).to_pylist()
    for start, end in pairwise([*starts, rows.num_rows]):
        yield rows.slice(start, end - start)
