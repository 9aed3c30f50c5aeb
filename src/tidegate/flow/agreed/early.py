"""Sums with an upper bound: what the first terms of one add up to decides about most rows, and costs little.

Who writes ``reduce(zip_with(a, b, (x, y) -> abs(x - y)), 0D, (s, t) -> s + t) < 0.5`` asks whether two lists are close.
If no term is negative, a sum never falls: where the first terms reach the bound, all of them do. This holds of rounded
sums too, since to round does not change an order.
"""

from __future__ import annotations

from tidegate.flow.parser import Tree, exp

__all__ = ["FIRST", "of_first_terms"]

#: How many terms are looked at first: a fraction of a long list, and more than it costs to look at one at all.
FIRST = 32


def of_first_terms(node: Tree) -> Tree | None:
    """Return a condition on the first terms of a sum that holds wherever the given one does; None if there is none.

    Terms have to be absolute values, or squares; they are made of columns.
    """
    node = _bare(node)
    below = isinstance(node, exp.LT | exp.LTE)
    if not below and not isinstance(node, exp.GT | exp.GTE):
        return None
    total, bound = (node.this, node.expression) if below else (node.expression, node.this)
    if bound.find(exp.Anonymous, exp.Lambda) or (terms := _terms(_bare(total))) is None:
        return None
    copied = node.copy()
    made = _bare(copied.this if below else copied.expression).expressions[0]
    for given in made.expressions[: len(terms.expressions) - 1]:
        given.replace(exp.Anonymous(this="slice", expressions=[given.copy(), _number(1), _number(FIRST)]))
    return copied


def _bare(node: Tree) -> Tree:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _number(value: int) -> Tree:
    """Return a literal that stands nowhere in the text."""
    literal = exp.Literal.number(value)
    literal.meta.update(start=0, end=0)
    return literal


def _terms(total: Tree) -> Tree | None:
    """Return what makes the terms of a sum, if none of them can be negative."""
    added = _call(total, "reduce", 3) or _call(total, "aggregate", 3)
    if added is None or not _adds(added.expressions[2]):
        return None
    terms = _call(added.expressions[0], "zip_with", 3) or _call(added.expressions[0], "transform", 2)
    if terms is None:
        return None
    *lists, function = terms.expressions
    columns = all(isinstance(given, exp.Column) for given in lists)
    return terms if columns and isinstance(function, exp.Lambda) and _not_negative(function.this) else None


def _call(node: Tree, name: str, arguments: int) -> Tree | None:
    known = isinstance(node, exp.Anonymous) and node.name.lower() == name and len(node.expressions) == arguments
    return node if known else None


def _adds(function: Tree) -> bool:
    """Whether a function adds its two parameters."""
    if not isinstance(function, exp.Lambda) or not isinstance(function.this, exp.Add):
        return False
    names = [parameter.name.lower() for parameter in function.expressions]
    sides = [function.this.this, function.this.expression]
    return (
        len(names) == 2
        and all(isinstance(side, exp.Identifier | exp.Column) for side in sides)
        and sorted(side.name.lower() for side in sides) == sorted(names)
    )


def _not_negative(body: Tree) -> bool:
    body = _bare(body)
    return _call(body, "abs", 1) is not None or (isinstance(body, exp.Mul) and body.this == body.expression)
