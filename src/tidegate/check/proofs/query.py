"""Questions to the solver, and its three answers: proved, refuted with a counterexample, or unknown.

Only ``unsat`` of the negated statement counts as a proof, and only over any number of individuals. What is refuted has
a model over a few named ones. The solver is stopped by a count of its own steps and never by a clock, and its seeds are
fixed, so that a question has the same answer everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Any

import z3

from tidegate.check.proofs.logic import Finite, ProofScope, Term, Unbounded, z_or

__all__ = ["STEPS", "Obligation", "ProofQuery", "ProofStep", "Result", "Verdict", "answer"]

#: How many of the solver's steps one check may take; what is proved takes less than a tenth of it.
STEPS = 10_000_000


class Verdict(Enum):
    """What the solver says of a question."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ProofStep:
    """An intermediate conclusion, and the formulas that it is drawn from: given ones, or earlier conclusions."""

    using: Sequence[Term]
    conclusion: Term


@dataclass(frozen=True)
class Obligation:
    """That ``goal`` follows from ``given``.

    With ``cases``, the goal is shown in each of them, and that there are no others is shown from ``cover`` too.
    ``steps`` are shown first, one after the other, each from what it names; then the goal, from ``last`` if that is
    given, else from everything. ``show`` describes a model in which the goal fails.
    """

    given: Sequence[Term]
    goal: Term
    cases: Sequence[Term] = ()
    cover: Sequence[Term] = ()
    steps: Sequence[ProofStep] = ()
    last: Sequence[Term] = ()
    show: Callable[[z3.ModelRef], Sequence[str]] = field(default=lambda _: (), compare=False)


@dataclass(frozen=True)
class ProofQuery:
    """A statement of a protocol, and one part of its proof.

    If it asks whether something is ``possible`` (a guard together with the invariants), then a model is
    wanted: without one, the proof would be vacuous.
    """

    protocol: str
    statement: str
    part: str
    build: Callable[[ProofScope], Obligation]
    scopes: Sequence[Finite] = (Finite(W=2, P=3, I=4),)
    possible: bool = False

    @property
    def name(self) -> str:
        """What is asked, in one line."""
        return f"{self.protocol}: {self.statement}, {self.part}"


@dataclass(frozen=True)
class Result:
    """The answer to a question, and a counterexample where there is one.

    ``sizes`` names the individuals of a model, if there is one. A proof is for any number of them.
    """

    query: ProofQuery
    verdict: Verdict
    sizes: str
    seconds: float
    counterexample: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = (
            f"{self.query.name}: {self.verdict.value}{f' ({self.sizes})' if self.sizes else ''}",
            *(f"  {x}" for x in self.counterexample),
        )
        return "\n".join(lines)


def answer(query: ProofQuery, *, steps: int = STEPS, suspicious: bool = False) -> Result:
    """Ask the solver; ``suspicious`` looks for a counterexample before a proof.

    >>> from tidegate.check.proofs.logic import le
    >>> def follows(scope):
    ...     return Obligation([], scope.all("P", lambda p: le(p, p)))
    >>> answer(ProofQuery("orders", "every relation is reflexive", "follows", follows)).verdict
    <Verdict.REFUTED: 'refuted'>
    """
    begun = perf_counter()

    def result(verdict: Verdict, sizes: str, shown: Sequence[str] = ()) -> Result:
        return Result(query, verdict, sizes, perf_counter() - begun, tuple(shown))

    if query.possible:
        for scope in query.scopes:
            ob = query.build(scope)
            if _check([*ob.given, ob.goal, *scope.distinct()], steps)[0] == z3.sat:
                return result(Verdict.PROVED, f"shown with {scope!r}")
        return result(Verdict.UNKNOWN, "")
    for attempt in (_refute, _prove) if suspicious else (_prove, _refute):
        found = attempt(query, steps)
        if found is not None:
            return result(*found)
    return result(Verdict.UNKNOWN, "")


def _prove(query: ProofQuery, steps: int) -> tuple[Verdict, str, Sequence[str]] | None:
    ob = query.build(Unbounded())
    parts: list[list[Term]] = []
    known = [*ob.given]
    for step in ob.steps:
        _allowed(step.using, known)
        parts.append([*step.using, z3.Not(step.conclusion)])
        known.append(step.conclusion)
    _allowed(ob.last, known)
    known = [*(ob.last or known)]
    if ob.cases:
        parts.append([*known, *ob.cover, z3.Not(z_or(ob.cases))])
    parts += [[*known, case, z3.Not(ob.goal)] for case in ob.cases or (z3.BoolVal(True),)]
    if all(_check(part, steps)[0] == z3.unsat for part in parts):
        return Verdict.PROVED, "", ()
    return None


def _allowed(using: Sequence[Term], known: Sequence[Term]) -> None:
    for formula in using:
        if not any(formula is k for k in known):
            raise ValueError(f"expected a step of a proof to use what is given or shown, got {formula}")


def _refute(query: ProofQuery, steps: int) -> tuple[Verdict, str, Sequence[str]] | None:
    for scope in query.scopes:
        ob = query.build(scope)
        formulas = [*ob.given, *ob.cover, z3.Not(ob.goal), *scope.distinct()]
        if _check(formulas, steps)[0] != z3.sat:
            continue
        # For the reader: use the least counts that are possible.
        counts = _counts(formulas)
        for most in (1, 2, 4, None):
            small = [] if most is None else [z3.And(-most <= n, n <= most) for n in counts]
            found, model = _check([*formulas, *small], steps)
            if found == z3.sat:
                return Verdict.REFUTED, f"with {scope!r}", ob.show(model)
    return None


def _counts(formulas: Sequence[Term]) -> list[Term]:
    """Return all counts that formulas without quantifiers speak of."""
    found: dict[int, Term] = {}
    seen: set[int] = set()
    todo = list(formulas)
    while todo:
        term = todo.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        todo += term.children()
        if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED and term.sort() == z3.IntSort():
            found[term.get_id()] = term
    return list(found.values())


def _check(formulas: Sequence[Term], steps: int) -> tuple[Any, Any]:
    # A context of its own: the solver's search depends on everything that was stated in a context before.
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", steps)
    solver.set("random_seed", 0)
    solver.add(*(formula.translate(context) for formula in formulas))
    found = solver.check()
    return found, solver.model().translate(z3.main_ctx()) if found == z3.sat else None
