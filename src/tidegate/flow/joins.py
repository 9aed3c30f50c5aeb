"""Checks for union and joins: what two streams must have in common, and which columns the result has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tidegate.flow import sqltypes
from tidegate.flow.arguments import names_of, one_of
from tidegate.flow.building import LONGEST, Building, longest_span
from tidegate.flow.equations import LEFT, RIGHT, both_sides, columns_of_sides
from tidegate.flow.errors import BadArgument, BadExpression, BadSpan, BadTime, ColumnClash, TimesDiffer, pointed
from tidegate.flow.expressions import Expression, Parsed, Scope, bind, bound, is_parameter
from tidegate.flow.parser import place
from tidegate.flow.schema import Column, Schema, distinct_names
from tidegate.flow.spans import parse_span, show_span
from tidegate.flow.sql import Sql
from tidegate.flow.substitute import from_pack

if TYPE_CHECKING:
    from tidegate.flow.stream import Stream

__all__ = ["HOW", "Interval", "Sides", "check_times", "check_union", "over_interval"]

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
    if left.schema.times == right.schema.times and left.schema.ordering == right.schema.ordering:
        return
    shown = [_times_shown(s.schema) for s in (left, right)]
    hint = "name and type the time columns alike where the sources are declared: a stream cannot change its time"
    if not right.schema.time or not left.schema.time:
        hint = "a table has no time; join the stream with it"
    raise TimesDiffer(
        f"expected two streams with the same time columns, got\n  {left.id}: {shown[0]}\n  {right.id}: {shown[1]}",
        hint=hint,
    )


def _times_shown(schema: Schema) -> str:
    shown = ", ".join(map(str, schema.times)) or "none: it is a table"
    return f"{shown}, ordered by {schema.ordered.order!r}" if schema.ordered else shown


def check_union(left: Building, right: Building) -> None:
    """Raise unless both have the same columns, of the same types. The hint of the error is a `select` that helps."""
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
    #: The right column by left column, where ``on`` joins columns of different names. Conditions use the right names.
    called: Mapping[str, str]

    @classmethod
    def of(
        cls, left: Building, right: Building, on: Any, how: Any, *, allowed: tuple[str, ...] = HOW, tables: bool = False
    ) -> Sides:
        """Return the two sides of a join, or raise if they do not fit; with ``tables``, the right one may be a table.

        If ``on`` maps columns of the left side to columns of the right side, these get the names of the left ones.
        """
        kind = _how(how, allowed)
        called: Mapping[str, str] = {}
        theirs = right.schema
        if isinstance(on, Mapping):
            called = _called(left, right, on)
            new = {old: name for name, old in called.items()}
            theirs = theirs.of(Column(new.get(c.name, c.name), c.type) for c in theirs.columns)
            on = list(on)
        with_table = tables and bool(left.schema.time) and not right.schema.time
        if with_table and kind in ("right", "full"):
            raise BadArgument(
                f"a {kind} join with the table {right.id} is not possible: its rows without a match have no time",
                hint='how="inner", "left", "semi" or "anti"',
            )
        if tables and right.schema.time and not left.schema.time:
            raise BadTime(
                f"expected a stream on the left, got the table {left.id}", hint=f"{right.id}.join({left.id}, …)"
            )
        if not with_table:
            check_times(left, right)
        names = tuple(_shared(name, left, right, theirs) for name in names_of(on, "on"))
        taken = {name.lower() for name in (*left.schema.time, *names)}
        left_columns = tuple(c.name for c in left.schema.columns if c.name.lower() not in taken)
        right_columns = tuple(c.name for c in theirs.columns if c.name.lower() not in taken)
        if kind in ("semi", "anti"):
            right_columns = ()
        lower = {name.lower() for name in left_columns}
        clashes = [name for name in right_columns if name.lower() in lower]
        if clashes:
            renamed = [
                f"{sqltypes.quoted(c)} AS {sqltypes.quoted('right_' + c)}" if c in clashes else sqltypes.quoted(c)
                for c in (*(called.get(name, name) for name in names), *right_columns)
            ]
            raise ColumnClash(
                f"both sides have a column {', '.join(clashes)} that is not joined on",
                hint=f"{right.id}.select({', '.join(repr(c) for c in renamed)})",
            )
        return cls(left, _renamed(right, called), names, kind, with_table, left_columns, right_columns, called)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that all operators that join have."""
        names = ("on", "how", "left_columns", "right_columns")
        return {name: getattr(self, name) for name in names}

    @property
    def schema(self) -> Schema:
        """The columns of the result: time, those joined on, the left ones, the right ones."""
        left, right = self.left.schema, self.right.schema
        joined = [Column(name, left[name].type or right[name].type) for name in self.on]
        columns = [*left.times, *joined, *(left[c] for c in self.left_columns), *(right[c] for c in self.right_columns)]
        return left.of(distinct_names(columns, hint="rename one with select(…)"))

    def revised(self) -> Schema:
        """Return the columns of a result with revisions; raise for kinds of join whose last answer may be empty."""
        if self.how == "anti":
            raise BadArgument(
                "expected no lateness in a join of kind anti: its last revision may be empty, and no row can say so",
                hint='how="left" has the rows without a match too, and revises them; or leave lateness out',
            )
        columns = (*self.schema.columns, Column("revision", "INT"))
        return Schema(distinct_names(columns, hint="rename one with select(…)"), self.schema.time)

    def check_early(self, early: object, lateness: int) -> None:
        """Raise if ``early`` is not a bool, or if pairs cannot be answered before their window is complete."""
        if not isinstance(early, bool):
            raise BadArgument(
                f"expected early=True or early=False, got {early!r}", hint="True: a pair comes with its later row"
            )
        if not early:
            return
        if self.how != "inner":
            raise BadArgument(
                f"expected early=True in an inner join only, got one of kind {self.how}: whether a row has no match is "
                "known when its window is complete",
                hint='how="inner", or leave early out',
            )
        if lateness:
            raise BadArgument(
                "expected early=True or lateness, got both: a revision answers a whole window again",
                hint="leave one of them out",
            )

    def condition(self, where: str | None, *, shared: Sequence[str] | None = None) -> Expression | None:
        """Return a condition that reads ``left.x`` and ``right.x``, bound to the columns of both sides.

        ``shared`` are the time columns that are equal on both sides, all of them by default.
        """
        if where is None:
            return None
        left, right = self.left.schema, self.right.schema
        theirs = Schema(tuple(Column(self.called.get(c.name, c.name), c.type) for c in right.columns))
        both = {c.name.lower(): c for c in (*left.columns, *theirs.columns)}
        same = [name for name in self.on if name not in self.called]
        scope = Scope(
            Schema(tuple(both.values())),
            sides=(("left", left), ("right", theirs)),
            shared=(*(left.time if shared is None else shared), *same),
        )
        bound = bind(where, scope, what="a condition")
        if bound.type not in ("BOOLEAN", None):
            raise BadArgument(f"expected a condition in where, got {bound.sql} of type {bound.type}")
        if not self.called:
            return bound
        own = {self.called.get(c.name, c.name).lower(): c for c in right.columns}
        fields = {
            name: Expression(c.name, f"`right`.{sqltypes.quoted(c.name)}", c.type, (f"right.{c.name}",))
            for name, c in own.items()
        }
        respelled = from_pack(bound, "right", fields)
        assert respelled is not None, "a condition reads a side by its columns only"
        return respelled

    def check_parameters(self, condition: Expression | None) -> None:
        """Raise if a lambda's parameter would hide a side when engines look for rows of the right side without a match.

        For these rows they exchange left and right in the condition.
        """
        if condition is None or self.how not in ("right", "full"):
            return
        for column, side in columns_of_sides(condition):
            other = RIGHT if side == LEFT else LEFT
            if is_parameter(column, other):
                message = f"expected no parameter called {other} around a column of {side} in a join of kind {self.how}"
                raise BadExpression(
                    pointed(message, condition.sql, *place(column.parts[0])), hint="call the parameter otherwise"
                )

    def check_equal_times(self, condition: Expression | None) -> None:
        """Raise if a condition compares the times of both sides, which are equal anyway."""
        if condition is None or self.with_table:
            return
        scope = both_sides(self.left.schema, self.right.schema, self.on)
        for part in Sql.of(condition.sql).conjuncts():
            read = bound(Parsed.of(part, "a condition"), scope).columns
            for name in self.left.schema.time:
                if f"left.{name}" in read and f"right.{name}" in read:
                    raise BadArgument(
                        f"expected no comparison of left.{name} with right.{name}: rows of equal times are joined",
                        hint="interval_join(other, on, lower=…, upper=…) pairs rows of different times",
                    )


