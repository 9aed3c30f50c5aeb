"""The language of the proofs: a partial order of pointstamps, signed multisets over it, and statements about them.

A formula is written once and read in two ways. In `Unbounded` quantifiers are the solver's own, over any number of
workers and pointstamps. In `Finite` they are written out over a few named ones: the solver then always decides, and a
model is a counterexample that can be shown. The names are those of `tidegate.progress.support`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count, product
from typing import Any, Protocol, TypeAlias

import z3

__all__ = [
    "Counts",
    "Finite",
    "ProofScope",
    "Term",
    "Unbounded",
    "at_or_below",
    "below",
    "beta_upright",
    "closed",
    "finite",
    "holds_somewhere",
    "justified",
    "justified_at",
    "le",
    "lt",
    "nonnegative",
    "partial_order",
    "sort",
    "supp",
    "supp_strong",
    "upright",
    "vacant",
    "z_and",
    "z_or",
]

Term: TypeAlias = Any
#: A signed multiset: the count of each pointstamp, as a term.
Counts: TypeAlias = Callable[[Term], Term]
#: Says when a positive count is supported: `supp` or `supp_strong`.
Support: TypeAlias = Callable[["ProofScope", Counts, Term], Term]

#: W: workers, P: pointstamps, S: edges with one summary each, L: locations, R: paths, I: positions in a queue.
_SORTS = {name: z3.IntSort() if name == "I" else z3.DeclareSort(name) for name in "WPSLRI"}

le = z3.Function("le", _SORTS["P"], _SORTS["P"], z3.BoolSort())


def sort(name: str) -> Any:
    """Return the solver's sort for a letter."""
    return _SORTS[name]


def lt(a: Term, b: Term) -> Term:
    """Whether one pointstamp is strictly below another."""
    return z3.And(le(a, b), a != b)


