"""Aggregate expressions: the calls of aggregate functions in them, and the expression that combines their results.

>>> from tidegate.flow.schema import parse_schema
>>> schema = parse_schema("ts TIMESTAMP, page STRING, bytes INT", time=("ts",))
>>> mean = aggregation(["page"], ["sum(bytes) / count(*) AS mean"], {}, schema).outputs[0]
>>> [call.sql for call in mean.calls], mean.finish, mean.type
(['sum(bytes)', 'count(*)'], '__0 / __1', 'DOUBLE')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS, AggregateFunction
from tidegate.flow.arguments import names_of
from tidegate.flow.errors import BadArgument, BadExpression, UnknownColumn, did_you_mean, pointed
from tidegate.flow.expressions import Expression, Parsed, Scope, bind, bound
from tidegate.flow.fingerprint import AS_SQL, LEFT_OUT
from tidegate.flow.parser import TokenType, exp, parse, place
from tidegate.flow.schema import Column, Schema, distinct_names
from tidegate.flow.sql import Call, Sql

__all__ = ["AggregateCall", "AggregateExpression", "Aggregation", "aggregation", "grouping", "named"]


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One call of an aggregate function: ``sum(DISTINCT x) FILTER (WHERE y)``.

    ``name`` is the column that holds its result until `AggregateExpression.finish` is computed. ``arguments`` and
    ``where`` are Spark SQL, and read ``columns`` of the input. ``rest`` is what follows the parenthesis besides the
    filter, such as ``WITHIN GROUP (ORDER BY x)`` or ``IGNORE NULLS``.
    """

    name: str
    sql: str = field(metadata=AS_SQL)
    function: str
    arguments: tuple[str, ...] = field(metadata=AS_SQL)
    distinct: bool
    where: str | None = field(metadata=AS_SQL)
    rest: str = field(metadata=AS_SQL)
    type: str | None = field(metadata=LEFT_OUT)
    columns: tuple[str, ...] = field(metadata=LEFT_OUT)

    @property
    def definition(self) -> AggregateFunction:
        """The record of its function."""
        return AGGREGATE_FUNCTIONS[self.function]

    @property
    def order_sensitive(self) -> bool:
        """Whether its result depends on the order of the rows."""
        return self.definition.order_sensitive

    @property
    def mergeable(self) -> bool:
        """Whether two partial results can be merged, so that rows need not be kept."""
        form = self.definition.partial
        if form is None or self.distinct or "group" in self.rest.lower():
            return False
        return form.type in (None, self.type) and self.definition.takes(len(self.arguments))


@dataclass(frozen=True, slots=True)
class AggregateExpression:
    """A value computed from many rows: calls of aggregate functions, and a scalar expression of their results.

    ``sql`` is the whole expression. ``finish`` is the same with each call replaced by the name of its result.
    ``columns`` are those of the input that it reads.
    """

    name: str
    sql: str = field(metadata=AS_SQL)
    type: str | None = field(metadata=LEFT_OUT)
    columns: tuple[str, ...] = field(metadata=LEFT_OUT)
    calls: tuple[AggregateCall, ...]
    finish: str = field(metadata=AS_SQL)

    @property
    def is_call(self) -> bool:
        """Whether it is one call and nothing else."""
        return len(self.calls) == 1 and self.finish == self.calls[0].name

    def __str__(self) -> str:
        return f"{self.sql} AS {sqltypes.quoted(self.name)}"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What to group by, besides the time, and what to compute for each group."""

    by: tuple[Expression, ...]
    outputs: tuple[AggregateExpression, ...]

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """All calls of all outputs, each once; outputs share equal calls."""
        return tuple({call.name: call for output in self.outputs for call in output.calls}.values())

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result, without time."""
        return tuple(Column(e.name, e.type) for e in self.by) + tuple(Column(e.name, e.type) for e in self.outputs)

    def __str__(self) -> str:
        outputs = ", ".join(map(str, self.outputs))
        return f"{outputs} by {', '.join(map(str, self.by))}" if self.by else outputs


def grouping(by: Any, schema: Schema) -> tuple[Expression, ...]:
    """Return what to group by, columns or named expressions, bound to the columns of the input."""
    bound_by = []
    for entry in names_of(by, "by"):
        expression = bind(entry, schema, what="an entry of by")
        if expression.name in schema.time:
            raise BadArgument(
                f"expected columns other than times in by, got the time column {expression.name}",
                hint="leave it out: time columns are part of every result",
            )
        bound_by.append(named(expression, entry))
    return tuple(bound_by)


def named(expression: Expression, text: str) -> Expression:
    """Return the expression, or raise if it has no name."""
    if not expression.name:
        raise BadExpression(f"an expression needs a name\n  {text}", hint=f'"{text} AS name"')
    return expression


def aggregation(
    by: Any,
    texts: Sequence[Any],
    named_texts: Mapping[str, Any],
    schema: Schema,
    *,
    grouped: Sequence[Column] = (),
) -> Aggregation:
    """Return what to group by and what to compute, bound to the columns of the input.

    ``grouped`` are further columns with one value in each group, which aggregates may read.
    """
    groups = grouping(by, schema)
    entries: list[tuple[str | None, Any]] = [(None, text) for text in texts]
    entries += named_texts.items()
    if not entries:
        raise BadArgument("expected at least one aggregate, got none", hint='for example n="count(*)"')
    outside = Schema((*grouped, *(Column(e.name, e.type) for e in groups)))
    calls: dict[str, AggregateCall] = {}
    outputs = tuple(_aggregate(name, text, schema, outside, calls) for name, text in entries)
    distinct_names(
        [*grouped, *Aggregation(groups, outputs).columns],
        hint="give the aggregate or the group another name with AS",
    )
    return Aggregation(groups, outputs)


