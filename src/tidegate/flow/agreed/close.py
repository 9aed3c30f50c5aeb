"""Lists of two tables whose differences add up to little: then what they add up to themselves is close as well.

Who joins by ``reduce(zip_with(l.a, r.b, (x, y) -> abs(x - y)), 0D, (s, t) -> s + t) < 0.5`` compares every row of one
table with every row of the other, element by element. The sums of both lists differ by no more than their elements do
(the triangle inequality). Each is found once for a row, and to compare two numbers costs next to nothing. What is left
is decided by all differences, without what it takes to tell NULL from NaN.

The conditions here hold wherever the given one does, also in numbers that are rounded: a sum of ``n`` doubles is off by
less than ``n u`` times the sum of their absolute values, where ``u`` is 2 to the power of -53, which is less than ``n n
u`` times the greatest of them. Four times that, and a little more, covers what else is rounded on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.flow.agreed.early import FIRST, bare, sum_of_terms, upper_bound
from tidegate.flow.agreed.values import Value
from tidegate.flow.parser import Tree, exp

__all__ = ["Close", "close_lists", "close_sums"]

_EPSILON = "CAST('4.5e-16' AS DOUBLE)"
_INFINITE = "CAST('infinity' AS DOUBLE)"
#: By so much a bound is wider than it is written: more than lists of any length that there is are off by.
_WIDER = 1 + 2**-20
#: Smaller bounds, but for 0, are not made wider by that.
_LEAST = 1e-300


def close_lists(node: Tree) -> tuple[Tree, Tree, Tree, Tree] | None:
    """Return the lists whose differences a condition bounds, what these are added to, and the bound; or None.

    The lists are columns of two tables, and terms are absolute values of differences.
    """
    found = upper_bound(node)
    if found is None:
        return None
    total, bound = found
    terms = sum_of_terms(bare(total), "zip_with")
    if terms is None:
        return None
    a, b, function = terms.expressions
    tables = [given.table.lower() if isinstance(given, exp.Column) else "" for given in (a, b)]
    if not all(tables) or tables[0] == tables[1] or not _is_difference(function):
        return None
    return a, b, bare(total).expressions[1], bound


def _is_difference(function: Tree) -> bool:
    """Whether a function of two is the absolute value of their difference."""
    body = bare(function.this)
    if not isinstance(body, exp.Anonymous) or body.name.lower() != "abs" or len(body.expressions) != 1:
        return False
    inner = bare(body.expressions[0])
    if not isinstance(inner, exp.Sub):
        return False
    sides = [bare(inner.this), bare(inner.expression)]
    names = [parameter.name.lower() for parameter in function.expressions]
    plain = all(isinstance(side, exp.Identifier | exp.Column) for side in sides)
    return plain and len(names) == 2 and sorted(side.name.lower() for side in sides) == sorted(names)


@dataclass(frozen=True, slots=True)
class Close:
    """Conditions that hold wherever the differences of two lists add up to a bound or less.

    Those on ``sums`` compare numbers that a row has by itself; ``differences`` adds all of them up.
    """

    sums: tuple[Value, ...]
    differences: Value


def close_sums(a: Value, b: Value, start: Value, bound: Value) -> Close | None:
    """Return what holds if the differences of two lists, from 0 on, add up to a bound or less.

    There is nothing but for lists of doubles, and a bound that is written out.
    """
    limit = _number(bound)
    doubles = a.type == b.type == "ARRAY<DOUBLE>" and start.type == "DOUBLE"
    if limit is None or not doubles or start.literal != 0:
        return None
    wider = f"CAST('{limit * _WIDER!r}' AS DOUBLE)"
    # Of all elements, and of the first: where the sums of all are alike, those may not be.
    sides = [(a.sql, b.sql), tuple(f"list_slice({side.sql}, 1, {FIRST})" for side in (a, b))]
    sums = [
        Value(f"({_end(one, '-')} - {wider} <= {_end(other, '+')})", "BOOLEAN")
        for left, right in sides
        for one, other in ((left, right), (right, left))
    ]
    # What is not known counts as infinite here, so that nothing has to be looked at twice.
    each = f"coalesce(abs(struct_extract(__λd, 1) - struct_extract(__λd, 2)), {_INFINITE})"
    total = f"coalesce(list_sum(list_transform(list_zip({a.sql}, {b.sql}), lambda __λd: {each})), 0.0::DOUBLE)"
    known = f"{a.sql} IS NOT NULL AND {b.sql} IS NOT NULL"
    return Close(tuple(sums), Value(f"(CASE WHEN {known} THEN {total} <= {wider} END)", "BOOLEAN"))


def _number(bound: Value) -> float | None:
    """Return a bound that is written out, if it is one that can be made wider."""
    if bound.literal is None or isinstance(bound.literal, bool):
        return None
    try:
        number = float(bound.literal)
    except ValueError:
        return None
    return number if number == 0 or _LEAST < number < 1 / _LEAST else None


def _end(elements: str, sign: str) -> str:
    """Return the least (``-``) or the greatest (``+``) that the sum of a list can be: any, if that is not known."""
    total = f"coalesce(list_sum({elements}), 0.0::DOUBLE)"
    most = f"greatest(abs(list_max({elements})), abs(list_min({elements})))"
    off = f"coalesce({_EPSILON} * len({elements}) * (len({elements}) + 4) * {most}, 0.0::DOUBLE)"
    return f"CASE WHEN isfinite({total}) THEN {total} {sign} {off} ELSE CAST('{sign}infinity' AS DOUBLE) END"
