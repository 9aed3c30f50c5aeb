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


#: A number as frontiers have them: another one in each step.
_NUMBER = re.compile(r"(?<![\w.])\d{5,18}(?=L\b)|(?<=, )\d{1,18}(?=L\))|(?<=CAST\()\d{1,18}(?=L AS )")
#: What stands for such numbers, one after the other: no number that is written is so long.
_STAND_IN = 8_070_605_040_302_010_000


def _once(sql: str, types: Types, *, engine: bool, rows: bool) -> Value:
    """Return the translation of a text; those of the engine that differ in such numbers only are translated once.

    Nothing but the precision beside a decimal depends on what such a number is.
    """
    known = tuple(types.items())
    numbers = _NUMBER.findall(sql) if engine and "'" not in sql else []
    if not numbers or any("DECIMAL" in (type_ or "DECIMAL") for _, type_ in known):
        return _compiled(sql, known, engine, rows, elsewhere())
    stand_ins = iter(range(_STAND_IN, _STAND_IN + len(numbers)))
    form = _NUMBER.sub(lambda _: str(next(stand_ins)), sql)
    try:
        found = _compiled(form, known, engine, rows, elsewhere())
    except Refused:
        # With the text as it was written.
        return _compiled(sql, known, engine, rows, elsewhere())
    there = set(_OF_STAND_IN.findall(found.sql))
    if found.literal is not None or len(there) < len(numbers):
        # Its value was looked at.
        return _compiled(sql, known, engine, rows, elsewhere())
    return replace(found, sql=_written(found.sql, numbers))


_OF_STAND_IN = re.compile(r"\b80706050403020(\d{5})\b")


def _written(sql: str, numbers: list[str]) -> str:
    return _OF_STAND_IN.sub(lambda found: numbers[int(found[1]) - _STAND_IN % 100_000], sql)


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
