"""What the condition of a Join asks of one side alone: a row that fails it is in no pair."""

from __future__ import annotations

from functools import lru_cache

from tidegate.flow.agreed.compile import never_fails
from tidegate.flow.agreed.zones import not_utc
from tidegate.flow.equations import LEFT, RIGHT, both_sides, implied
from tidegate.flow.expressions import Expression, Parsed, bound, reference_to
from tidegate.flow.plan import Explode, Plan, PlanOperator, Restored, Select, Source, Table, Unfold, Union, Where
from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql
from tidegate.flow.substitute import from_pack

__all__ = ["needed_of", "unfailing_columns"]


def needed_of(
    side: str, where: Expression, on: tuple[str, ...], left: Schema, right: Schema, columns: frozenset[str]
) -> tuple[str, ...]:
    """Return conditions over some columns of one side that are true for its row in every pair, and that never fail.

    They are parts of the condition of a Join, or follow from it.

    >>> from tidegate.flow.schema import parse_schema
    >>> sides = parse_schema("a STRING", time=()), parse_schema("b STRING", time=())
    >>> text = "length(a) = length(b) AND length(left.a) > 9 AND lower(a) <> lower(b)"
    >>> where = bound(Parsed.of(text, "a condition"), both_sides(*sides, ()))
    >>> needed_of(LEFT, where, (), *sides, frozenset("a")), needed_of(RIGHT, where, (), *sides, frozenset("b"))
    (('length(a) > 9',), ('length(b) > 9',))
    """
    return _needed(side, where, on, left, right, columns, not_utc())


@lru_cache(maxsize=256)
def _needed(
    side: str,
    where: Expression,
    on: tuple[str, ...],
    left: Schema,
    right: Schema,
    columns: frozenset[str],
    _not_utc: bool,
) -> tuple[str, ...]:
    # What is known never to fail depends on the time zone of the flow, too.
    known = {LEFT: left, RIGHT: right}[side].columns
    fields = {column.name.lower(): reference_to(column.name, column.type) for column in known}
    types = {column.name: column.type for column in known}
    found: dict[str, None] = {}
    for text in (*Sql.of(where.sql).all_conjuncts(), *implied(where, on, left, right)):
        part = bound(Parsed.of(text, "a condition"), both_sides(left, right, on))
        if not part.columns or not all(name.startswith(f"{side}.") for name in part.columns):
            continue
        own = from_pack(part, side, fields)
        if own is not None and columns.issuperset(own.columns) and never_fails(own.sql, types, condition=True):
            found[own.sql] = None
    return tuple(found)


def unfailing_columns(flow: Plan, name: str) -> frozenset[str]:
    """Return the columns of an operator's output that come row by row from sources, and are computed without failing.

    Engines evaluate conditions as early as possible, and may then compute what they read for rows that an operator
    excludes, such as a join with a table. A condition on these columns can be evaluated for such rows as well.
    """
    found: dict[str, frozenset[str]] = {}
    upstream = flow.upstream(name)
    for operator in flow:
        if operator.id in upstream:
            found[operator.id] = _unfailing(flow, operator, [found[before] for before in operator.inputs])
    return found[name]


def _unfailing(flow: Plan, operator: PlanOperator, given: list[frozenset[str]]) -> frozenset[str]:
    match operator:
        case Source() | Table():
            return frozenset(operator.schema.names)
        case Select() | Restored():
            types = {column.name: column.type for column in flow.inputs(operator)[0].schema.columns}
            return frozenset(
                one.name for one in operator.outputs if given[0].issuperset(one.columns) and never_fails(one.sql, types)
            )
        case Where() | Explode() | Unfold() | Union():
            return frozenset.intersection(*given)
    # A join, for example: from what it equates, engines infer conditions on other columns.
    return frozenset()
