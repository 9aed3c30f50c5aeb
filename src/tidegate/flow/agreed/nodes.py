"""Translates literals, columns and casts, and writes entries of the table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from tidegate.flow import sqltypes
from tidegate.flow.agreed.instants import INSTANTS, read_instant
from tidegate.flow.agreed.kinds import bind_kind, common, decimal, implicit
from tidegate.flow.agreed.parsing import span_of, text_of
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.table import CASTS, ENGINE, FUNCTIONS
from tidegate.flow.agreed.values import (
    Given,
    Lambda,
    Lets,
    Rule,
    Value,
    cast,
    duckdb_text,
    failing,
    let_all,
    without_single,
)
from tidegate.flow.agreed.zones import depends_on_zone, not_utc
from tidegate.flow.parser import Tree, exp, tokenize

__all__ = ["Nodes", "Refused", "Types", "quoted_name"]

#: The types of columns by name; where there are several tables, also by ``table.name``.
Types = Mapping[str, str | None]

#: A longer argument gets a name, and is computed once, if it would be written several times.
_SHORT = 40
#: Up to this length, an expression of only names, numbers and these functions is cheaper to repeat than to name.
_CHEAP = 250
_CHEAP_CALLS = frozenset({"CAST", "abs", "radians", "degrees", "len", "list_extract", "struct_extract"})
_CALLED = re.compile(r"(\w+)\(|'|\blambda\b|\bCASE\b")
#: The whole numbers of each type: a literal beyond them fails.
_RANGES = {
    name: range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64))
}
#: Casts that never fail.
_SAFE_CASTS = frozenset({("I", "F"), ("FLOAT", "DOUBLE"), ("I", "BOOLEAN"), ("BOOLEAN", "I"), ("BOOLEAN", "DOUBLE")})


class Refused(Exception):
    """A part of a text that is not translated: what it is, why, and where it begins and ends in the text."""

    def __init__(self, what: str, span: tuple[int, int], why: str = "") -> None:
        super().__init__(f"{what}: {why}" if why else what)
        self.what, self.why, self.span = what, why, span


def quoted_name(name: str) -> str:
    """Return a name in quotes, as DuckDB's SQL needs it.

    >>> print(quoted_name('a "b" c'))
    "a ""b"" c"
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


