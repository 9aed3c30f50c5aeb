"""Translated values: SQL of DuckDB with Spark's type, and what rules are given to make one of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from tidegate.flow import sqltypes
from tidegate.flow.parser import Tree, exp

__all__ = [
    "Given", "Lambda", "Lets", "Rule", "Value", "cast", "duckdb_text", "duckdb_type", "failing", "inlined", "let",
    "let_all", "tried",
]  # fmt: skip


@lru_cache(maxsize=1024)
def duckdb_type(type_: str) -> str:
    """Return DuckDB's name of a type; instants are naive, in UTC.

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

    ``literal`` is the value of a literal, `simple` says that it may be written several times, and `digits` how many an
    integer has that is written out: beside a decimal, it is one of just these.
    """

    sql: str
    type: str | None
    fails: bool = False
    literal: Any = None
    simple: bool = False
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function of elements: from SQL of its parameters to its SQL; the type of what it gives; whether it may fail.

    ``adds`` says that it adds its two parameters, and does nothing else.
    """

    parameters: tuple[str, ...]
    body: str
    type: str | None
    fails: bool = True
    adds: bool = False

    @property
    def sql(self) -> str:
        """Return it as DuckDB writes it."""
        return f"lambda {', '.join(self.parameters)}: {self.body}"


@dataclass(frozen=True, slots=True)
class Given:
    """What a rule makes its SQL of: the arguments, and the type of what it gives."""

    arguments: Sequence[Value | Lambda]
    gives: str | None
    name: str = ""

    def __getitem__(self, i: int) -> str:
        return self.arguments[i].sql

    def literal(self, i: int) -> Any:
        """Return the value of a literal argument, or None if there are fewer."""
        if i >= len(self.arguments):
            return None
        value = self.arguments[i]
        return value.literal if isinstance(value, Value) else None

    def fail(self, why: str) -> str:
        """Return what fails, and is of the type of the result."""
        return failing(why, self.gives)


#: A template, or a function that writes the SQL.
Rule: TypeAlias = str | Callable[[Given], str]


def duckdb_text(text: str) -> str:
    """Return a text as DuckDB writes it.

    >>> print(duckdb_text("it's"))
    'it''s'
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def failing(why: str, type_: str | None) -> str:
    """Return an expression of a type that always fails, and says why.

    ``error`` of DuckDB is no such thing: an expression with it cannot be tried.
    """
    failure = f"CAST({duckdb_text(why)} AS INT)"
    if type_ is None or type_ == "INT" or "VOID" in type_:
        return failure
    # An integer cannot be cast to every type, but a text can; what it is cast to is never seen.
    return f"CAST(CAST({failure} AS VARCHAR) AS {duckdb_type(type_)})"


def cast(sql: str, type_: str | None) -> str:
    """Return an expression cast to a type, if that is known."""
    return sql if type_ is None or "VOID" in type_ else f"CAST({sql} AS {duckdb_type(type_)})"


#: Expressions, and the names by which they are read.
Lets: TypeAlias = list[tuple[str, str]]


def let_all(lets: Lets, body: str) -> str:
    """Return an expression that reads others by their names.

    Those that are read once stand there themselves, and several become one struct: DuckDB takes about twice as long for
    each level of what is nested.
    """
    once = {name: f"({sql})" for sql, name in lets if _read_once(name, body)}
    body = inlined(body, once) if once else body
    lets = [(sql, name) for sql, name in lets if name not in once]
    own = "|".join(re.escape(name) for _, name in lets)
    if len(lets) < 2 or any(re.search(rf"(?<!\w)(?:{own})(?!\w)", sql) for sql, _ in lets):
        for sql, name in reversed(lets):
            body = let(sql, name, body)
        return body
    all_ = f"{lets[0][1]}_all"
    fields = ", ".join(f"'v{i}': {sql}" for i, (sql, _) in enumerate(lets))
    return let(f"{{{fields}}}", all_, inlined(body, {name: f"{all_}['v{i}']" for i, (_, name) in enumerate(lets)}))


def _read_once(name: str, body: str) -> bool:
    """Whether a name is read at one place, which is not in a function of elements: there it would be computed often.

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
                # A text, or a name in quotes.
                pass
    return not inside


#: What matters for where a name stands: brackets, functions of elements, and texts, in which neither counts.
_TOKENS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[()\[\]{}]|\blambda\b")


def inlined(body: str, values: Mapping[str, str]) -> str:
    """Return an expression with others in the place of names: those cost nothing, as fields of structs do.

    >>> inlined("__λ1_0 + __λ1_01 * __λ1_0", {"__λ1_0": "s['a']"})
    "s['a'] + __λ1_01 * s['a']"
    """
    names = "|".join(re.escape(name) for name in values)
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: values[found.group()], body)


def let(sql: str, name: str, body: str) -> str:
    """Return an expression that reads another by a name: it is written, and computed, only once.

    Such names, as all parameters of functions in what is translated, begin with ``__λ``: no column is called so.
    Columns of users do not begin with two underscores, and those of the engine go on with a plain letter or a digit.
    """
    return f"list_extract(list_transform([{sql}], lambda {name}: {body}), 1)"


def tried(sql: str) -> str:
    """Return an expression that is NULL where another one fails.

    It is in a function: elsewhere, DuckDB pulls out what stands in it twice, and that would fail outside of the TRY.
    """
    return let("1", "__λt", f"struct_extract(TRY({{'v': {sql}}}), 'v')")
