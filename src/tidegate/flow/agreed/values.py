"""Translated values: DuckDB's SQL with Spark's type; and what the rules of the table are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from tidegate.flow import sqltypes
from tidegate.flow.parser import Tree, exp

__all__ = [
    "Given", "Lambda", "Lets", "Rule", "Value", "cast", "duckdb_text", "duckdb_type", "failing", "inlined",
    "let", "let_all", "tried", "without_single",
]  # fmt: skip


@lru_cache(maxsize=1024)
def duckdb_type(type_: str) -> str:
    """Return DuckDB's name of a type; instants have no zone there, and are in UTC.

    >>> duckdb_type("TIMESTAMP"), duckdb_type("ARRAY<INT>")
    ('TIMESTAMP', 'INT[]')
    """
    return str(_naive(sqltypes.tree_of(type_).copy()).sql("duckdb"))


def _naive(tree: Tree) -> Tree:
    for node in tree.find_all(exp.DataType):
        if node.this in (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPNTZ):
            node.set("this", exp.DataType.Type.TIMESTAMP)
    return tree


@dataclass(frozen=True, slots=True)
class Value:
    """An expression of DuckDB: its SQL, its type in Spark (None if that is not known), and whether it may fail.

    ``literal`` is the value if it is a literal. ``simple`` says that the SQL may be written several times. ``digits``
    is the number of digits of an integer literal: beside a decimal, it becomes a decimal of that many digits. ``whole``
    says that no element of a list is NULL. ``lets`` are expressions that it reads as columns, each with its name, in
    such an order that each reads only those before it. ``equates`` says that a condition has an equation of two tables,
    by which DuckDB finds the rows of a join, and ``parts`` is the number of its parts.
    """

    sql: str
    type: str | None
    fails: bool = False
    literal: Any = None
    simple: bool = False
    digits: int | None = None
    whole: bool = False
    lets: tuple[tuple[str, str], ...] = ()
    equates: bool = False
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function of elements: its parameters and its body in SQL, the type of what it gives, and whether it may fail.

    ``adds`` says that all it does is to add its two parameters, and ``makes`` that it makes a struct, never NULL.
    """

    parameters: tuple[str, ...]
    body: str
    type: str | None
    fails: bool = True
    adds: bool = False
    makes: bool = False

    @property
    def sql(self) -> str:
        """Return the function in DuckDB's SQL."""
        return f"lambda {', '.join(self.parameters)}: {self.body}"


@dataclass(frozen=True, slots=True)
class Given:
    """What a rule is given: the arguments of the call, the type of its result, and the name of the function."""

    arguments: Sequence[Value | Lambda]
    gives: str | None
    name: str = ""

    def __getitem__(self, i: int) -> str:
        return self.arguments[i].sql

    def literal(self, i: int) -> Any:
        """Return the value of an argument that is a literal; None if it is none, or there are fewer arguments."""
        if i >= len(self.arguments):
            return None
        value = self.arguments[i]
        return value.literal if isinstance(value, Value) else None

    def is_whole(self, i: int) -> bool:
        """Whether no element of an argument, which is a list, is NULL."""
        value = self.arguments[i]
        return isinstance(value, Value) and value.whole

    def fail(self, why: str) -> str:
        """Return an expression of the result's type that fails with a message."""
        return failing(why, self.gives)


#: How a call is written in DuckDB's SQL: a template, or a function that returns the SQL.
Rule: TypeAlias = str | Callable[[Given], str]


