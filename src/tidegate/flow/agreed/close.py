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
from tidegate.flow.agreed.parsing import plain_name
from tidegate.flow.agreed.values import Lets, Value
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
    names = [parameter.name.lower() for parameter in function.expressions]
    return len(names) == 2 and sorted(plain_name(bare(side)) for side in (inner.this, inner.expression)) == sorted(
        names
    )


@dataclass(frozen=True, slots=True)
class Close:
    """Conditions that are true wherever the differences of two lists add up to less than a bound.

    ``columns`` are expressions that each read one of the lists, with their names, and ``sums`` compare some of them.
    ``differences`` adds up all differences.
    """

    columns: Lets
    sums: tuple[Value, ...]
    differences: Value


def close_sums(a: Value, b: Value, start: Value, bound: Value, *, name: str) -> Close | None:
    """Return conditions that are true if the differences of lists ``a`` and ``b``, added to 0, are within a bound.

    The names of columns begin with ``name``. Return None unless the lists are of doubles and the bound is a literal.
    """
    limit = _number(bound)
    doubles = a.type == b.type == "ARRAY<DOUBLE>" and start.type == "DOUBLE"
    if limit is None or not doubles or start.literal != 0:
        return None
    wider = f"CAST('{limit * _WIDER!r}' AS DOUBLE)"
    sides = f"{name}l", f"{name}r"
    columns = [column for side, value in zip(sides, (a, b), strict=True) for column in _columns(side, value.sql)]
    # Sums of all elements, and of the first ones: if the former are close, the latter may still differ.
    sums = [
        Value(f"({one}{part}_least - {wider} <= {other}{part}_most)", "BOOLEAN")
        for part in _PARTS
        for one, other in (sides, sides[::-1])
    ]
    known = f"{a.sql} IS NOT NULL AND {b.sql} IS NOT NULL"
    head, tail = (_differences(*(f"{side}{part}" for side in sides)) for part in _HEAD_AND_TAIL)
    # If the differences in the heads are too large already, those in the tails are not computed.
    both = f"CASE WHEN __λh <= {wider} THEN __λh + {tail} <= {wider} ELSE false END"
    within = f"list_extract(list_transform([{head}], lambda __λh: {both}), 1)"
    return Close(columns, tuple(sums), Value(f"(CASE WHEN {known} THEN {within} END)", "BOOLEAN"))


def _differences(one: str, other: str) -> str:
    """Return how much two lists differ. An element that is NULL, or that only one of them has, is infinitely far."""
    each = f"coalesce(abs(struct_extract(__λd, 1) - struct_extract(__λd, 2)), {_INFINITE})"
    return f"coalesce(list_sum(list_transform(list_zip({one}, {other}), lambda __λd: {each})), 0.0::DOUBLE)"


#: The two parts of a list whose differences are computed in turn. The first is a little longer than the second: for
#: most pairs that are not close it should be enough.
_HEAD_AND_TAIL = {
    "_head": "list_slice({0}, 1, len({0}) * 3 // 5)",
    "_tail": "list_slice({0}, len({0}) * 3 // 5 + 1, len({0}))",
}
#: What sums are of: all elements of a list, and the first ones.
_PARTS = {"_all": "{0}", "_first": f"list_slice({{0}}, 1, {FIRST})"}


def _columns(side: str, elements: str) -> Lets:
    """Return the two parts of a list, and the least and the greatest value that its exact sums may have.

    If a sum is not finite, that is minus and plus infinity. If the first elements have a finite sum and others do not,
    it may be NaN; such a list is close to none.
    """
    greatest = f"greatest(abs(list_max({elements})), abs(list_min({elements})))"
    columns = [(of.format(elements), f"{side}{part}") for part, of in _HEAD_AND_TAIL.items()]
    columns += [(f"{_EPSILON} * len({elements}) * (len({elements}) + 4) * {greatest}", f"{side}_off")]
    for part, of in _PARTS.items():
        columns.append((f"coalesce(list_sum({of.format(elements)}), 0.0::DOUBLE)", f"{side}{part}"))
    for part in _PARTS:
        for end, sign in (("_least", "-"), ("_most", "+")):
            sure = f"{side}{part} {sign} coalesce({side}_off, 0.0::DOUBLE)"
            infinite = f"CAST('{sign}infinity' AS DOUBLE)"
            columns.append((f"CASE WHEN isfinite({side}{part}) THEN {sure} ELSE {infinite} END", f"{side}{part}{end}"))
    return columns


def _number(bound: Value) -> float | None:
    """Return the value of a bound if it is a literal that can be widened; otherwise None."""
    if bound.literal is None or isinstance(bound.literal, bool):
        return None
    try:
        number = float(bound.literal)
    except ValueError:
        return None
    return number if number == 0 or _LEAST < number < 1 / _LEAST else None