class ProofScope(Protocol):
    """What quantifiers range over."""

    #: The named individuals, for a scope that has only these.
    elements: Mapping[str, Sequence[Term]]

    def all(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return the statement that all individuals of these sorts satisfy ``body``."""

    def some(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return the statement that some individuals of these sorts satisfy ``body``."""


class Unbounded:
    """Any number of individuals of each sort."""

    def __init__(self) -> None:
        self.elements: Mapping[str, Sequence[Term]] = {}
        self._names = count()

    def all(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return a universal quantifier of the solver."""
        xs = self._bound(sorts)
        return z3.ForAll(xs, body(*xs))

    def some(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return an existential quantifier of the solver."""
        xs = self._bound(sorts)
        return z3.Exists(xs, body(*xs))

    def _bound(self, sorts: str) -> list[Term]:
        return [z3.Const(f"{s.lower()}.{next(self._names)}", _SORTS[s]) for s in sorts]


class Finite:
    """A given number of individuals of each sort, which have names: ``Finite(W=2, P=3, I=4)``.

    Positions in queues are the integers from 0; a formula that speaks of them bounds them itself.
    """

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.elements: Mapping[str, Sequence[Term]] = {
            s: [z3.IntVal(i) if s == "I" else z3.Const(f"{_LETTERS[s]}{i}", _SORTS[s]) for i in range(n)]
            for s, n in sizes.items()
        }

    def all(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return the conjunction over all individuals."""
        return z_and(body(*xs) for xs in product(*(self.elements[s] for s in sorts)))

    def some(self, sorts: str, body: Callable[..., Term]) -> Term:
        """Return the disjunction over all individuals."""
        return z_or(body(*xs) for xs in product(*(self.elements[s] for s in sorts)))

    def distinct(self) -> list[Term]:
        """Return that no two names mean the same individual."""
        return [z3.Distinct(*xs) for s, xs in self.elements.items() if s != "I" and len(xs) > 1]

    def __repr__(self) -> str:
        return ", ".join(f"{n} {_WORDS[s]}{'s' if n != 1 else ''}" for s, n in self.sizes.items() if s != "I")


_LETTERS = {"W": "w", "P": "t", "S": "edge", "L": "loc", "R": "path", "I": ""}
_WORDS = {"W": "worker", "P": "pointstamp", "S": "edge", "L": "location", "R": "path"}


def z_and(parts: Any) -> Term:
    """Return the conjunction of some formulas, Python's truth values among them."""
    return z3.And(*[z3.BoolVal(x) if isinstance(x, bool) else x for x in parts])


def z_or(parts: Any) -> Term:
    """Return the disjunction of some formulas, Python's truth values among them."""
    return z3.Or(*[z3.BoolVal(x) if isinstance(x, bool) else x for x in parts])


def closed(scope: ProofScope, name: str, value: Term) -> Term:
    """Return that ``value`` is one of the named individuals, where there are only these."""
    known = scope.elements.get(name)
    return z3.BoolVal(True) if known is None else z_or(value == x for x in known)


def partial_order(scope: ProofScope, le: Callable[[Term, Term], Term] = le) -> list[Term]:
    """Return what is assumed of the pointstamps: ``le`` is reflexive, antisymmetric and transitive."""
    return [
        scope.all("P", lambda a: le(a, a)),
        scope.all("PP", lambda a, b: z3.Implies(z3.And(le(a, b), le(b, a)), a == b)),
        scope.all("PPP", lambda a, b, c: z3.Implies(z3.And(le(a, b), le(b, c)), le(a, c))),
    ]


def finite(scope: ProofScope, M: Counts) -> Term:
    """Return what is used of finiteness: at or below what has a count, something minimal has one.

    Every multiset of the protocols has finitely many counts other than 0, so this is true of it in any partial order.
    The solver's language cannot express that a set is finite.
    """
    return scope.all(
        "P",
        lambda p: z3.Implies(
            M(p) != 0,
            scope.some(
                "P",
                lambda q: z3.And(
                    le(q, p), M(q) != 0, scope.all("P", lambda r: z3.Implies(z3.And(le(r, q), r != q), M(r) == 0))
                ),
            ),
        ),
    )


def nonnegative(scope: ProofScope, M: Counts) -> Term:
    """Whether ``M`` has no count below zero."""
    return scope.all("P", lambda p: M(p) >= 0)


def vacant(scope: ProofScope, M: Counts, p: Term) -> Term:
    """Whether neither ``p`` nor anything below it has a count in ``M``."""
    return scope.all("P", lambda q: z3.Implies(le(q, p), M(q) == 0))


def supp(scope: ProofScope, M: Counts, p: Term) -> Term:
    """Whether ``M`` takes away something strictly below ``p``."""
    return scope.some("P", lambda q: z3.And(lt(q, p), M(q) < 0))


def supp_strong(scope: ProofScope, M: Counts, p: Term) -> Term:
    """Whether it does, and adds nothing at or below that."""
    return scope.some(
        "P", lambda q: z3.And(lt(q, p), M(q) < 0, scope.all("P", lambda r: z3.Implies(le(r, q), M(r) <= 0)))
    )


def below(scope: ProofScope, C: Counts, p: Term) -> Term:
    """Whether ``C`` counts something strictly below ``p``."""
    return scope.some("P", lambda q: z3.And(lt(q, p), C(q) > 0))


def at_or_below(scope: ProofScope, C: Counts, p: Term) -> Term:
    """Whether ``C`` counts something at or below ``p``."""
    return scope.some("P", lambda q: z3.And(le(q, p), C(q) > 0))


def holds_somewhere(scope: ProofScope, M: Counts) -> Term:
    """Whether ``M`` has any count other than zero."""
    return scope.some("P", lambda p: M(p) != 0)


def upright(scope: ProofScope, M: Counts, support: Support = supp) -> Term:
    """Whether everything that ``M`` adds is supported."""
    return scope.all("P", lambda p: z3.Implies(M(p) > 0, support(scope, M, p)))


def beta_upright(scope: ProofScope, M: Counts, N: Counts) -> Term:
    """Whether everything that ``M`` adds is supported in ``M`` or in ``N``."""
    return scope.all("P", lambda p: z3.Implies(M(p) > 0, z3.Or(supp(scope, M, p), supp(scope, N, p))))


def justified(scope: ProofScope, C: Counts, M: Counts, support: Support = supp) -> Term:
    """Whether everything that ``M`` adds is supported in ``M``, or held back by something in ``C``."""
    return scope.all("P", lambda p: justified_at(scope, C, M, p, support))


def justified_at(scope: ProofScope, C: Counts, M: Counts, p: Term, support: Support = supp) -> Term:
    """Whether ``M`` may add ``p``."""
    return z3.Implies(M(p) > 0, z3.Or(support(scope, M, p), below(scope, C, p), M(p) < C(p)))