def _aggregate(
    name: str | None, text: Any, schema: Schema, outside: Schema, calls: dict[str, AggregateCall]
) -> AggregateExpression:
    parsed = Parsed.of(text, "an aggregate")
    written = _outermost(parsed.sql)
    if not written:
        raise _no_aggregate(parsed.sql, schema)
    found = [_call(call.sql, schema, calls) for call in written]
    # Each call is replaced by a column, padded with blanks: so the carets of messages stay below the right place.
    widths = [end - start for start, end in (call.sql.span for call in written)]
    names = [call.name.ljust(width) for call, width in zip(found, widths, strict=True)]
    remaining = parsed.sql.substitute(zip((call.sql for call in written), names, strict=True))
    results = tuple({call.name: Column(call.name, call.type) for call in found}.values())
    allowed = Schema((*outside.columns, *results))
    try:
        finish = bound(Parsed.of(remaining, "an aggregate"), Scope(allowed))
    except UnknownColumn:
        raise _outside(parsed.sql.text, remaining, schema, allowed) from None
    alias = name or parsed.alias
    if not alias:
        raise BadExpression(f"an aggregate needs a name\n  {text}", hint=f'"{text} AS name", or name="{text}"')
    if name and parsed.alias and name != parsed.alias:
        raise BadArgument(f"the aggregate is named twice: {name} and {parsed.alias}\n  {text}", hint="leave one out")
    columns = tuple(dict.fromkeys(c for call in found for c in call.columns))
    own = {call.name for call in found}
    columns += tuple(c for c in finish.columns if c not in own and c not in columns)
    whole = _substituted(finish.sql, {call.name: call.sql for call in found})
    return AggregateExpression(alias, whole, finish.type, columns, tuple(dict.fromkeys(found)), finish.sql)


def _substituted(sql: str, calls: Mapping[str, str]) -> str:
    whole = Sql.of(sql)
    names = [token for token in whole.tokens if token.kind == TokenType.VAR and token.text in calls]
    return whole.render({token.start: calls[token.text] for token in names})


def _no_aggregate(sql: Sql, schema: Schema) -> BadExpression:
    functions = sql.calls()
    meant = filter(None, (did_you_mean(call.name, AGGREGATE_FUNCTIONS) for call in functions))
    hint = next(meant, "for example sum(x), max(x), count(*); a column to keep belongs in by")
    if not functions and sql.tokens[0].word in map(str.lower, schema.time):
        hint = "time columns are part of every result; of a window, window.start and window.end can be read after it"
    what = pointed("expected an aggregate over many rows, got a value of one row", sql.text, *sql.span)
    return BadExpression(what, hint=hint)


def _outside(text: str, remaining: str, schema: Schema, allowed: Schema) -> BadExpression | UnknownColumn:
    """Build the error for a column that is outside of the aggregate functions and is not one of the groups."""
    identifiers = [column.parts[0] for column in parse(remaining).find_all(exp.Column)]
    stray = min((i for i in identifiers if i.name not in allowed), key=lambda i: place(i))
    if stray.name not in schema:
        return schema.unknown(stray.name, text=text, start=place(stray)[0])
    name = schema[stray.name].name
    what = pointed(f"column {name} is outside of an aggregate function", text, *place(stray))
    return BadExpression(what, hint=f"wrap it, for example max({name}), or group by it: by={name!r}")


def _outermost(sql: Sql) -> list[Call]:
    """Return the outermost calls of aggregate functions; raise if one is an argument of another."""
    found: list[Call] = []
    for call in sql.calls():
        if call.name not in AGGREGATE_FUNCTIONS:
            continue
        outer = found[-1] if found else None
        if outer is None or call.function.start >= outer.sql.span[1]:
            found.append(call)
        elif outer.inside and call.function.start < outer.inside.span[1]:
            inner, name = call.function, outer.function
            what = pointed(f"{inner.text} is inside of {name.text}", sql.text, *inner.span)
            raise BadExpression(what, hint="aggregate twice: first one, then the other on its result")
    return found


def _call(written: Sql, schema: Schema, calls: dict[str, AggregateCall]) -> AggregateCall:
    whole = bound(Parsed.part(written), Scope(schema))
    found = Sql.of(whole.sql).call()
    assert found is not None, "binding a call changes the names of columns in it, and nothing else"
    inside = found.inside
    quantifier = inside.tokens[0].word if len(inside) > 1 else ""
    if quantifier in ("distinct", "all"):
        inside = inside[1:]
    filters = [clause for clause in found.clauses if clause.tokens[0].word == "filter"]
    call = AggregateCall(
        name=f"__{len(calls)}",
        sql=whole.sql,
        function=found.name,
        arguments=tuple(map(str, inside.split(TokenType.COMMA))),
        distinct=quantifier == "distinct",
        # The condition is between "FILTER (WHERE" and the closing parenthesis.
        where=str(filters[0][3:-1]) if filters else None,
        rest=" ".join(str(clause) for clause in found.clauses if clause not in filters),
        type=whole.type,
        columns=whole.columns,
    )
    known = calls.setdefault(call.sql, call)
    return replace(call, name=known.name)
