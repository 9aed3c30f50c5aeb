"""The translation: a tree of Spark SQL to DuckDB's SQL, node by node, each with its type; the rest is refused.

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

from tidegate.flow.agreed.calls import Calls
from tidegate.flow.agreed.nodes import Refused, Types
from tidegate.flow.agreed.operators import BINARY, UNARY
from tidegate.flow.agreed.parsing import PREFIX, parse_plain
from tidegate.flow.agreed.values import Value
from tidegate.flow.agreed.zones import elsewhere
from tidegate.flow.parser import Tree, exp

__all__ = ["PREFIX", "Compiler", "Refused", "Types", "compiled", "compiled_condition"]


@lru_cache(maxsize=4096)
def _compiled(sql: str, types: tuple[tuple[str, str | None], ...], engine: bool, rows: bool, _elsewhere: bool) -> Value:
    compiler = Compiler(PREFIX + sql, len(PREFIX), dict(types), engine=engine)
    return compiler.of_rows(parse_plain(sql)) if rows else compiler.value(parse_plain(sql))


def compiled(sql: str, types: Types, *, engine: bool = False) -> Value:
    """Return an expression in DuckDB's SQL, or raise `Refused`; the engine's own texts may use a few functions more."""
    return _once(sql, types, engine=engine, rows=False)


def compiled_condition(sql: str, types: Types, *, engine: bool = False) -> Value:
    """Return the condition by which rows are chosen or joined in DuckDB's SQL, or raise `Refused`."""
    return _once(sql, types, engine=engine, rows=True)


#: How a number begins that is another one in each step: ``__moving(x, n)``.
_MOVING = "__moving("
#: What stands for such numbers, one after the other: no number that is written is so long.
_STAND_IN = 8_070_605_040_302_010_000
_OF_STAND_IN = re.compile(r"\b80706050403020(\d{5})\b")


def _once(sql: str, types: Types, *, engine: bool, rows: bool) -> Value:
    """Return the translation of a text; those of the engine that differ in moving numbers only are translated once."""
    known = tuple(types.items())
    places = _moving(sql) if engine and _MOVING in sql and "'" not in sql else []
    form, end = "", 0
    for i, (start, stop) in enumerate(places):
        form += f"{sql[end:start]}{_STAND_IN + i}"
        end = stop
    try:
        found = _compiled(form + sql[end:], known, engine, rows, elsewhere())
    except Refused:
        # With the text as it was written.
        return _compiled(sql, known, engine, rows, elsewhere())
    numbers = [sql[start:stop] for start, stop in places]
    return replace(found, sql=_OF_STAND_IN.sub(lambda one: numbers[int(one[1]) - _STAND_IN % 100_000], found.sql))


def _moving(sql: str) -> list[tuple[int, int]]:
    """Return where the digits of moving numbers are in a text.

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


class Compiler(Calls):
    """Translates all nodes: what has no method here, or in a class above, is refused."""

    def value(self, node: Tree) -> Value:
        """Return the translation of a node: the entries of a function ask for that of an argument one after another."""
        key = (id(node), id(self.parameters))
        if key not in self._known:
            # The parameters are held, so that none that come later are taken for them.
            self._known[key] = (self._value(node), self.parameters)
        return self._known[key][0]

    def _value(self, node: Tree) -> Value:
        name = type(node).__name__
        if name in BINARY:
            return self._binary(node, BINARY[name])
        if name in UNARY:
            return self._unary(node, UNARY[name])
        visit: Callable[[Any], Value] | None = getattr(self, f"visit_{name.lower()}", None)
        if visit is None:
            raise self.refused(node, name.lower() if not isinstance(node, exp.Func) else node.sql_name().lower())
        return visit(node)
