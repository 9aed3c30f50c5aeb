"""Makes joins by distances of lists fast on Spark: first it adds up a few terms, which already exclude most pairs.

``reduce(zip_with(left.a, right.b, (x, y) -> abs(x - y)), 0D, (s, t) -> s + t) < 0.5`` asks whether two lists are close.
Spark makes a list for each pair, and calls two interpreted functions for each element. Here, a CASE asks first whether
the first terms reach the bound, and then whether all of them do. Both sums are added up by one function, and no list is
made. What was written is computed only for the pairs that are left. `tidegate.flow.agreed.early` says why the first
terms exclude no others.

It is a CASE and not an AND because Spark computes an expression that occurs twice in an AND in advance, for all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from tidegate.flow.agreed.compile import never_fails
from tidegate.flow.agreed.early import FIRST, bounded_terms
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.parser import TokenType, Tree, exp
from tidegate.flow.sql import Call, Sql
from tidegate.spark.join_keys import equated_sides

__all__ = ["without_far_pairs"]

_SUMS = ("reduce", "aggregate")
#: What the name of a column or of a parameter is, plain or quoted.
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_LITERALS = {kind for kind in TokenType if kind == TokenType.NUMBER or kind.name.endswith("STRING")}


def without_far_pairs(condition: str, types: Mapping[str, str | None]) -> str:
    """Return the condition of a join with cheap checks before the sums that it bounds from above.

    ``types`` are those of columns by name, such as ``left.a``. Without such sums over both sides, or if a part of the
    condition may fail, it is returned as it is: a condition has to fail for the same pairs.
    """
    if not any(word in condition.lower() for word in _SUMS):
        return condition
    return _written(condition, tuple(types.items()))


@lru_cache(maxsize=256)
def _written(condition: str, types: tuple[tuple[str, str | None], ...]) -> str:
    # The time zone of the flow does not matter: Spark's session has it, and nothing is translated for it here.
    conjuncts = Sql.of(condition).all_conjuncts()
    if not all(never_fails(part, dict(types)) for part in conjuncts):
        return condition
    parts = [(Sql.of(part), parse_plain(part)) for part in conjuncts]
    of_pairs = [(part, tree) for part, tree in parts if _is_of_pairs(part, tree)]
    sums = [part for part, tree in of_pairs if bounded_terms(tree) is not None]
    checks = [check for first in (FIRST, None) for part in sums if (check := _is_far(part, first))]
    if not checks:
        return condition
    # All other conditions stay outside, because Spark finds the rows of a join by them.
    others = [str(part) for part, tree in parts if (part, tree) not in of_pairs]
    whens = " ".join(f"WHEN {check} THEN false" for check in checks)
    written = " AND ".join(str(part) for part, _ in of_pairs)
    # In parentheses, so that the others are still found as parts of it.
    return " AND ".join([*others, f"(CASE {whens} ELSE {written} END)"])


def _is_of_pairs(part: Sql, tree: Tree) -> bool:
    """Whether a condition calls functions of elements, and reads both sides, but is no equation that finds rows."""
    sides = {str(column.parts[0].name).lower() for column in tree.find_all(exp.Column)}
    of_elements = any(token.kind == TokenType.ARROW for token in part.tokens)
    return of_elements and sides >= {"left", "right"} and equated_sides(str(part)) is None


def _is_far(part: Sql, first: int | None) -> str | None:
    """Return a condition that is true only if the first terms of a sum, or all of them, are not within its bound.

    It is false or NULL unless the first list has more than the first terms: then there are as many terms at least.
    Beyond the end of another list, ``zip_with`` and ``get`` both give NULL.
    """
    tokens = part.tokens
    if any(a.kind == TokenType.IDENTIFIER and b.kind == TokenType.L_PAREN for a, b in pairwise(tokens)):
        # A function whose name is quoted is not found by its name.
        return None
    total = next(call for call in part.calls() if call.name in _SUMS)
    terms = Sql.of(total.arguments[0]).call()
    assert terms is not None, "a sum with a bound has a call that makes its terms"
    lists = terms.arguments[:-1]
    term = _term(terms, lists)
    if term is None:
        return None
    last = f"size({lists[0]})" if first is None else str(first)
    added = f"aggregate(sequence(0, {last} - 1), {total.arguments[1]}, (__total, __i) -> __total + ({term}))"
    return f"size({lists[0]}) > {FIRST} AND NOT ({part.substitute([(total.sql, added)])})"


def _term(terms: Call, lists: list[str]) -> str | None:
    """Return the term with the number ``__i``; None if it is not known how to write it.

    >>> call = Sql.of("zip_with(a, b, (x, y) -> abs(x - y) + p.x)").call()
    >>> _term(call, ["a", "b"])
    'abs(get(a, __i) - get(b, __i)) + p.x'
    """
    head, body = Sql.of(terms.arguments[-1]).split(TokenType.ARROW)
    named = [token for token in head.tokens if token.text not in ("(", ")", ",")]
    if any(token.kind not in _NAMES for token in named):
        # A word of SQL, which can mean something else in the term.
        return None
    # Where there is one more parameter, it is the number of the term.
    elements = [*(f"get({given}, __i)" for given in lists), "__i"]
    meant = dict(zip([token.word for token in named], elements, strict=False))
    spelled: dict[int, str] = {}
    tokens = body.tokens
    for i, token in enumerate(tokens):
        before, after = (tokens[j].kind if 0 <= j < len(tokens) else None for j in (i - 1, i + 1))
        if token.kind == TokenType.ARROW or (token.word == "struct" and body.is_call(i)):
            # A struct takes the names of its fields from how they are written.
            return None
        if token.word not in meant or token.kind in _LITERALS or before == TokenType.DOT or body.is_call(i):
            continue
        if token.kind not in _NAMES:
            # A word of SQL, which is the parameter here.
            return None
        if after == TokenType.DOT or before == TokenType.ALIAS:
            return None
        spelled[token.start] = meant[token.word]
    return body.render(spelled)