@dataclass(frozen=True, slots=True)
class Interval:
    """How far apart the times of a pair may be, in units of a time column."""

    over: str | None
    lower: int | None
    upper: int | None


def over_interval(left: Building, lower: Any, upper: Any, over: Any, how: Any) -> Interval:
    """Return how far apart times may be, or raise if a join of this kind could never answer with these bounds."""
    left._check_counted()
    bounded = lower is not None or upper is not None
    kind = _how(how, HOW)
    needed = {"left": ("upper",), "anti": ("upper",), "right": ("lower",), "full": ("lower", "upper")}.get(kind, ())
    for name, value in (("lower", lower), ("upper", upper)):
        if name in needed and value is None:
            raise BadArgument(
                f"expected {name} in a join of kind {kind}: without it, a match may come at any later time",
                hint=f"give {name}, a span",
            )
    if len(left.schema.time) > 1 and over is None and not bounded:
        if kind == "semi":
            raise BadArgument(
                "expected over in a join of kind semi: on several time columns there may be several first matches",
                hint=" or ".join(f"over={name!r}" for name in left.schema.time),
            )
        return Interval(None, None, None)
    name, type_ = left._over(over)
    low, high = (
        None if value is None else parse_span(value, type_, what=what, least=None)
        for what, value in (("lower", lower), ("upper", upper))
    )
    for what, span in (("lower", low), ("upper", high)):
        if span is not None and abs(span) > LONGEST:
            raise BadSpan(
                f"expected {what} of at most {longest_span(type_)}, got {show_span(span, type_)}",
                hint="None is without bound",
            )
    if low is not None and high is not None and low > high:
        raise BadSpan(
            f"expected lower of at most upper, got {show_span(low, type_)} and {show_span(high, type_)}: nothing is "
            "between them",
            hint="lower <= other's time - this row's time <= upper",
        )
    return Interval(name, low, high)


