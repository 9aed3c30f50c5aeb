"""Expressions: Spark SQL text, parsed and bound to columns and types when the flow is built.

>>> from tidegate.flow.schema import parse_schema
>>> schema = parse_schema("ts TIMESTAMP, page STRING, bytes INT", time=("ts",))
>>> bind("BYTES / 1024 AS kib", schema)
Expression(name='kib', sql='bytes / 1024', type='DOUBLE', columns=('bytes',))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot.errors import ParseError, TokenError

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.derive import derive
from tidegate.flow.errors import AmbiguousColumn, BadArgument, BadExpression, pointed
from tidegate.flow.fingerprint import AS_SQL, LEFT_OUT
from tidegate.flow.functions import GENERATORS, UNREPEATABLE, WINDOW_ONLY, WITHOUT_PARENTHESES
from tidegate.flow.parser import TokenType, Tree, exp, parse, place, place_of_error
from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql

__all__ = ["Expression", "Scope", "bind", "is_parameter", "reference_to"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A value computed from one row.

    ``sql`` is what the user wrote, with columns spelled as in the schema. ``type`` is None if only Spark knows it.
    ``columns`` are those that it reads (in joins as ``left.x`` and ``right.x``). `tree` is the parsed form.
    """

    name: str
    sql: str = field(metadata=AS_SQL)
    # Left out of fingerprints: a later version may be able to derive more types.
    type: str | None = field(metadata=LEFT_OUT)
    columns: tuple[str, ...] = field(default=(), metadata=LEFT_OUT)

    @property
    def tree(self) -> Tree:
        """The parsed form; it is shared, so copy it before changing it."""
        return parse(self.sql)

    @property
    def is_column(self) -> bool:
        """Whether it is a column and nothing else, under its own name."""
        return self.columns == (self.name,) and self.sql == sqltypes.quoted(self.name)

    def __str__(self) -> str:
        return self.sql if self.is_column or not self.name else f"{self.sql} AS {sqltypes.quoted(self.name)}"


