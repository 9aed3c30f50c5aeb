"""Lemmas about finite multisets and finite sums, which the proofs of the protocols use.

A sum over all workers, or over all edges, cannot be expressed in the solver's language. Each property that is used of
it holds for a sum of no parts, and for a sum of one more part if it holds for those before. The solver shows both, and
by induction it holds for any number. Parts are numbered from 0, and ``total(k)`` is the sum of the first ``k``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import z3

from tidegate.check.proofs.logic import (
    Counts,
    Finite,
    ProofScope,
    Term,
    finite,
    justified,
    nonnegative,
    partial_order,
    supp_strong,
    upright,
)
from tidegate.check.proofs.query import Obligation, ProofQuery
from tidegate.check.proofs.updates import counted, function, order_in_words

__all__ = ["lemmas"]

_M, _N, _C, _D = (function(name, "P") for name in "MNCD")
_SCOPES = (Finite(P=3, I=3),)


def lemmas() -> Iterator[ProofQuery]:
    """Return all lemmas, as questions."""
    yield _about(
        "both variants of supp agree",
        "for upright",
        lambda s: ([finite(s, _M), upright(s, _M)], upright(s, _M, supp_strong)),
    )
    yield _about(
        "both variants of supp agree",
        "for justified",
        lambda s: ([finite(s, _M), justified(s, _C, _M)], justified(s, _C, _M, supp_strong)),
    )
    yield _about(
        "more capabilities justify as much",
        "follows",
        lambda s: (
            [justified(s, _C, _M, supp_strong), s.all("P", lambda p: _C(p) <= _D(p))],
            justified(s, _D, _M, supp_strong),
        ),
    )
    upright_sum = "a sum of upright multisets is upright"
    yield _about(upright_sum, "of none", lambda s: ([], upright(s, _nothing, supp_strong)))
    yield _about(
        upright_sum,
        "of one more",
        lambda s: ([upright(s, _M, supp_strong), upright(s, _N, supp_strong)], upright(s, _plus(_M, _N), supp_strong)),
    )
    justified_sum = "a sum of justified multisets is justified by the sum"
    yield _about(justified_sum, "of none", lambda s: ([], justified(s, _nothing, _nothing, supp_strong)))
    yield _about(
        justified_sum,
        "of one more",
        lambda s: (
            [
                nonnegative(s, _C),
                nonnegative(s, _D),
                justified(s, _C, _M, supp_strong),
                justified(s, _D, _N, supp_strong),
            ],
            justified(s, _plus(_C, _D), _plus(_M, _N), supp_strong),
        ),
    )
    yield from _of_numbers()


def _nothing(_: Term) -> Term:
    return z3.IntVal(0)


def _plus(M: Counts, N: Counts) -> Counts:
    return lambda p: M(p) + N(p)


def _about(statement: str, part: str, what: Callable[[ProofScope], tuple[Sequence[Term], Term]]) -> ProofQuery:
    def build(scope: ProofScope) -> Obligation:
        given, goal = what(scope)
        return Obligation([*partial_order(scope), *given], goal, show=lambda m: _show(scope, m))

    return ProofQuery("sums", statement, part, build, _SCOPES)


def _show(scope: ProofScope, model: z3.ModelRef) -> list[str]:
    named = (f"{name} = {counted(scope, model, M)}" for name, M in zip("MNCD", (_M, _N, _C, _D), strict=True))
    return [order_in_words(scope, model), *named]


def _of_numbers() -> Iterator[ProofQuery]:
    """Return the lemmas about sums of integers: the parts ``a``, later ``b``, with their totals."""
    a, b, before, after = (function(name, "I") for name in ("a", "b", "before", "after"))
    j, k = z3.Int("j"), z3.Int("k")

    def query(statement: str, part: str, given: Sequence[Term], goal: Term) -> ProofQuery:
        return ProofQuery("sums", statement, part, lambda _: Obligation(given, goal), _SCOPES)

    def first(total: Callable[..., Term]) -> Term:
        return total(0) == 0

    def longer(part: Callable[..., Term], total: Callable[..., Term]) -> Term:
        return total(k + 1) == total(k) + part(k)

    changes = "a sum changes by what changed"
    alike = [j >= 0, k >= 0, z3.Implies(k != j, a(k) == b(k))]

    def changed(n: Term) -> Term:
        return after(n) == before(n) + z3.If(n > j, b(j) - a(j), 0)

    yield query(changes, "of none", [*alike, first(before), first(after)], changed(z3.IntVal(0)))
    yield query(changes, "of one more", [*alike, longer(a, before), longer(b, after), changed(k)], changed(k + 1))

    c, both = function("c", "I"), function("both", "I")
    adds = "sums are added part by part"
    yield query(adds, "of none", [first(t) for t in (before, after, both)], both(0) == before(0) + after(0))
    each = [longer(a, before), longer(b, after), longer(c, both), c(k) == a(k) + b(k)]
    yield query(
        adds, "of one more", [*each, both(k) == before(k) + after(k)], both(k + 1) == before(k + 1) + after(k + 1)
    )

    least = "a sum of what is not negative is at least each part"

    def at_least(n: Term) -> Term:
        return z3.And(before(n) >= 0, z3.Implies(z3.And(j >= 0, j < n), a(j) <= before(n)))

    yield query(least, "of none", [first(before)], at_least(z3.IntVal(0)))
    yield query(least, "of one more", [k >= 0, a(k) >= 0, longer(a, before), at_least(k)], at_least(k + 1))

    some = "a positive sum has a positive part"
    i = z3.Int("i")

    def has_one(n: Term) -> Term:
        return z3.Implies(before(n) > 0, z3.Exists([i], z3.And(i >= 0, i < n, a(i) > 0)))

    yield query(some, "of none", [first(before)], has_one(z3.IntVal(0)))
    yield query(some, "of one more", [k >= 0, longer(a, before), has_one(k)], has_one(k + 1))