def duckdb_text(text: str) -> str:
    """Return a text as a string literal of DuckDB.

    >>> print(duckdb_text("it's"))
    'it''s'
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def failing(why: str, type_: str | None) -> str:
    """Return an expression of a type that always fails with a message.

    DuckDB's ``error`` cannot be used: TRY does not work on it.
    """
    failure = f"CAST({duckdb_text(why)} AS INT)"
    if type_ is None or type_ == "INT" or "VOID" in type_:
        return failure
    # A text can be cast to every type, unlike an integer. The cast is never executed.
    return f"CAST(CAST({failure} AS VARCHAR) AS {duckdb_type(type_)})"


def cast(sql: str, type_: str | None) -> str:
    """Return an expression cast to a type; as it is, if the type is not known."""
    return sql if type_ is None or "VOID" in type_ else f"CAST({sql} AS {duckdb_type(type_)})"


#: Expressions, each with the name that it is read by.
Lets: TypeAlias = list[tuple[str, str]]


def let_all(lets: Lets, body: str) -> str:
    """Return an expression that reads others by their names.

    Those that are read once are put in place of their names. Several others become one struct, since DuckDB takes about
    twice as long for each level of nesting.
    """
    lets, body = without_single(lets, body)
    own = "|".join(re.escape(name) for _, name in lets)
    if len(lets) < 2 or any(re.search(rf"(?<!\w)(?:{own})(?!\w)", sql) for sql, _ in lets):
        for sql, name in reversed(lets):
            body = let(sql, name, body)
        return body
    all_ = f"{lets[0][1]}_all"
    fields = ", ".join(f"'v{i}': {sql}" for i, (sql, _) in enumerate(lets))
    return let(f"{{{fields}}}", all_, inlined(body, {name: f"{all_}['v{i}']" for i, (_, name) in enumerate(lets)}))


def without_single(lets: Lets, body: str) -> tuple[Lets, str]:
    """Return the expressions that are read several times, and the body with the others in place of their names."""
    once = {name: f"({sql})" for sql, name in lets if _read_once(name, body)}
    return [(sql, name) for sql, name in lets if name not in once], inlined(body, once) if once else body


def _read_once(name: str, body: str) -> bool:
    """Whether a name is read at exactly one place outside of lambdas, in which it would be computed for each element.

    >>> _read_once("x", "f(x, g(lambda y: y))"), _read_once("x", "f(x) + x"), _read_once("x", "g(lambda y: x)")
    (True, False, False)
    """
    found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", body))
    if len(found) != 1:
        return False
    depth = 0
    inside: list[int] = []
    for token in _TOKENS.finditer(body, 0, found[0].start()):
        match token.group():
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
                inside = [d for d in inside if d <= depth]
            case "lambda":
                inside.append(depth)
            case _:
                # Something in quotes.
                pass
    return not inside


#: A text or a name in quotes.
_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
#: What says whether a name is inside of a lambda: brackets and ``lambda``; both do not count inside of quotes.
_TOKENS = re.compile(rf"{_QUOTED}|[()\[\]{{}}]|\blambda\b")


def inlined(body: str, values: Mapping[str, str]) -> str:
    """Return an expression with names replaced by others that cost nothing, such as fields of structs.

    >>> inlined("__λ1_0 + __λ1_01 * __λ1_0", {"__λ1_0": "s['a']"})
    "s['a'] + __λ1_01 * s['a']"
    >>> inlined("__λ1 || ' __λ1'", {"__λ1": "x"})
    "x || ' __λ1'"
    """
    if not values:
        return body
    names = "|".join(re.escape(name) for name in values)
    # What is in quotes is not read.
    read = rf"{_QUOTED}|(?<!\w)(?:{names})(?!\w)"
    return re.sub(read, lambda found: values.get(found.group(), found.group()), body)


def let(sql: str, name: str, body: str) -> str:
    """Return an expression that reads another one by a name, so that this is written and computed only once.

    Such names begin with ``__λ``, as do all parameters of lambdas in translated SQL. No column can have such a name:
    columns of users do not begin with two underscores, and after these, columns of the engine have a plain letter or a
    digit.
    """
    return f"list_extract(list_transform([{sql}], lambda {name}: {body}), 1)"


def tried(sql: str) -> str:
    """Return an expression that is NULL where another one fails.

    The TRY is inside of a lambda: elsewhere, DuckDB would compute an expression that occurs twice in it outside of the
    TRY.
    """
    return let("1", "__λt", f"struct_extract(TRY({{'v': {sql}}}), 'v')")
