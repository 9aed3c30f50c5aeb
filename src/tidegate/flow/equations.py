"""What the condition of a Join equates: keys to join by, and conditions on one side that hold for the other as well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from tidegate.flow import sqltypes
from tidegate.flow.expressions import Expression, Parsed, Scope, bound, is_parameter, reference_to
from tidegate.flow.parser import TokenType, exp
from tidegate.flow.schema import Column, Schema, exact
from tidegate.flow.sql import Sql
from tidegate.flow.substitute import from_pack

__all__ = ["LEFT", "RIGHT", "Equation", "both_sides", "columns_of_sides", "equations", "implied"]

#: The names of the sides in the condition of a Join. Packs of rows of a side have these names too.
LEFT, RIGHT = "left", "right"


def both_sides(left: Schema, right: Schema, on: tuple[str, ...]) -> Scope:
    """Return what names mean in the condition of a Join."""
    return Scope(left, ((LEFT, left), (RIGHT, right)), (*left.time, *on))


def columns_of_sides(where: Expression) -> list[tuple[exp.Column, str]]:
    """Return the columns that the condition of a Join reads, each with its side; a lambda's parameter is none."""
    read = [(column, column.parts[0].name.lower()) for column in where.tree.find_all(exp.Column)]
    return [(column, side) for column, side in read if side in (LEFT, RIGHT) and not is_parameter(column, side)]


@dataclass(frozen=True, slots=True)
class Equation:
    """Values of both sides that the condition equates, as a key: as expressions on rows, and as in the condition."""

    name: str
    type: str
    on_rows: dict[str, Expression]
    as_written: dict[str, str]

    def states(self, conjunct: str) -> bool:
        """Whether a part of the condition is this equation."""
        return set(Sql.of(conjunct).equated() or ()) == set(self.as_written.values())


def equations(where: Expression | None, on: tuple[str, ...], left: Schema, right: Schema) -> list[Equation]:
    """Return what a condition equates, if the value of one side determines that of the other exactly."""
    found: list[Equation] = []
    schemas = {LEFT: left, RIGHT: right}
    for conjunct in Sql.of(where.sql).conjuncts() if where else ():
        texts = Sql.of(conjunct).equated()
        if texts is None:
            continue
        name = f"equal{len(found)}"
        on_rows: dict[str, Expression] = {}
        as_written: dict[str, str] = {}
        for text in texts:
            part = bound(Parsed.of(text, "a condition"), both_sides(left, right, on))
            side = next((s for s in schemas if part.columns and all(c.startswith(f"{s}.") for c in part.columns)), None)
            if side is None:
                continue
            fields = {c.name.lower(): reference_to(c.name, c.type) for c in schemas[side].columns}
            row = from_pack(part, side, fields)
            if row is not None:
                on_rows[side], as_written[side] = replace(row, name=name), text
        types = {e.type for e in on_rows.values()}
        if len(on_rows) == 2 and len(types) == 1 and name not in on:
            type_ = types.pop()
            if type_ is not None and exact([Column(name, type_)]):
                found.append(Equation(name, type_, on_rows, as_written))
    return found


@lru_cache(maxsize=256)
def implied(where: Expression, on: tuple[str, ...], left: Schema, right: Schema) -> tuple[str, ...]:
    """Return conditions on one side that follow from those on the other and from what the condition equates.

    Engines can filter rows by them before they join. Only comparisons with constants are carried over, since they
    require no more of a row than the equation does.

    >>> from tidegate.flow.schema import parse_schema
    >>> sides = parse_schema("a STRING", time=()), parse_schema("b STRING", time=())
    >>> where = bound(Parsed.of("length(a) = length(b) AND length(a) > 9", "a condition"), both_sides(*sides, ()))
    >>> implied(where, (), *sides)
    ('length(`right`.b) > 9',)
    """
    parts = Sql.of(where.sql).conjuncts()
    found: dict[str, None] = {}
    for equation in equations(where, on, left, right):
        for mine, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
            for part in parts:
                value = equation.as_written[mine]
                if not equation.states(part) and _compares(part, value, equation.type):
                    found[Sql.of(part).replace(value, equation.as_written[other])] = None
    return tuple(part for part in found if part not in parts)


_COMPARING = (TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE, TokenType.EQ, TokenType.NEQ)


def _compares(sql: str, value: str, type_: str) -> bool:
    """Whether a condition compares a value with a constant of its type, and does nothing else."""
    rest = Sql.of(sql).replace(value, "v")
    tokens = Sql.of(rest).tokens
    if rest == sql or len(tokens) != 3 or tokens[1].kind not in _COMPARING:
        return False
    kinds = {tokens[0].kind, tokens[2].kind}
    return (type_ == "STRING" and TokenType.STRING in kinds) or (
        type_ in sqltypes.INTEGERS and TokenType.NUMBER in kinds
    )
