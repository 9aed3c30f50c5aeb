"""Makes joins on close lists fast: first it compares the sums of the lists, which is cheap and excludes most pairs.

``reduce(zip_with(l.a, r.b, (x, y) -> abs(x - y)), 0D, (s, t) -> s + t) < 0.5`` as a condition of a join asks whether
two lists are close. Evaluated as it is written, it compares every row of one table with every row of the other, element
by element. But if the differences of the elements add up to less than a bound, then the sums of the two lists differ by
less than that bound (the triangle inequality). The sums are computed once for each row, and comparing two numbers is
cheap. Only the pairs that are left need all differences. Those are added up without telling NULL from NaN.

The conditions made here are never false where the given one is true, even though doubles are rounded. A rounded sum of
``n`` doubles is off by less than ``n u`` times the sum of their absolute values, where ``u`` is 2 to the power of -53.
That is less than ``n n u`` times the greatest of them. The conditions allow for four times that and a little more,
which covers all other rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.flow.agreed.early import FIRST, bare, sum_of_terms, upper_bound
from tidegate.flow.agreed.values import Value
from tidegate.flow.parser import Tree, exp

__all__ = ["Close", "close_lists", "close_sums"]

_EPSILON = "CAST('4.5e-16' AS DOUBLE)"
_INFINITE = "CAST('infinity' AS DOUBLE)"
#: A bound is made wider by this factor, which is more than the rounding errors of a list of any real length.
_WIDER = 1 + 2**-20
#: Bounds that are smaller, but not 0, could not be made wider by that factor.
_LEAST = 1e-300


def close_lists(node: Tree) -> tuple[Tree, Tree, Tree, Tree] | None:
    """Return the two lists whose distance a condition bounds, the start of the sum, and the bound; or None.

    The lists must be columns of two different tables, and the terms absolute values of differences.
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
    """Whether a function returns the absolute value of the difference of its two parameters."""
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
    """Conditions that are true wherever the differences of two lists add up to less than a bound.

    ``sums`` compare numbers that can be computed from one row alone. ``differences`` adds up all differences.
    """

    sums: tuple[Value, ...]
    differences: Value


def close_sums(a: Value, b: Value, start: Value, bound: Value) -> Close | None:
    """Return conditions that are true if the differences of lists ``a`` and ``b``, added to 0, are within a bound.

    Return None unless the lists are of doubles and the bound is a literal.
    """
    limit = _number(bound)
    doubles = a.type == b.type == "ARRAY<DOUBLE>" and start.type == "DOUBLE"
    if limit is None or not doubles or start.literal != 0:
        return None
    wider = f"CAST('{limit * _WIDER!r}' AS DOUBLE)"
    # Sums of all elements, and of the first ones: if the former are close, the latter may still differ.
    sides = [(a.sql, b.sql), tuple(f"list_slice({side.sql}, 1, {FIRST})" for side in (a, b))]
    sums = [
        Value(f"({_end(one, '-')} - {wider} <= {_end(other, '+')})", "BOOLEAN")
        for left, right in sides
        for one, other in ((left, right), (right, left))
    ]
    # An element that is NULL counts as infinitely far, so no second look at the lists is needed.
    each = f"coalesce(abs(struct_extract(__λd, 1) - struct_extract(__λd, 2)), {_INFINITE})"
    total = f"coalesce(list_sum(list_transform(list_zip({a.sql}, {b.sql}), lambda __λd: {each})), 0.0::DOUBLE)"
    known = f"{a.sql} IS NOT NULL AND {b.sql} IS NOT NULL"
    return Close(tuple(sums), Value(f"(CASE WHEN {known} THEN {total} <= {wider} END)", "BOOLEAN"))


def _number(bound: Value) -> float | None:
    """Return the value of a bound if it is a literal that can be widened; otherwise None."""
    if bound.literal is None or isinstance(bound.literal, bool):
        return None
    try:
        number = float(bound.literal)
    except ValueError:
        return None
    return number if number == 0 or _LEAST < number < 1 / _LEAST else None


def _end(elements: str, sign: str) -> str:
    """Return the least (``-``) or the greatest (``+``) value that the exact sum of a list may have.

    If the sum is not finite, that is minus or plus infinity.
    """
    total = f"coalesce(list_sum({elements}), 0.0::DOUBLE)"
    most = f"greatest(abs(list_max({elements})), abs(list_min({elements})))"
    off = f"coalesce({_EPSILON} * len({elements}) * (len({elements}) + 4) * {most}, 0.0::DOUBLE)"
    return f"CASE WHEN isfinite({total}) THEN {total} {sign} {off} ELSE CAST('{sign}infinity' AS DOUBLE) END"
