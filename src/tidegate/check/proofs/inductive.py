"""Transition systems to be proved: invariants that hold at the beginning, and that every action keeps.

An action is a function of the configuration: guards by name, and the configuration after it. A mutant leaves out a
guard by its name, or puts another action in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import z3

from tidegate.check.proofs.logic import Finite, ProofScope, Term, closed, sort
from tidegate.check.proofs.query import Obligation, ProofQuery, ProofStep

__all__ = ["Action", "Claim", "Invariant", "Premises", "Proof", "System", "individuals", "shown"]


class _State(Protocol):
    @property
    def scope(self) -> ProofScope: ...


C = TypeVar("C", bound=_State)


@dataclass(frozen=True)
class Invariant:
    """A statement about a configuration, for all individuals of some sorts.

    A statement about positions in queues (``"WWIP"``) that is to be shown for one position is assumed for that and the
    neighbouring ones only. This is less, and with all of them the solver does not finish.
    """

    name: str
    sorts: str
    body: Callable[..., Term]

    def whole(self, state: Any) -> Term:
        """Return the statement for all individuals."""
        return state.scope.all(self.sorts, lambda *xs: self.body(state, *xs))

    def row(self, state: Any, *xs: Term) -> Term:
        """Return the statement for some individuals, and for all pointstamps."""
        return state.scope.all("P", lambda p: self.body(state, *xs, p))


@dataclass(frozen=True)
class Action(Generic[C]):
    """One kind of step: its parameters, the guards by name, the configuration after it, and how to describe it.

    ``cases`` and ``cover`` help to prove a statement about one pointstamp, see `Obligation`.
    """

    parameters: Sequence[Term]
    guards: Mapping[str, Term]
    then: C
    show: Callable[[z3.ModelRef], str]
    cases: Callable[[Term], Sequence[Term]] = lambda _: ()
    cover: Sequence[Term] = ()

    def enabled(self, without: frozenset[str]) -> list[Term]:
        """Return that it may be taken, with some guards left out."""
        return [*self.parameters, *(guard for name, guard in self.guards.items() if name not in without)]


@dataclass(frozen=True)
class Premises:
    """What a claim may use, as formulas: the order, the invariants, the guards, its own condition."""

    order: Sequence[Term]
    invariants: Mapping[str, Term]
    guards: Mapping[str, Term]
    if_: Term


@dataclass(frozen=True)
class Proof:
    """How a claim is proved: lemmas about sums that it uses, intermediate conclusions, and what the last one uses."""

    given: Sequence[Term] = ()
    steps: Sequence[ProofStep] = ()
    last: Sequence[Term] = ()


@dataclass(frozen=True)
class Claim(Generic[C]):
    """What follows from the invariants, for one configuration, or for a step from one to the next.

    ``if_`` and ``then`` are functions of the configuration, or of both, and of individuals of some sorts; ``proof`` is
    one of the premises and the same.
    """

    name: str
    sorts: str
    if_: Callable[..., Term]
    then: Callable[..., Term]
    proof: Callable[..., Proof] = lambda *_: Proof()
    #: The action that it is about, or "" for a statement about one configuration.
    action: str = ""

    def whole(self, *states: Any) -> Term:
        """Return the claim for all individuals."""
        scope = states[0].scope
        return scope.all(self.sorts, lambda *xs: z3.Implies(self.if_(*states, *xs), self.then(*states, *xs)))


@dataclass(frozen=True)
class System(Generic[C]):
    """A protocol: how its configurations begin, what they satisfy, and how they move."""

    protocol: str
    begin: Callable[[ProofScope], C]
    axioms: Callable[[C], Sequence[Term]]
    initial: Callable[[C], Sequence[Term]]
    invariants: Sequence[Invariant]
    actions: Mapping[str, Callable[[C], Action[C]]]
    claims: Sequence[Claim[C]]
    describe: Callable[[C, z3.ModelRef], Sequence[str]]
    scopes: Sequence[Finite]
    without: frozenset[str] = frozenset()
    #: Instances of rows that are assumed for a goal at some individuals.
    rows: Callable[..., Sequence[tuple[Term, ...]]] = lambda *_: ()

    def queries(self, only: str = "") -> Iterator[ProofQuery]:
        """Return all parts of the proof, or those that one action has to do with."""
        if not only:
            for inv in self.invariants:
                yield self._query(inv.name, "at the beginning", self._begins(inv))
            yield self._query("the invariants", "do not exclude each other", self._consistent(), possible=True)
        for name in self.actions:
            if only in ("", name):
                for inv in self.invariants:
                    yield self._query(inv.name, f"kept by {name}", self._keeps(inv, name))
                yield self._query(name, "can happen", self._possible(name), possible=True)
        for claim in self.claims:
            if only in ("", claim.action):
                part = f"after {claim.action}" if claim.action else "follows"
                yield self._query(claim.name, part, self._claims(claim))
                if not self.without:
                    yield self._query(
                        claim.name, f"{part}, can happen", self._claims(claim, possible=True), possible=True
                    )

    def _query(
        self, statement: str, part: str, build: Callable[[ProofScope], Obligation], *, possible: bool = False
    ) -> ProofQuery:
        return ProofQuery(self.protocol, statement, part, build, self.scopes, possible)

    def assumed(self, state: C, *xs: Term) -> list[Term]:
        """Return the invariants: all where they can be written out, else what a goal at some individuals needs."""
        plain = [inv.whole(state) for inv in self.invariants if self._plain(state, inv)]
        queues = [inv for inv in self.invariants if not self._plain(state, inv)]
        places = self.rows(state, *xs) if len(xs) == 4 else ()
        return plain + [inv.row(state, *place) for inv in queues for place in places]

    def _plain(self, state: C, inv: Invariant) -> bool:
        return isinstance(state.scope, Finite) or not inv.sorts.startswith("WWI")

    def _begins(self, inv: Invariant) -> Callable[[ProofScope], Obligation]:
        def build(scope: ProofScope) -> Obligation:
            c = self.begin(scope)
            xs, named = individuals(scope, inv.sorts)
            given = [*self.axioms(c), *self.initial(c), *named]
            return Obligation(given, inv.body(c, *xs), show=lambda m: self.describe(c, m))

        return build

    def _keeps(self, inv: Invariant, name: str) -> Callable[[ProofScope], Obligation]:
        def build(scope: ProofScope) -> Obligation:
            c = self.begin(scope)
            act = self.actions[name](c)
            xs, named = individuals(scope, inv.sorts)
            given = [*self.axioms(c), *self.assumed(c, *xs), *act.enabled(self.without), *named]
            cases = act.cases(xs[-1]) if inv.sorts.startswith("WWI") else ()
            goal = inv.body(act.then, *xs)
            show = _shown_step(self, c, act, xs)
            return Obligation(given, goal, cases, act.cover if cases else (), show=show)

        return build

    def _possible(self, name: str) -> Callable[[ProofScope], Obligation]:
        def build(scope: ProofScope) -> Obligation:
            c = self.begin(scope)
            act = self.actions[name](c)
            given = [*self.axioms(c), *self.assumed(c), *act.enabled(frozenset())]
            return Obligation(given, z3.BoolVal(True))

        return build

    def _consistent(self) -> Callable[[ProofScope], Obligation]:
        def build(scope: ProofScope) -> Obligation:
            c = self.begin(scope)
            return Obligation([*self.axioms(c), *self.initial(c), *self.assumed(c)], z3.BoolVal(True))

        return build

    def _claims(self, claim: Claim[C], *, possible: bool = False) -> Callable[[ProofScope], Obligation]:
        def build(scope: ProofScope) -> Obligation:
            c = self.begin(scope)
            xs, named = individuals(scope, claim.sorts)
            act = self.actions[claim.action](c) if claim.action else None
            states = (c,) if act is None else (c, act.then)
            order, if_ = self.axioms(c), claim.if_(*states, *xs)
            plain = {inv.name: inv.whole(c) for inv in self.invariants if self._plain(c, inv)}
            moves = act.enabled(self.without) if act else []
            given = [*order, *plain.values(), *moves, *named, if_]
            premises = Premises(order, plain, act.guards if act else {}, if_)
            proof = Proof() if isinstance(scope, Finite) else claim.proof(premises, *states, *xs)
            show = _shown_step(self, c, act, xs) if act else lambda m: self.describe(c, m)
            if possible:
                return Obligation(given, z3.BoolVal(True))
            return Obligation(
                [*given, *proof.given], claim.then(*states, *xs), steps=proof.steps, last=proof.last, show=show
            )

        return build


def individuals(scope: ProofScope, sorts: str) -> tuple[list[Term], list[Term]]:
    """Return an arbitrary individual of each sort, and that it is one of those that there are."""
    xs = [z3.Const(f"any{i}", sort(s)) for i, s in enumerate(sorts)]
    return xs, [closed(scope, s, x) for s, x in zip(sorts, xs, strict=True)]


def _shown_step(system: System[C], c: C, act: Action[C], xs: Sequence[Term]) -> Callable[[z3.ModelRef], Sequence[str]]:
    def show(model: z3.ModelRef) -> list[str]:
        where = ", ".join(shown(c.scope, model, x) for x in xs)
        return [
            *(f"before: {line}" for line in system.describe(c, model)),
            f"step:   {act.show(model)}",
            *(f"after:  {line}" for line in system.describe(act.then, model) if not line.startswith("order")),
            f"broken at {where}",
        ]

    return show


def shown(scope: ProofScope, model: z3.ModelRef, x: Term) -> str:
    """Return the name of an individual in a model."""
    value = model.eval(x, model_completion=True)
    if z3.is_int_value(value):
        return f"position {value}"
    for known in scope.elements.values():
        for element in known:
            if not z3.is_int_value(element) and model.eval(element, model_completion=True).eq(value):
                return str(element)
    return str(value)
