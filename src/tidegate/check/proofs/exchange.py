"""The exchange protocol of Figure 4, for any number of workers and any partial order of pointstamps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import z3

from tidegate.check.proofs.clocks import SENDER
from tidegate.check.proofs.inductive import Action, Invariant, shown
from tidegate.check.proofs.logic import (
    Counts,
    Finite,
    ProofScope,
    Term,
    at_or_below,
    below,
    closed,
    finite,
    holds_somewhere,
    justified,
    justified_at,
    lt,
    nonnegative,
    partial_order,
    sort,
    supp,
    supp_strong,
)
from tidegate.check.proofs.updates import UpdatesState, counted, function, total, unknown_updates

__all__ = [
    "INVARIANTS",
    "ExchangeRules",
    "ExchangeState",
    "axioms",
    "begin",
    "initial",
    "none_below",
    "perf_op",
    "recv_cap",
    "send_upd",
    "updates_justified",
]


@dataclass(frozen=True)
class ExchangeState(UpdatesState):
    """A configuration with capabilities, held and on their way; ``rec`` is the sum of both."""

    #: What a worker holds: ``caps(w, p)``.
    caps: Callable[..., Term]
    #: What is on its way to a worker: ``data(w, p)``.
    data: Callable[..., Term]

    def held(self, w: Term) -> Counts:
        """Return the capabilities of ``w``."""
        return lambda p: self.caps(w, p)

    def with_sums(self) -> Self:
        """Return the configuration with its sums written out, where workers can be named."""
        then = super().with_sums()
        if not isinstance(scope := self.scope, Finite):
            return then
        return replace(then, rec=lambda p: total(scope, lambda w: self.caps(w, p) + self.data(w, p)))

    def describe(self, model: z3.ModelRef) -> list[str]:
        """Return what a model says of this configuration, with what each worker holds."""
        order, exist, *lines = super().describe(model)
        for w in self.scope.elements["W"]:
            held, coming = counted(self.scope, model, self.held(w)), lambda p, w=w: self.data(w, p)
            exist += f"; {w} holds {held}, and {counted(self.scope, model, coming)} is on its way to it"
        return [order, exist, *lines]


@dataclass(frozen=True)
class ExchangeRules:
    """How the protocol acts; a mutant has other rules."""

    newest: bool = False
    #: What sending needs of the sender's capabilities ``C`` and a pointstamp.
    sends: Callable[[ProofScope, Counts, Term], Term] = below
    #: What justifies keeping back ``M``, given the configuration and the worker.
    rest: Callable[[ExchangeState, Term, Counts], Term] = lambda c, w, M: both(c.scope, c.held(w), M)


_RULES = ExchangeRules()


def both(scope: ProofScope, C: Counts, M: Counts) -> Term:
    """Return that ``M`` is justified by ``C``: in both variants of `supp`, which for a finite ``M`` is the same."""
    return z3.And(justified(scope, C, M), justified(scope, C, M, supp_strong))


def begin(scope: ProofScope) -> ExchangeState:
    """Return a configuration of which nothing is known."""
    unknown = unknown_updates()
    return ExchangeState(scope, **unknown, caps=function("caps", "WP"), data=function("data", "WP")).with_sums()


def axioms(c: ExchangeState) -> list[Term]:
    """Return what is assumed of the order, and known of sums."""
    if isinstance(c.scope, Finite):
        return [*partial_order(c.scope), *c.bounded()]
    # A sum of what is not negative is at least each part; that nothing is negative is an invariant.
    parts = c.scope.all("WP", lambda w, p: z3.And(c.caps(w, p) <= c.rec(p), c.data(w, p) <= c.rec(p), c.rec(p) >= 0))
    return [*partial_order(c.scope), parts]


def initial(c: ExchangeState) -> list[Term]:
    """Return that the configuration is an initial one."""
    empty = c.scope.all(
        "WP",
        lambda w, p: z3.And(c.caps(w, p) >= 0, c.data(w, p) == 0, c.temp(w, p) == 0, c.glob(w, p) == c.rec(p)),
    )
    queues = c.scope.all("WW", lambda w, v: z3.And(c.first(w, v) == 0, c.last(w, v) == 0))
    nothing = c.scope.all("WWP", lambda w, v, p: c.tail(w, v, c.last(w, v), p) == 0)
    sums = [] if isinstance(c.scope, Finite) else [c.scope.all("WP", lambda v, p: c.info(v, p) == 0)]
    return [empty, queues, nothing, *sums]


def _justified(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    inside = z3.And(c.first(w, v) <= k, k <= c.last(w, v))
    return z3.Implies(inside, justified_at(c.scope, c.held(w), c.coming(w, v, k), p, supp_strong))


def updates_justified(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    """Whether the update at position ``k`` may add ``p``: by what comes after it, or by what its sender holds."""
    M, N, C = c.update(w, v, k), c.coming(w, v, k + 1), c.held(w)
    why = z3.Or(supp(c.scope, M, p), supp(c.scope, N, p), below(c.scope, C, p), M(p) + N(p) < C(p))
    return z3.Implies(z3.And(c.in_queue(w, v, k), M(p) > 0), why)


#: The paper's invariants 1 and 2, and those from which its invariant 3, Mono and lemma glob follow. An update is
#: justified by what its sender holds, which says more than that it is justified by all that exists.
INVARIANTS = (
    Invariant(
        "queues have a beginning and an end",
        "WW",
        lambda c, w, v: z3.And(c.first(w, v) >= 0, c.first(w, v) <= c.last(w, v)),
    ),
    Invariant(
        "queues end with what is unsent", "WWP", lambda c, w, v, p: c.tail(w, v, c.last(w, v), p) == c.temp(w, p)
    ),
    Invariant("caps and data are positive", "WP", lambda c, w, p: z3.And(c.caps(w, p) >= 0, c.data(w, p) >= 0)),
    Invariant("rec = glob + info", "WP", lambda c, v, p: c.rec(p) == c.glob(v, p) + c.info(v, p)),
    Invariant("what is to come is justified", "WWIP", _justified),
    Invariant("updates are justified", "WWIP", updates_justified),
)


def recv_cap(c: ExchangeState) -> Action[ExchangeState]:
    """Let a worker receive a capability that was sent to it."""
    w, p = SENDER, z3.Const("p", sort("P"))

    def one(a: Term, q: Term) -> Term:
        return z3.If(z3.And(a == w, q == p), 1, 0)

    # What is on its way is a multiset, of which nothing can be taken that is not in it.
    there = z3.If(c.data(w, p) > 0, 1, 0)
    then = replace(
        c,
        caps=lambda a, q: c.caps(a, q) + one(a, q),
        data=lambda a, q: c.data(a, q) - one(a, q) * there,
        rec=lambda q: c.rec(q) + one(w, q) * (1 - there),
    ).with_sums()
    return Action(
        [closed(c.scope, "W", w), closed(c.scope, "P", p)],
        {"(w, p) ∈ data": c.data(w, p) > 0},
        then,
        lambda m: f"recv_cap {shown(c.scope, m, w)} {shown(c.scope, m, p)}",
    )


def perf_op(c: ExchangeState, rules: ExchangeRules = _RULES) -> Action[ExchangeState]:
    """Let a worker drop capabilities, send some and take some."""
    w, scope = SENDER, c.scope
    neg, own, send = function("neg", "P"), function("own", "P"), function("send", "WP")
    given = [closed(scope, "W", w), nonnegative(scope, neg), nonnegative(scope, own)]
    given.append(scope.all("WP", lambda v, p: send(v, p) >= 0))
    if isinstance(scope, Finite):

        def sent(p: Term) -> Term:
            return total(scope, lambda v: send(v, p))
    else:
        # A sum of what is not negative is not negative, and if it is positive, so is some part.
        sent = function("sent", "P")
        some = scope.all("P", lambda p: z3.Implies(sent(p) > 0, scope.some("W", lambda v: send(v, p) > 0)))
        given += [nonnegative(scope, sent), some]

    def net(p: Term) -> Term:
        return own(p) - neg(p)

    then = replace(
        c.work(w, lambda p: sent(p) + net(p)),
        caps=lambda a, p: c.caps(a, p) + z3.If(a == w, net(p), 0),
        data=lambda a, p: c.data(a, p) + send(a, p),
        rec=lambda p: c.rec(p) + sent(p) + net(p),
    )
    held = c.held(w)

    def cases(p: Term) -> Sequence[Term]:
        none = scope.all("P", lambda r: z3.Implies(lt(r, p), held(r) == 0))
        return [none, scope.some("P", lambda m: z3.And(lt(m, p), held(m) > 0, none_below(scope, held, m)))]

    def show(m: z3.ModelRef) -> str:
        sends = [f"{counted(scope, m, partial(send, v))} to {v}" for v in scope.elements["W"]]
        drops, takes = counted(scope, m, neg), counted(scope, m, own)
        return f"perf_op {shown(scope, m, w)}: drop {drops}, send {' and '.join(sends)}, take {takes}"

    return Action(
        given,
        {
            "Δdata ≠ {} or Δself - Δneg ≠ {}": z3.Or(
                scope.some("WP", lambda v, p: send(v, p) != 0), holds_somewhere(scope, net)
            ),
            "Δneg <= caps w": scope.all("P", lambda p: neg(p) <= held(p)),
            "Δdata strictly above caps w": scope.all(
                "WP", lambda v, p: z3.Implies(send(v, p) > 0, rules.sends(scope, held, p))
            ),
            "Δself at or above caps w": scope.all("P", lambda p: z3.Implies(own(p) > 0, at_or_below(scope, held, p))),
        },
        then.with_sums(),
        show,
        cases,
        [finite(scope, held)],
    )


def none_below(scope: ProofScope, C: Counts, m: Term) -> Term:
    """Whether ``C`` counts nothing strictly below ``m``."""
    return scope.all("P", lambda r: z3.Implies(lt(r, m), C(r) == 0))


def send_upd(c: ExchangeState, rules: ExchangeRules = _RULES) -> Action[ExchangeState]:
    """Let a worker send its changes at some pointstamps, if what it keeps back is justified by what it holds."""
    w, chosen = SENDER, function("chosen", "P", "B")

    def gamma(p: Term) -> Term:
        return z3.If(chosen(p), c.temp(w, p), 0)

    def rest(p: Term) -> Term:
        return z3.If(chosen(p), 0, c.temp(w, p))

    return Action(
        [closed(c.scope, "W", w)],
        {"γ ≠ {}": holds_somewhere(c.scope, gamma), "justified (caps w) (temp w - γ)": rules.rest(c, w, rest)},
        c.send(w, gamma),
        lambda m: f"send_upd {shown(c.scope, m, w)}: send {counted(c.scope, m, gamma)}",
    )
