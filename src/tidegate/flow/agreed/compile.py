"""Translates an expression of Spark SQL to DuckDB's SQL, node by node; what is not known to agree is refused.

>>> compiled("a DIV 2 > 1 AND name LIKE 'T%'", {"a": "BIGINT", "name": "STRING"}).type
'BOOLEAN'
>>> compiled("hash(a)", {"a": "INT"})
Traceback (most recent call last):
    ...
tidegate.flow.agreed.nodes.Refused: hash
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlglot.errors import ParseError

from tidegate.flow.agreed.calls import Calls
from tidegate.flow.agreed.nodes import Refused, Types
from tidegate.flow.agreed.operators import BINARY, UNARY
from tidegate.flow.agreed.parsing import PREFIX, parse_plain
from tidegate.flow.agreed.values import Value
from tidegate.flow.agreed.zones import not_utc
from tidegate.flow.errors import FlowError
from tidegate.flow.parser import Tree, exp

__all__ = ["PREFIX", "Compiler", "Refused", "Types", "compiled", "compiled_condition", "never_fails"]


@lru_cache(maxsize=4096)
def _compiled(sql: str, types: tuple[tuple[str, str | None], ...], engine: bool, how: str, _not_utc: bool) -> Value:
    compiler = Compiler(PREFIX + sql, len(PREFIX), dict(types), engine=engine, in_columns=how == _IN_COLUMNS)
    tree, of_pairs = parse_plain(sql), how == _OF_PAIRS
    found = compiler.of_rows(tree, of_pairs=of_pairs) if of_pairs or how == _OF_ROWS else compiler.value(tree)
    return replace(found, lets=tuple(compiler.columns))


#: How a text is translated.
_SCALAR, _IN_COLUMNS, _OF_ROWS, _OF_PAIRS = "scalar", "in columns", "of rows", "of pairs"


def compiled(sql: str, types: Types, *, engine: bool = False, in_columns: bool = False) -> Value:
    """Return an expression of Spark SQL in DuckDB's SQL, or raise `Refused`.

    ``types`` are the columns that it may read. ``engine`` says that the engine wrote it: then a few more functions are
    known. With ``in_columns``, it may read other expressions as columns, its ``lets``: for DuckDB that is faster than
    nested lambdas, both to plan and to compute.
    """
    return _once(sql, types, engine=engine, how=_IN_COLUMNS if in_columns else _SCALAR)


def compiled_condition(sql: str, types: Types, *, engine: bool = False, of_pairs: bool = False) -> Value:
    """Return a condition that filters or joins rows in DuckDB's SQL, or raise `Refused`.

    With ``of_pairs``, it joins two tables, and may read other expressions as columns, its ``lets``. Each of them reads
    the columns of one table only, so it is computed once for each row and not for each pair.
    """
    return _once(sql, types, engine=engine, how=_OF_PAIRS if of_pairs else _OF_ROWS)


def never_fails(sql: str, types: Types, *, condition: bool = False) -> bool:
    """Whether an expression is known to fail for no row, on any engine; with ``condition``, as one that filters rows.

    >>> never_fails("length(a) > 9", {"a": "STRING"}), never_fails("CAST(a AS INT)", {"a": "STRING"})
    (True, False)
    """
    try:
        return not (compiled_condition if condition else compiled)(sql, types, engine=True).fails
    except (Refused, FlowError, ParseError):
        # It is not known, or an engine has an error of its own for it.
        return False


#: ``__moving(x, n)`` is ``n``, a number that is another one in each step.
_MOVING = "__moving("
#: Stand-ins for such numbers, counted up: nobody writes a number of so many digits.
_STAND_IN = 8_070_605_040_302_010_000
_OF_STAND_IN = re.compile(r"\b80706050403020(\d{5})\b")


def _once(sql: str, types: Types, *, engine: bool, how: str) -> Value:
    """Return the translation of a text, from the cache if possible.

    The engine writes the same texts in every step, with other moving numbers. Those are replaced by stand-ins before
    the translation, and put back after it, so that such texts are translated once.
    """
    known = tuple(types.items())
    places = _moving(sql) if engine and _MOVING in sql and "'" not in sql else []
    form, end = "", 0
    for i, (start, stop) in enumerate(places):
        form += f"{sql[end:start]}{_STAND_IN + i}"
        end = stop
    try:
        found = _compiled(form + sql[end:], known, engine, how, not_utc())
    except Refused:
        # The error has to show the text as it was written.
        return _compiled(sql, known, engine, how, not_utc())
    if not places:
        return found
    numbers = [sql[start:stop] for start, stop in places]

    def put_back(text: str) -> str:
        return _OF_STAND_IN.sub(lambda one: numbers[int(one[1]) - _STAND_IN % 100_000], text)

    return replace(found, sql=put_back(found.sql), lets=tuple((put_back(own), name) for own, name in found.lets))


def _moving(sql: str) -> list[tuple[int, int]]:
    """Return where the digits of moving numbers begin and end in a text.

    >>> _moving("x < __moving(f(x, 2), 12L) AND y")
    [(22, 24)]
    """
    places = []
    for found in re.finditer(re.escape(_MOVING), sql):
        depth, comma, i = 1, 0, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[i], 0)
            comma = i if sql[i] == "," and depth == 1 else comma
            i += 1
        if digits := re.fullmatch(r"\s*(\d{1,18})L", sql[comma + 1 : i - 1]):
            places.append((comma + 1 + digits.start(1), comma + 1 + digits.end(1)))
    return places


#: Nodes whose parts are all computed, and functions of which that is not true.
_STRICT = frozenset({"Anonymous", "Bracket", "Dot", "Paren", "Cast", *BINARY, *UNARY})
_CONDITIONAL = frozenset({"coalesce", "nvl", "ifnull", "nvl2", "nullif", "if"})


def _computes_all(node: Tree) -> bool:
    """Whether all parts of a node are computed wherever it is; not so the branches of a CASE."""
    return type(node).__name__ in _STRICT and not (
        isinstance(node, exp.Anonymous) and node.name.lower() in _CONDITIONAL
    )


class Compiler(Calls):
    """Translates trees. A node for which neither this class nor one above has a method is refused."""

    def value(self, node: Tree) -> Value:
        """Return the translation of a node; it is cached, since every entry for a function asks for its arguments."""
        key = (id(node), id(self.parameters))
        if key not in self._known:
            # Keep a reference to the parameters, so that no other object gets their id.
            self._known[key] = (self._value(node), self.parameters)
        return self._known[key][0]

    def _value(self, node: Tree) -> Value:
        inside = not _computes_all(node)
        self.inside += inside
        try:
            return self._visited(node)
        finally:
            self.inside -= inside

    def _visited(self, node: Tree) -> Value:
        name = type(node).__name__
        if name in BINARY:
            return self._binary(node, BINARY[name])
        if name in UNARY:
            return self._unary(node, UNARY[name])
        visit: Callable[[Any], Value] | None = getattr(self, f"visit_{name.lower()}", None)
        if visit is None:
            raise self.refused(node, name.lower() if not isinstance(node, exp.Func) else node.sql_name().lower())
        return visit(node)