class Nodes(ABC):
    """Translates the nodes of one text.

    The text begins with ``before`` characters that users did not write. ``types`` are those of columns. ``engine`` says
    that the engine wrote the text: then a few more functions are known. With ``in_columns``, expressions that are read
    several times are collected in `columns`, where they are computed for every row.
    """

    def __init__(self, text: str, before: int, types: Types, *, engine: bool = False, in_columns: bool = False) -> None:
        self.text = text
        self.before = before
        self.types = {name.lower(): type_ for name, type_ in types.items()}
        self.names = {name.lower(): name for name in types}
        self.parameters: dict[str, Value] = {}
        self.table = {**FUNCTIONS, **ENGINE} if engine else FUNCTIONS
        self._numbers = count(1)
        self.columns: Lets = []
        #: How many lambdas and conditions there are around a node. What is inside of one is not computed for every row.
        self.inside = 0 if in_columns else 1
        self.not_utc = not_utc()
        #: Translations of nodes, by their ids and those of the parameters around them.
        self._known: dict[tuple[int, int], tuple[Value, dict[str, Value]]] = {}

    @abstractmethod
    def value(self, node: Tree) -> Value:
        """Return the translation of a node."""

    def refused(self, node: Tree, what: str, why: str = "") -> Refused:
        """Return the exception that refuses a node."""
        own = node.meta
        known = (own["start"], own["end"] + 1) if "start" in own else span_of(node)
        start, end = known or (self.before, len(self.text))
        return Refused(what, (max(0, start - self.before), max(1, end - self.before)), why)

    def _allow_only(self, node: Tree, *names: str) -> None:
        """Raise if a node has other parts than these, since they would be ignored."""
        others = [name for name, given in node.args.items() if given not in (None, False, []) and name not in names]
        if others:
            raise self.refused(node, f"{type(node).__name__.lower()} with {', '.join(others)}")

    def visit_paren(self, node: Tree) -> Value:
        self._allow_only(node, "this")
        return self.value(node.this)

    def visit_null(self, node: Tree) -> Value:  # noqa: ARG002
        return Value("NULL", "VOID", simple=True)

    def visit_boolean(self, node: Tree) -> Value:
        return Value("true" if node.this else "false", "BOOLEAN", literal=bool(node.this), simple=True)

    def visit_literal(self, node: Tree) -> Value:
        if node.is_string:
            if "start" not in node.meta:
                # The parser turned a number into a text.
                raise self.refused(node, f"the literal {node.this}BD")
            text = text_of(self.text[node.meta["start"] : node.meta["end"] + 1])
            return self._text(node, text)
        written = str(node.this)
        if written.isdigit():
            number = int(written)
            type_ = "INT" if number < 2**31 else "BIGINT" if number < 2**63 else None
            if type_ is None:
                raise self.refused(node, "an integer that does not fit into a BIGINT")
            digits = None if self._has_plus(node) else len(str(number))
            return Value(cast(written, type_), type_, literal=number, simple=True, digits=digits)
        if "e" in written.lower():
            return Value(f"CAST({duckdb_text(written)} AS DOUBLE)", "DOUBLE", literal=float(written), simple=True)
        whole, _, fraction = written.partition(".")
        if not (whole + fraction).isdigit():
            raise self.refused(node, f"the literal {written}")
        digits, scale = len((whole.lstrip("0") + fraction) if whole.strip("0") else fraction), len(fraction)
        type_ = f"DECIMAL({max(digits, scale, 1)},{scale})"
        return Value(f"CAST({duckdb_text(written)} AS {type_})", type_, literal=written, simple=True)

    def _has_plus(self, node: Tree) -> bool:
        """Whether a number follows a plus sign, which the parser drops: in Spark, ``+1`` is no literal."""
        before = self.text[: node.meta["start"]].rstrip()
        return before.endswith("+") and not re.search(r"[\w)\]'\"`]\Z", before[:-1].rstrip().removeprefix("SELECT"))

    def _text(self, node: Tree, text: str) -> Value:
        if "\0" in text:
            raise self.refused(node, "a text with the character U+0000")
        return Value(duckdb_text(text), "STRING", literal=text, simple=True)

    def visit_rawstring(self, node: Tree) -> Value:
        return self._text(node, str(node.this))

    def visit_concat(self, node: Tree) -> Value:
        """Return several literals in a row as one text; where two touch, there was a doubled quote."""
        start, _ = span_of(node) or (0, 0)
        tokens = tokenize(self.text)
        first = next(i for i, token in enumerate(tokens) if token.start == start)
        found, end = "", None
        for token in tokens[first : first + len(node.expressions)]:
            written = self.text[token.start : token.end]
            found += (written[0] if token.start == end else "") + text_of(written)
            end = token.end
        return self._text(node, found)

    def visit_column(self, node: exp.Column) -> Value:
        parts = list(node.parts)
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise self.refused(node, "a star (*)")
        first = parts[0].name
        if first.lower() in self.parameters:
            return self._fields(self.parameters[first.lower()], parts[1:], node)
        qualified = ".".join(part.name for part in parts[:2]).lower()
        taken = 2 if len(parts) > 1 and qualified in self.types else 1
        name = qualified if taken == 2 else first.lower()
        if name not in self.types:
            raise self.refused(node, f"the column {first}")
        spelled = ".".join(quoted_name(part.name) for part in parts[:taken])
        return self._fields(Value(spelled, self.types[name], simple=True), parts[taken:], node)

    def visit_identifier(self, node: Tree) -> Value:
        if node.name.lower() not in self.parameters:
            raise self.refused(node, f"the name {node.name}")
        return self.parameters[node.name.lower()]

    def _fields(self, value: Value, parts: Sequence[Tree], node: Tree) -> Value:
        for part in parts:
            if value.type is None:
                # The type is not known, but the name of the field is enough.
                value = Value(f"struct_extract({value.sql}, {duckdb_text(part.name)})", None, value.fails)
                continue
            fields = sqltypes.fields(value.type)
            found = next((name for name in fields if name.lower() == part.name.lower()), None)
            if found is None:
                raise self.refused(node, f"the field {part.name} of {value.type}")
            sql = f"struct_extract({value.sql}, {duckdb_text(found)})"
            value = Value(sql, fields[found], value.fails, simple=value.simple)
        return value

    def visit_dot(self, node: Tree) -> Value:
        if not isinstance(node.expression, exp.Identifier):
            raise self.refused(node, "a dot that is not followed by a name")
        return self._fields(self.value(node.this), [node.expression], node)

    # Casts.

    def visit_cast(self, node: exp.Cast) -> Value:
        return self._casts(node, trying=False)

    def visit_trycast(self, node: exp.TryCast) -> Value:
        return self._casts(node, trying=True)

    def _casts(self, node: exp.Cast, *, trying: bool) -> Value:
        self._allow_only(node, "this", "to", "safe", "_type")
        sqltypes.check_known(node.to, str(node.to.sql("spark")))
        to = sqltypes.of_tree(node.to)
        value = self.value(node.this)
        found = self.casted(value, to, node)
        # DuckDB may compute the inner value outside of the TRY, where it would fail the query.
        if trying and value.fails:
            raise self.refused(node, "try_cast of an expression that can itself fail")
        if trying:
            return Value(f"struct_extract(TRY({{'v': {found.sql}}}), 'v')", to)
        return found

    def casted(self, value: Value, to: str, node: Tree) -> Value:
        """Return a value after an explicit cast to a type."""
        if to == "DOUBLE" and isinstance(value.literal, str) and decimal(value.type):
            # Convert the digits as they are written, without a decimal in between.
            return Value(f"CAST({duckdb_text(value.literal)} AS DOUBLE)", to, literal=float(value.literal), simple=True)
        # A letter after an integer literal is its type: 1L.
        suffixed = isinstance(node, exp.Cast) and self._has_suffix(node.this)
        digits = value.digits if suffixed else None
        if value.type == to or value.type == "VOID":
            return Value(cast(value.sql, to), to, value.fails, value.literal, simple=value.simple, digits=digits)
        for (given, wanted), rule in CASTS.items():
            bound: dict[str, str | None] = {}
            to_fits = wanted == to or (wanted in "IFD" and bind_kind(wanted, to, bound))
            from_fits = given == value.type or (given in "IFD" and bind_kind(given, value.type, {}))
            if to_fits and from_fits:
                literal: float | None = None
                if isinstance(value.literal, int) and to in (*sqltypes.INTEGERS, "DOUBLE"):
                    literal = float(value.literal) if to == "DOUBLE" else value.literal
                text = self._written(node, rule, [value], to, f"CAST({value.type} AS {to})")
                fits = isinstance(literal, int) and literal in _RANGES.get(to, ())
                fails = not fits and not self._is_instant(value, to)
                if (given, wanted) in _SAFE_CASTS:
                    fails = value.fails
                return Value(text, to, fails, literal=literal, simple=value.simple, digits=digits)
        raise self.refused(node, f"CAST({self._type_name(value)} AS {to})")

    def _has_suffix(self, node: Tree) -> bool:
        return isinstance(node, exp.Literal) and self.text[node.meta.get("end", 0)].upper() in "LSY"

    def _is_instant(self, value: Value, to: str) -> bool:
        """Whether a cast of this literal to an instant is known to succeed."""
        known = to in INSTANTS and isinstance(value.literal, str) and value.type == "STRING"
        return known and read_instant(value.literal, zoned=INSTANTS[to]) is not None

    def widened(self, value: Value, to: str | None, node: Tree) -> Value:
        """Return a value after an implicit conversion to a type, as Spark does it; raise if Spark does not."""
        if to is None or value.type == to:
            return value
        narrow = common([value.type, to])
        if narrow != to and not (decimal(to) and decimal(value.type)) and not implicit(value.type, to):
            raise self.refused(node, f"{self._type_name(value)} where {to} is needed")
        if (value.type, to) == ("DATE", "TIMESTAMP"):
            self._in_utc(node, "DATE where TIMESTAMP is needed")
        # The greatest dates are no instants.
        fails = value.fails or (value.type == "DATE" and to in INSTANTS and value.literal is None)
        return Value(cast(value.sql, to), to, fails, value.literal, simple=value.simple)

    # Templates.

    def _written(self, node: Tree, rule: Rule, values: Sequence[Value | Lambda], gives: str | None, name: str) -> str:
        """Return the SQL that a rule makes of arguments, cast to the type of its result."""
        if depends_on_zone(name, {value.type for value in values}, gives):
            self._in_utc(node, name)
        lets: Lets = []
        bare = [
            self.named(value, lets, most=_SHORT if self._repeats(rule, i) else None)
            if isinstance(value, Value)
            else value
            for i, value in enumerate(values)
        ]
        given = Given(bare, gives, name)
        try:
            if callable(rule):
                text = rule(given)
            else:
                every = ", ".join(value.sql for value in bare)
                text = rule.format(*(value.sql for value in bare), all=every, fail=_Fail(gives))
        except MeaningDiffers as error:
            raise self.refused(node, name, str(error)) from None
        return self.reading(lets, cast(text, gives))

    def reading(self, lets: Lets, body: str) -> str:
        """Return an expression that reads others by their names: as columns, if they are computed for every row."""
        if self.inside:
            return let_all(lets, body)
        lets, body = without_single(lets, body)
        self.columns += lets
        return body

    def named(self, value: Value, lets: Lets, *, most: int | None = _SHORT) -> Value:
        """Return a value that may be written several times: as a name in ``lets`` if it is longer than ``most``."""
        if value.simple:
            return value
        if most is None or len(value.sql) <= most or _is_cheap(value.sql):
            return replace(value, sql=f"({value.sql})", digits=None)
        own = f"__λ{next(self._numbers)}"
        lets.append((value.sql, own))
        return replace(value, sql=own, digits=None)

    def _in_utc(self, node: Tree, what: str) -> None:
        """Raise if the flow's time zone is not UTC; for expressions that depend on it."""
        if self.not_utc:
            raise self.refused(node, what, "it depends on the time zone of the flow, which is not UTC")

    def _repeats(self, rule: Rule, i: int) -> bool:
        return callable(rule) or rule.count(f"{{{i}}}") > 1

    def _type_name(self, value: Value) -> str:
        return "NULL" if value.type == "VOID" else value.type or "a value of unknown type"


def _is_cheap(sql: str) -> bool:
    """Whether an expression is so cheap that it can be computed several times.

    >>> _is_cheap("CAST((__λ1_1 - 1) + CAST(1 AS INT) AS INT)"), _is_cheap("regexp_matches(x, y)")
    (True, False)
    """
    return len(sql) <= _CHEAP and all(found.group(1) in _CHEAP_CALLS for found in _CALLED.finditer(sql))


class _Fail:
    """What ``{fail:why}`` in a template becomes: an expression that fails with that message."""

    def __init__(self, type_: str | None) -> None:
        self.type = type_

    def __format__(self, why: str) -> str:
        return failing(why, self.type)
