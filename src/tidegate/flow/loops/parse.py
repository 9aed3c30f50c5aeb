"""Parses the queries of a loop to the form that engines need. Errors point at the place in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot.errors import OptimizeError, ParseError, TokenError

from tidegate.flow import sqltypes
from tidegate.flow.derive import derive
from tidegate.flow.errors import (
    BadArgument,
    BadExpression,
    BadLoop,
    BadTime,
    ColumnClash,
    NameTaken,
    UnknownColumn,
    UnknownRelation,
    did_you_mean,
    pointed,
)
from tidegate.flow.expressions import Expression, Parsed, Scope, bound, reference_to
from tidegate.flow.loops.obstacles import members_of, obstacles, tables_of
from tidegate.flow.loops.query import KNOWN, Branch, Query, Relation, members
from tidegate.flow.parser import SqlToken, TokenType, Tree, exp, parse_query, place, place_of_error, relations_of
from tidegate.flow.schema import Column, Schema, distinct_names
from tidegate.flow.sql import Sql

__all__ = ["Relations", "parse_loop_query"]


@dataclass(frozen=True, slots=True)
class Relations:
    """What a query may read: the columns of each relation, without time; which are tables; and the time columns."""

    columns: Mapping[str, Schema]
    tables: frozenset[str]
    times: tuple[str, ...]

    def __getitem__(self, name: str) -> Schema:
        return self.columns[name]


def parse_loop_query(text: Any, what: str, relations: Relations, *, any_form: bool) -> Query:
    """Return the parsed query ``text``. Unless ``any_form``, it must be a union of SELECTs from joins."""
    if not isinstance(text, str) or not text.strip():
        got = "an empty text" if isinstance(text, str) else f"{text!r} ({type(text).__name__})"
        raise BadArgument(
            f"expected {what} as a query in Spark SQL, got {got}", hint=f'{what}="SELECT src AS node FROM input"'
        )
    tree, sql = _parsed(text, what)
    _check_relations(tree, text, what, relations)
    obstacle = next(obstacles(tree, sql, any_form=any_form), None)
    if obstacle and not any_form:
        found, hint, where = obstacle
        raise BadLoop(
            pointed(f"expected {what} to be a union of selections from joined relations, got {found}", text, *where),
            hint=hint or "compute it before the loop; or give the number of rounds with rounds=…",
        )
    reads = tuple(dict.fromkeys(table.name.lower() for table in relations_of(tree)))
    if obstacle:
        return Query(str(sql), _columns_of_any(tree, text, what, relations), (), reads)
    branches = [_branch(piece, s, relations) for piece, s in zip(members(sql), members_of(tree), strict=True)]
    return _united(Query(str(sql), (), tuple(branches), reads), text, what)


def _parsed(text: str, what: str) -> tuple[Tree, Sql]:
    hint = "a query of Spark SQL: SELECT … FROM … JOIN … ON … WHERE … UNION ALL SELECT …"
    try:
        sql, tree = Sql.of(text), parse_query(text)
    except ParseError as error:
        where = place_of_error(text, error, before=0)
        raise BadExpression(pointed(f"{what} does not parse", text, *where), hint=hint) from None
    except TokenError:
        message = pointed(f"{what} does not parse: a quote or a comment is not closed", text, 0, len(text))
        raise BadExpression(message, hint=hint) from None
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise BadExpression(pointed(f"expected {what} to be a query", text, 0, len(text)), hint=hint)
    return tree, sql[:-1] if sql.tokens[-1].kind == TokenType.SEMICOLON else sql


def _check_relations(tree: Tree, text: str, what: str, relations: Relations) -> None:
    for defined in tree.find_all(exp.CTE):
        if defined.alias.lower() in (KNOWN, *relations.columns):
            where = place(defined.args["alias"].this)
            message = pointed(f"WITH defines {defined.alias}, which is a relation of the loop", text, *where)
            raise NameTaken(message, hint="take another name")
    found = relations_of(tree)
    for table in found:
        name = table.name.lower()
        if name in relations.columns and not table.args.get("db"):
            continue
        if name == KNOWN and what == "start":
            message = pointed("start reads known, but nothing is known before start", text, *place(table.this))
            raise BadLoop(message, hint="read known in step")
        listed = ", ".join(relations.columns)
        shown = ".".join(part.sql("spark") for part in table.parts)
        raise UnknownRelation(
            pointed(f"unknown relation {shown}", text, *place(table.this)) + f"\n  relations: {listed}",
            hint=did_you_mean(table.name, relations.columns, otherwise='other streams and tables: also={"name": …}'),
        )
    if not found:
        raise BadLoop(pointed(f"{what} reads no relation", text, 0, len(text)), hint="SELECT … FROM input")


# A union of selections from joins.


def _clauses(sql: Sql) -> list[Sql]:
    """Return what comes after SELECT, FROM and WHERE."""
    # The FROM of IS DISTINCT FROM does not begin a clause.
    distinct = {i + 1 for i, token in enumerate(sql.tokens) if token.kind == TokenType.DISTINCT}
    begins = (TokenType.SELECT, TokenType.FROM, TokenType.WHERE)
    return sql.cut(i for i, token in sql.outside() if token.kind in begins and i not in distinct)


def _branch(sql: Sql, tree: Tree, relations: Relations) -> Branch:
    select, from_, *where = _clauses(sql)
    found: list[Relation] = []
    for table in tables_of(tree):
        alias, name = (table.alias or table.name).lower(), table.name.lower()
        if any(r.alias == alias for r in found):
            raise ColumnClash(
                pointed(f"two relations are called {alias}", sql.text, *place(table.this)),
                hint=f"give them names: {name} AS a, {name} AS b",
            )
        found.append(Relation(alias, name, name not in relations.tables))
    scope = _scope(found, relations)

    def expression(piece: Sql) -> Expression:
        return _bound(piece, scope, relations.times)

    on = [_after_on(piece) for piece in from_.split(TokenType.JOIN, TokenType.COMMA)[1:]]
    joins = tuple(_condition(expression(piece)) if piece else None for piece in on)
    outputs: list[Expression] = []
    for item in select.split(TokenType.COMMA):
        outputs += list(_starred(item, found, relations)) or [expression(item)]
    condition = _condition(expression(where[0])) if where else None
    return Branch(tuple(outputs), tuple(found), joins, condition)


def _scope(found: list[Relation], relations: Relations) -> Scope:
    sides = tuple((r.alias, relations[r.name]) for r in found)
    everything = {c.name.lower(): c for _, schema in sides for c in schema.columns}
    return Scope(Schema(tuple(everything.values())), sides=sides)


def _after_on(joined: Sql) -> Sql:
    """Return the condition of a join: what is after ON, without the words that begin the next join; or nothing."""
    _, *found = joined.split(TokenType.ON)
    condition = found[0] if found else joined[:0]
    while condition and condition.tokens[-1].kind in (TokenType.INNER, TokenType.CROSS):
        condition = condition[:-1]
    return condition


def _bound(sql: Sql, scope: Scope, times: tuple[str, ...]) -> Expression:
    try:
        return bound(Parsed.part(sql), scope)
    except UnknownColumn:
        token = _time_in(sql, times)
        if token is None:
            raise
        raise _time_named(sql.text, token) from None


def _time_in(sql: Sql, times: tuple[str, ...]) -> SqlToken | None:
    lower = {name.lower() for name in times}
    return next((token for token in sql.tokens if token.word in lower), None)


def _time_named(text: str, time: SqlToken) -> BadTime:
    name = time.text
    return BadTime(
        pointed(f"a query of a loop reads the time column {name}", text, *time.span),
        hint=f'facts get their time from their rows; to compute with it, copy it before: with_columns(at="{name}")',
    )


def _condition(condition: Expression) -> Expression:
    if condition.type not in ("BOOLEAN", None):
        raise BadArgument(
            f"expected a condition, got {condition.sql} of type {condition.type}", hint="compare it with something"
        )
    return condition


def _starred(piece: Sql, found: list[Relation], relations: Relations) -> Iterator[Expression]:
    if piece.tokens[-1].kind != TokenType.STAR or len(piece) not in (1, 3):
        return
    for relation in found:
        if len(piece) == 1 or piece.tokens[0].word == relation.alias:
            for column in relations[relation.name].columns:
                plain = reference_to(column.name, column.type)
                yield replace(
                    plain,
                    sql=f"{sqltypes.ticked(relation.alias)}.{plain.sql}",
                    columns=(f"{relation.alias}.{column.name}",),
                )


def _united(query: Query, text: str, what: str) -> Query:
    """Return the query with its columns: names are those of the first branch, types must agree in all branches."""
    names = [e.name for e in query.branches[0].outputs]
    if "" in names:
        raise _nameless(names.index(""), text, what)
    branches = []
    for branch in query.branches:
        if len(branch.outputs) != len(names):
            raise BadLoop(
                f"expected as many columns in each branch of {what}, got {len(names)} in the first and "
                f"{len(branch.outputs)} in another\n  {text}",
                hint=f"each branch gives {', '.join(names)}",
            )
        outputs = tuple(replace(e, name=name) for e, name in zip(branch.outputs, names, strict=True))
        branches.append(replace(branch, outputs=outputs))
    columns = []
    for i, name in enumerate(names):
        types = dict.fromkeys(b.outputs[i].type for b in branches if b.outputs[i].type is not None)
        if len(types) > 1:
            raise BadLoop(
                f"expected {name} of one type in all branches of {what}, got {' and '.join(map(str, types))}\n  {text}",
                hint=f"CAST({sqltypes.quoted(name)} AS {list(types)[-1]})",
            )
        columns.append(Column(name, next(iter(types), None)))
    distinct_names(columns, hint="give it another name with AS")
    return replace(query, columns=tuple(columns), branches=tuple(branches))


def _nameless(i: int, text: str, what: str) -> BadExpression:
    return BadExpression(f"column {i + 1} of {what} needs a name\n  {text}", hint="give it one with AS")


# Any other query.


def _columns_of_any(tree: Tree, text: str, what: str, relations: Relations) -> tuple[Column, ...]:
    """Return the columns of any query, with types if they follow from columns of relations or from a CAST."""
    # Import here: it takes a while to load, and few loops need it.
    from sqlglot.optimizer.qualify import qualify

    tables: dict[str, object] = {
        name: {c.name: c.type or "UNKNOWN" for c in schema.columns} for name, schema in relations.columns.items()
    }
    try:
        qualified = qualify(tree.copy(), schema=tables, dialect="spark", quote_identifiers=False)
    except OptimizeError as error:
        time = _time_in(Sql.of(text), relations.times)
        if time is not None and time.word in str(error).lower():
            raise _time_named(text, time) from None
        listed = "\n".join(f"  {name}: {schema}" for name, schema in relations.columns.items())
        raise UnknownColumn(f"in {what}: {str(error).splitlines()[0]}\n  {text}\n{listed}") from None
    assert isinstance(qualified, exp.Query), "a query that is qualified is one"
    found: list[Column] = []
    for i, name in enumerate(qualified.named_selects):
        if not name or name.startswith("_col"):
            raise _nameless(i, text, what)
        types = {_type_of(select, i, relations) for select in members_of(qualified)}
        found.append(Column(name, types.pop() if len(types) == 1 else None))
    return distinct_names(found, hint="give it another name with AS")


def _type_of(select: Tree, i: int, relations: Relations) -> str | None:
    if not isinstance(select, exp.Select):
        return None
    sources = {table.alias.lower(): table.name.lower() for table in select.find_all(exp.Table)}

    def lookup(column: exp.Column) -> str | None:
        schema = relations.columns.get(sources.get(column.table.lower(), ""))
        found = schema.find(column.name) if schema else None
        return found.type if found else None

    return derive(select.selects[i].unalias(), lookup)
