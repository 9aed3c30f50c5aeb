"""Makes filters on sums fast: first it adds up only a few terms, which already excludes most rows.

``reduce(zip_with(a, b, (x, y) -> abs(x - y)), 0D, (s, t) -> s + t) < 0.5`` asks whether two lists are close. If no term
is negative, the sum never falls as terms are added. So if the first terms already reach the bound, the whole sum does.
This is true of rounded sums too, since rounding does not change the order of two numbers.
"""

from __future__ import annotations

from tidegate.flow.agreed.parsing import plain_name
from tidegate.flow.parser import Tree, exp

__all__ = ["FIRST", "bare", "bounded_terms", "of_first_terms", "sum_of_terms", "upper_bound"]

#: How many terms are added up first: few of a long list, but enough to be worth an extra condition.
FIRST = 32


def of_first_terms(node: Tree) -> Tree | None:
    """Return a condition on the first terms of a sum that is true wherever the given one is; None if there is none.

    Terms have to be absolute values or squares, made of columns.
    """
    terms = bounded_terms(node)
    if terms is None:
        return None
    copied = bare(node).copy()
    made = bare(_sides(copied)[0]).expressions[0]
    for given in made.expressions[: len(terms.expressions) - 1]:
        given.replace(exp.Anonymous(this="slice", expressions=[given.copy(), _number(1), _number(FIRST)]))
    return copied


def bounded_terms(node: Tree) -> Tree | None:
    """Return the call that makes the terms of a sum with an upper bound, none of which is negative; else None."""
    found = upper_bound(node)
    return None if found is None else _terms(bare(found[0]))


def upper_bound(node: Tree) -> tuple[Tree, Tree] | None:
    """Return the lesser and the greater side of a comparison; None if it is none, or its bound is computed."""
    node = bare(node)
    if not isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE):
        return None
    total, bound = _sides(node)
    return None if bound.find(exp.Anonymous, exp.Lambda) else (total, bound)


def _sides(node: Tree) -> tuple[Tree, Tree]:
    """Return the side of a comparison that has to be less, and then the other one."""
    below = isinstance(node, exp.LT | exp.LTE)
    return (node.this, node.expression) if below else (node.expression, node.this)


def bare(node: Tree) -> Tree:
    """Return a node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _number(value: int) -> Tree:
    """Return a literal that does not occur in the text."""
    literal = exp.Literal.number(value)
    literal.meta.update(start=0, end=0)
    return literal


def _terms(total: Tree) -> Tree | None:
    """Return the call that makes the terms of a sum, or None if one of them may be negative."""
    terms = sum_of_terms(total, "zip_with") or sum_of_terms(total, "transform")
    return terms if terms is not None and _not_negative(terms.expressions[-1].this) else None


def sum_of_terms(total: Tree, name: str) -> Tree | None:
    """Return the call of ``name`` that makes the terms of a sum from columns, or None if the sum is not like that."""
    added = _call(total, "reduce", 3) or _call(total, "aggregate", 3)
    if added is None or not _adds(added.expressions[2]):
        return None
    terms = _call(added.expressions[0], name, 3 if name == "zip_with" else 2)
    if terms is None:
        return None
    *lists, function = terms.expressions
    columns = all(isinstance(given, exp.Column) for given in lists)
    return terms if columns and isinstance(function, exp.Lambda) else None


def _call(node: Tree, name: str, arguments: int) -> Tree | None:
    known = isinstance(node, exp.Anonymous) and node.name.lower() == name and len(node.expressions) == arguments
    return node if known else None


def _adds(function: Tree) -> bool:
    """Whether a function returns the sum of its two parameters."""
    if not isinstance(function, exp.Lambda) or not isinstance(function.this, exp.Add):
        return False
    names = [parameter.name.lower() for parameter in function.expressions]
    sides = function.this.this, function.this.expression
    return len(names) == 2 and sorted(map(plain_name, sides)) == sorted(names)


def _not_negative(body: Tree) -> bool:
    body = bare(body)
    return _call(body, "abs", 1) is not None or (isinstance(body, exp.Mul) and body.this == body.expression)