def reference_to(name: str, type_: str | None) -> Expression:
    """Return the expression that is just a column."""
    return Expression(name, sqltypes.quoted(name), type_, (name,))


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean in an expression: the columns of one input, or with ``sides`` those of ``left`` and ``right``.

    ``shared`` are names that mean the same on both sides (time columns, columns joined on).
    """

    columns: Schema
    sides: tuple[tuple[str, Schema], ...] = ()
    shared: tuple[str, ...] = ()

    def resolve(self, parts: Sequence[Tree], text: str) -> tuple[str, list[str], str | None]:
        """Return the column that a dotted name means, or raise: as in `Expression.columns`, as SQL, and its type.

        The SQL has an entry for each of ``parts`` that belongs to the column; further parts are fields of a struct.
        """
        first = parts[0].name
        start, _ = place(parts[0])
        if self.sides:
            return self._resolve_sided(parts, text)
        found = self.columns.find(first)
        if found is None:
            raise self.columns.unknown(first, text=text, start=start)
        return found.name, [sqltypes.quoted(found.name)], found.type

    def _resolve_sided(self, parts: Sequence[Tree], text: str) -> tuple[str, list[str], str | None]:
        first = parts[0].name
        start, end = place(parts[0])
        side = next(((n, s) for n, s in self.sides if n == first.lower()), None)
        if side and len(parts) > 1:
            column = side[1].find(parts[1].name)
            if column is None:
                raise side[1].unknown(parts[1].name, text=text, start=place(parts[1])[0])
            return f"{side[0]}.{column.name}", [sqltypes.ticked(side[0]), sqltypes.quoted(column.name)], column.type
        hits = [(name, schema[first]) for name, schema in self.sides if first in schema]
        if not hits:
            raise self.columns.unknown(first, text=text, start=start)
        shared = any(first.lower() == name.lower() for name in self.shared)
        if len(hits) > 1 and not shared:
            where = "on both sides" if self.shared else "in several relations"
            raise AmbiguousColumn(
                pointed(f"column {first} is {where}", text, start, end),
                hint=f"write {' or '.join(f'{name}.{first}' for name, _ in hits)}",
            )
        name, column = hits[0]
        return f"{name}.{column.name}", [f"{sqltypes.ticked(name)}.{sqltypes.quoted(column.name)}"], column.type


def bind(text: Any, scope: Schema | Scope, *, what: str = "an expression", name: str | None = None) -> Expression:
    """Return the scalar expression of ``text``, bound in ``scope``; or raise an error that points at what is wrong."""
    parsed = Parsed.of(text, what)
    call = next((call for call in parsed.sql.calls() if call.name in AGGREGATE_FUNCTIONS), None)
    if call:
        function = call.function
        message = pointed(f"expected a value of one row, got the aggregate {function.text}", text, *function.span)
        raise BadExpression(message, hint="aggregates belong in aggregate(…), window(…).aggregate(…) or accumulate(…)")
    return bound(parsed, scope if isinstance(scope, Scope) else Scope(scope), name=name)


@dataclass(frozen=True, slots=True)
class Parsed:
    """An expression as SQL and as a tree, both without its alias; it is not bound yet."""

    sql: Sql
    tree: Tree
    alias: str | None

    @classmethod
    def of(cls, text: Any, what: str) -> Parsed:
        """Return ``text`` parsed; raise if it does not parse or has no meaning on a stream."""
        if not isinstance(text, str):
            got = f"{text!r} ({type(text).__name__})"
            raise BadArgument(f"expected {what} as Spark SQL text, got {got}", hint='for example "bytes > 100"')
        if not text.strip():
            raise BadExpression(f"expected {what} as Spark SQL text, got an empty text")
        return cls._of(*_parse(text))

    @classmethod
    def part(cls, sql: Sql) -> Parsed:
        """Return a piece of a text parsed. Errors show the whole text, and point at places in it."""
        return cls._of(sql, _parse(sql.alone)[1])

    @classmethod
    def _of(cls, sql: Sql, tree: Tree) -> Parsed:
        alias, text, last = None, sql.text, sql.tokens[-1]
        if last.kind == TokenType.ALIAS:
            raise BadExpression(pointed("AS is not followed by a name", text, *last.span), hint=f'"{text} name"')
        if isinstance(tree, exp.Alias):
            identifier = tree.args["alias"]
            alias, begin = identifier.name, place(identifier)[0]
            sql = sql[: next(i for i, token in enumerate(sql.tokens) if token.start >= begin)]
            if sql.tokens[-1].kind == TokenType.ALIAS:
                sql = sql[:-1]
            tree = tree.this
        _refuse(sql, tree)
        return cls(sql, tree, alias)


def _parse(text: str) -> tuple[Sql, Tree]:
    hint = "an expression is one entry of a SELECT in Spark SQL"
    try:
        sql = Sql.of(text)
        for token, around in zip(sql.tokens, sql.around(), strict=True):
            if token.kind in (TokenType.COMMA, TokenType.SEMICOLON) and not {*"()"} & {*around}:
                message = pointed("expected one expression, got several", text, *token.span)
                raise BadExpression(message, hint='pass several as separate arguments: "a", "b"')
        return sql, parse(text)
    except ParseError as error:
        where = place_of_error(text, error)
        raise BadExpression(pointed("this expression does not parse", text, *where), hint=hint) from None
    except TokenError:
        message = pointed("this expression does not parse: a quote or a comment is not closed", text, 0, len(text))
        raise BadExpression(message, hint=hint) from None


def _refuse(sql: Sql, tree: Tree) -> None:
    text, tokens = sql.text, sql.tokens
    if isinstance(tree, exp.Query | exp.DDL | exp.DML | exp.Command) or tree.find(exp.Query):
        hint = "use join(…) with a stream or a table"
        raise BadExpression(pointed("an expression cannot contain a query", text, 0, len(text)), hint=hint)
    for i, token in enumerate(tokens):
        word = token.word
        if token.kind == TokenType.OVER and tokens[i - 1].kind == TokenType.R_PAREN:
            hint = "use accumulate(…) for running values, window(…) or session(…) for spans of time"
            raise BadExpression(pointed("OVER has no meaning on a stream", text, *token.span), hint=hint)
        quoted = token.kind in (TokenType.IDENTIFIER, TokenType.STRING)
        if not sql.is_call(i) and (quoted or word not in WITHOUT_PARENTHESES):
            continue
        if word in GENERATORS:
            hint = "use explode(column) of the stream"
            raise BadExpression(pointed(f"{word} gives several rows for each row", text, *token.span), hint=hint)
        if word in WINDOW_ONLY:
            hint = "use accumulate(…) for running values, window(…) or session(…) for spans of time"
            raise BadExpression(pointed(f"{word} needs an order of all rows", text, *token.span), hint=hint)
        if word in UNREPEATABLE:
            hint = "answers must depend on rows only: make it a column of the source"
            raise BadExpression(pointed(f"{word} gives another value each time", text, *token.span), hint=hint)


def bound(parsed: Parsed, scope: Scope, *, name: str | None = None) -> Expression:
    """Return a parsed expression bound to columns, with its type and its name."""
    found: dict[str, str | None] = {}
    spelled: dict[int, str] = {}
    text = parsed.sql.text
    typed: dict[int, str | None] = {}
    for column in parsed.tree.find_all(exp.Column):
        parts = list(column.parts)
        if not all(isinstance(part, exp.Identifier) for part in parts) or is_parameter(column, parts[0].name):
            continue
        listed, words, type_ = scope.resolve(parts, text)
        if scope.sides and len(words) == 1 and is_parameter(column, side := listed.partition(".")[0]):
            message = f"{parts[0].name} is a column of {side}, which is a parameter here"
            raise BadExpression(pointed(message, text, *place(parts[0])), hint="call the parameter otherwise")
        found[listed] = type_
        spelled |= {place(part)[0]: word for part, word in zip(parts, words, strict=False)}
        for part in parts[len(words) :]:
            type_ = _field_of(type_, part, text)
        typed[id(column)] = type_
    sql = parsed.sql.render(spelled)
    type_ = derive(parsed.tree, lambda column: typed.get(id(column)))
    return Expression(name or parsed.alias or _own_name(parsed, found, scope), sql, type_, tuple(found))


def is_parameter(column: Tree, name: str) -> bool:
    """Whether a name is a parameter of a lambda around it, in whatever case."""
    node = column.parent
    while node is not None:
        if isinstance(node, exp.Lambda) and any(p.name.lower() == name.lower() for p in node.expressions):
            return True
        node = node.parent
    return False


def _field_of(type_: str | None, part: Tree, text: str) -> str | None:
    if type_ is None:
        return None
    inner = sqltypes.field(type_, part.name)
    if inner is None and type_.startswith(("STRUCT", "ARRAY", "MAP", "VARIANT")):
        if not type_.startswith("STRUCT"):
            return None
        fields = ", ".join(p.name for p in sqltypes.tree_of(type_).expressions)
        raise BadExpression(pointed(f"no field {part.name} in {type_}", text, *place(part)), hint=f"fields: {fields}")
    if inner is None:
        raise BadExpression(pointed(f"no field {part.name} in a value of type {type_}", text, *place(part)))
    return inner


def _own_name(parsed: Parsed, found: Mapping[str, str | None], scope: Scope) -> str:
    tree = parsed.tree
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        listed = next(iter(found))
        return listed.split(".", 1)[1] if scope.sides else listed
    return str(tree.parts[-1].name) if isinstance(tree, exp.Column | exp.Dot) else ""
