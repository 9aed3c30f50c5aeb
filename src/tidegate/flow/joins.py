"""What two streams must have in common to be united or joined, and what columns result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.arguments import names_of, one_of
from tidegate.flow.building import Building
from tidegate.flow.errors import BadArgument, BadTime, ColumnClash, TimesDiffer
from tidegate.flow.expressions import Expression, Scope, bind
from tidegate.flow.schema import Column, Schema, distinct_names

__all__ = ["HOW", "Sides", "check_times", "check_union"]

HOW = ("inner", "left", "right", "full", "semi", "anti")
_SYNONYMS = {
    "leftouter": "left",
    "rightouter": "right",
    "outer": "full",
    "fullouter": "full",
    "leftsemi": "semi",
    "leftanti": "anti",
}


def check_times(left: Building, right: Building) -> None:
    """Raise `TimesDiffer` unless both have the same time columns, of the same types."""
    if left.schema.times == right.schema.times:
        return
    shown = [", ".join(map(str, s.schema.times)) or "none: it is a table" for s in (left, right)]
    hint = "name and type the time columns alike where the sources are declared: a stream cannot change its time"
    if not right.schema.time or not left.schema.time:
        hint = "a table has no time; join the stream with it"
    raise TimesDiffer(
        f"expected two streams with the same time columns, got\n  {left.id}: {shown[0]}\n  {right.id}: {shown[1]}",
        hint=hint,
    )


def check_union(left: Building, right: Building) -> None:
    """Raise unless both have the same columns, of the same types; the error says the `select` to use."""
    check_times(left, right)
    expected, got = left.schema, right.schema
    missing = [c for c in expected.columns if c.name not in got]
    extra = [c for c in got.columns if c.name not in expected]
    differ = [(c, got[c.name]) for c in expected.columns if c.name in got and _differ(c, got[c.name])]
    if not (missing or extra or differ):
        return
    lines = [f"{right.id} lacks {c}" for c in missing] + [f"{left.id} lacks {c}" for c in extra]
    lines += [f"{a.name} is {a.type} in {left.id} and {b.type} in {right.id}" for a, b in differ]
    columns = []
    for column in expected.data:
        if column.name not in got:
            columns.append(f'"CAST(NULL AS {column.type or "STRING"}) AS {sqltypes.quoted(column.name)}"')
        elif any(column is a for a, _ in differ):
            columns.append(f'"CAST({sqltypes.quoted(column.name)} AS {column.type}) AS {sqltypes.quoted(column.name)}"')
        else:
            columns.append(f'"{sqltypes.quoted(column.name)}"')
    raise ColumnClash(
        "expected two streams with the same columns, got\n  " + "\n  ".join(lines),
        hint=f"{right.id}.select({', '.join(columns)})",
    )


def _differ(a: Column, b: Column) -> bool:
    return a.type is not None and b.type is not None and a.type != b.type


@dataclass(frozen=True, slots=True)
class Sides:
    """Two inputs of a join, checked: what they join on, and the columns of the result."""

    left: Building
    right: Building
    on: tuple[str, ...]
    how: str
    with_table: bool
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]

    @classmethod
    def of(
        cls, left: Building, right: Building, on: Any, how: Any, *, allowed: tuple[str, ...] = HOW, tables: bool = False
    ) -> Sides:
        """Check the two sides; ``tables`` says that the right one may be a table."""
        kind = _how(how, allowed)
        with_table = tables and bool(left.schema.time) and not right.schema.time
        if with_table and kind in ("right", "full"):
            raise BadArgument(
                f"a {kind} join with the table {right.id} has no time for its rows that match nothing",
                hint='how="inner", "left", "semi" or "anti"',
            )
        if tables and right.schema.time and not left.schema.time:
            raise BadTime(
                f"expected a stream on the left, got the table {left.id}", hint=f"{right.id}.join({left.id}, …)"
            )
        if not with_table:
            check_times(left, right)
        names = tuple(_shared(name, left, right) for name in names_of(on, "on"))
        taken = {name.lower() for name in (*left.schema.time, *names)}
        left_columns = tuple(c.name for c in left.schema.columns if c.name.lower() not in taken)
        right_columns = tuple(c.name for c in right.schema.columns if c.name.lower() not in taken)
        if kind in ("semi", "anti"):
            right_columns = ()
        lower = {name.lower() for name in left_columns}
        clashes = [name for name in right_columns if name.lower() in lower]
        if clashes:
            renamed = [
                f"{sqltypes.quoted(c)} AS {sqltypes.quoted('right_' + c)}" if c in clashes else sqltypes.quoted(c)
                for c in (*names, *right_columns)
            ]
            raise ColumnClash(
                f"both sides have a column {', '.join(clashes)} that is not joined on",
                hint=f"{right.id}.select({', '.join(repr(c) for c in renamed)})",
            )
        return cls(left, right, names, kind, with_table, left_columns, right_columns)

    @property
    def schema(self) -> Schema:
        """The columns of the result: time, those joined on, the left ones, the right ones."""
        left, right = self.left.schema, self.right.schema
        joined = [Column(name, left[name].type or right[name].type) for name in self.on]
        columns = [*left.times, *joined, *(left[c] for c in self.left_columns), *(right[c] for c in self.right_columns)]
        return Schema(distinct_names(columns, hint="rename one with select(…)"), left.time)

    def condition(self, where: str | None) -> Expression | None:
        """Bind a condition on both sides, as ``left.x`` and ``right.x``."""
        if where is None:
            return None
        both = {c.name.lower(): c for c in (*self.left.schema.columns, *self.right.schema.columns)}
        scope = Scope(
            Schema(tuple(both.values())),
            sides=(("left", self.left.schema), ("right", self.right.schema)),
            shared=(*self.left.schema.time, *self.on),
        )
        bound = bind(where, scope, what="a condition")
        if bound.type not in ("BOOLEAN", None):
            raise BadArgument(f"expected a condition in where, got {bound.sql} of type {bound.type}")
        return bound


def _how(how: Any, allowed: tuple[str, ...]) -> str:
    plain = str(how).lower().replace("_", "").replace(" ", "")
    kind = _SYNONYMS.get(plain, plain)
    one_of(kind, "how", allowed)
    return kind


def _shared(name: Any, left: Building, right: Building) -> str:
    if not isinstance(name, str):
        raise BadArgument(f"expected the name of a column in on, got {name!r} ({type(name).__name__})")
    for side in (left, right):
        if name not in side.schema:
            raise side.schema.unknown(name).at(f"on of the {'left' if side is left else 'right'} side, {side.id}")
    a, b = left.schema[name], right.schema[name]
    if a.name in left.schema.time:
        raise BadArgument(f"times are equal anyhow, got the time column {a.name} in on", hint="leave it out")
    if _differ(a, b):
        raise BadArgument(
            f"expected {a.name} of one type on both sides, got {a.type} on the left and {b.type} on the right",
            hint=f'with_columns({a.name}="CAST({sqltypes.quoted(a.name)} AS …)") on one side',
        )
    return a.name