def _called(left: Building, right: Building, on: Mapping[Any, Any]) -> Mapping[str, str]:
    """Return the right column by left column, for those in ``on`` that have different names; raise if one is wrong."""
    new: dict[str, str] = {}
    for mine, theirs in on.items():
        for name in (mine, theirs):
            if not isinstance(name, str):
                raise BadArgument(
                    f"expected names of columns in on, got {name!r} ({type(name).__name__})",
                    hint='on={"auction": "id"}: the left column first',
                )
        found = right.schema.find(theirs)
        if found is None:
            raise right.schema.unknown(theirs).at(f"on of the right side, {right.id}")
        if found.name in right.schema.time:
            raise BadArgument(f"expected columns other than times in on, got {found.name}", hint="leave it out")
        mine_found = left.schema.find(mine)
        if mine_found is None:
            raise left.schema.unknown(mine).at(f"on of the left side, {left.id}")
        if found.name in new:
            raise BadArgument(f"expected each column once in on, got {found.name} twice", hint="compare them in where")
        new[found.name] = mine_found.name
    for column in right.schema.columns:
        if column.name not in new and column.name.lower() in {name.lower() for name in new.values()}:
            raise ColumnClash(
                f"{right.id} has a column {column.name}, which is not the one that is joined on",
                hint=f"give it another name: {right.id}.select(…)",
            )
    return {name: old for old, name in new.items() if old != name}


def _renamed(right: Building, called: Mapping[str, str]) -> Building:
    """Return the right side with the columns that are joined on named as on the left."""
    if not called:
        return right
    new = {old: name for name, old in called.items()}
    outputs = [
        f"{sqltypes.quoted(c.name)} AS {sqltypes.quoted(new[c.name])}" if c.name in new else sqltypes.quoted(c.name)
        for c in right.schema.data
    ]
    return cast("Stream", right).select(*outputs)


def _how(how: Any, allowed: tuple[str, ...]) -> str:
    plain = str(how).lower().replace("_", "").replace(" ", "")
    kind = _SYNONYMS.get(plain, plain)
    one_of(kind, "how", allowed)
    return kind


def _shared(name: Any, left: Building, right: Building, theirs: Schema) -> str:
    if not isinstance(name, str):
        raise BadArgument(f"expected the name of a column in on, got {name!r} ({type(name).__name__})")
    for which, side, schema in (("left", left, left.schema), ("right", right, theirs)):
        if name not in schema:
            raise schema.unknown(name).at(f"on of the {which} side, {side.id}")
    a, b = left.schema[name], theirs[name]
    if a.name in left.schema.time:
        raise BadArgument(f"expected columns other than times in on, got {a.name}", hint="leave it out")
    if _differ(a, b):
        raise BadArgument(
            f"expected {a.name} of one type on both sides, got {a.type} on the left and {b.type} on the right",
            hint=f'with_columns({a.name}="CAST({sqltypes.quoted(a.name)} AS …)") on one side',
        )
    return a.name
